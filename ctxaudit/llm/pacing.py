"""Limits per minute, over all jobs that share a ledger."""

from collections import deque
from dataclasses import dataclass, field

_WINDOW_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a model's account allows; None is no limit.

    Attributes:
        requests: Calls per minute.
        tokens: Tokens read and written per minute.
    """

    requests: int | None = None
    tokens: int | None = None


@dataclass(slots=True)
class Window:
    """What was sent to one model within the last minute."""

    _sent: deque[tuple[float, int]] = field(default_factory=deque)

    def add(self, time: float, tokens: int) -> None:
        """Note a call that was sent at `time`, in seconds."""
        self._sent.append((time, tokens))

    def seconds_to_wait(self, now: float, tokens: int, limits: Limits) -> float:
        """How long a further call of `tokens` must wait; 0 if it may go.

        A call that is larger than the limit itself goes when nothing else has gone for a minute.
        """
        while self._sent and self._sent[0][0] <= now - _WINDOW_SECONDS:
            self._sent.popleft()
        # A clock that was set back would have us wait until it has caught up.
        if any(time > now + _WINDOW_SECONDS for time, _ in self._sent):
            self._sent = deque(item for item in self._sent if item[0] <= now + _WINDOW_SECONDS)
        num_requests, num_tokens, wait = len(self._sent), sum(n for _, n in self._sent), 0.0
        for time, size in self._sent:
            fits = limits.requests is None or num_requests < limits.requests
            if fits and (limits.tokens is None or num_tokens + tokens <= limits.tokens):
                break
            wait = time + _WINDOW_SECONDS - now
            num_requests, num_tokens = num_requests - 1, num_tokens - size
        return min(wait, _WINDOW_SECONDS)
