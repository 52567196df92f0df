"""A call is sent by one process at a time, on this machine and on others.

A claim is a marker file that its holder renews. The kernel's own file locks would fall with their
process too, but some shared file systems keep them to one machine without saying so; creating a
file is exclusive on all.
"""

from pathlib import Path

from filelock import SoftFileLease, Timeout

_SECONDS_TO_TAKE_OVER = 60.0
"""Without a renewal for so long the holder's machine is taken for dead; a holder that died on
this machine is seen at once."""


class Claims:
    """The claims of this process, by key of their call."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._leases: dict[str, SoftFileLease] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def take(self, key: str) -> bool:
        """Take the claim to a call, also from a holder that is dead; False if another has it."""
        # Kept between tries: what a lease saw of a silent holder is how its wait is timed.
        if key not in self._leases:
            self._leases[key] = SoftFileLease(
                str(self._folder / f"{key}.claim"),
                thread_local=False,
                lease_duration=_SECONDS_TO_TAKE_OVER,
            )
        try:
            self._leases[key].acquire(timeout=0)
        except Timeout:
            return False
        return True

    def give_up(self, key: str) -> None:
        """Leave a claim to others."""
        self._leases.pop(key).release()
