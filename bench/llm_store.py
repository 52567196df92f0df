"""How many stored replies a client finds per second, in one process.

    python -m bench.llm_store [number of replies]

It fills a store in a temporary folder (TMPDIR says where; put it on the file system that you want
to know about), then asks a client of an endpoint for all of them. No key, no connection. The first
round meets what the operating system has just written, so it is no measure of a cold disk.
"""

import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

from ctxaudit.llm.calling import Calling
from ctxaudit.llm.client import Client, open_client
from ctxaudit.llm.requests import ChatRequest, Completion
from ctxaudit.llm.store import ResponseStore

MODEL = "judge-2026-01-01"
ROUNDS = 5
CHARACTERS = 3000  # A re-ranking request of the paper's size: a passage of 500 tokens.


def main() -> None:
    """Fill a store and print the speed of its look-ups."""
    num_replies = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    requests = [
        ChatRequest(
            model="judge",
            messages=[{"role": "user", "content": f"{number} ".ljust(CHARACTERS, "x")}],
            max_new_tokens=16,
        )
        for number in range(num_replies)
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = ResponseStore(Path(folder) / "responses")
        client = open_client(
            "judge",
            {"kind": "endpoint", "model": MODEL},
            [],
            Calling.model_validate({"llm": {"mode": "replay"}}),
            store=store.folder,
            ledger=Path(folder) / "ledger.jsonl",
        )
        for call in client.calls(requests):
            store.put(call, Completion(text="7", finish="stop", model=MODEL), raw={"id": call.key})
        speeds = [measured(client, requests) for _ in range(ROUNDS)]
    cpu = platform.processor() or platform.machine()
    print(f"look-ups per second, {num_replies} replies, {ROUNDS} rounds:")
    print(f"median {statistics.median(speeds):.0f}, lowest {min(speeds):.0f}")
    print(f"{os.cpu_count()} CPUs ({cpu}), Python {platform.python_version()}, {platform.system()}")


def measured(client: Client, requests: list[ChatRequest]) -> float:
    """Look-ups per second of one round."""
    start = time.perf_counter()
    client.complete(requests)
    return len(requests) / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
