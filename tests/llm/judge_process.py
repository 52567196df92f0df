"""One job: asks a list of questions through a client and says how it ended.

Arguments: a JSON object with `entry`, `settings`, `folder` and `questions`.
"""

import json
import sys
from pathlib import Path

from ctxaudit.errors import UserError
from ctxaudit.llm import retries
from ctxaudit.llm.calling import Calling
from ctxaudit.llm.client import open_client
from ctxaudit.llm.requests import ChatRequest


def main() -> None:
    job = json.loads(sys.argv[1])
    retries._FIRST_SECONDS = 0.01
    folder = Path(job["folder"])
    client = open_client(
        "judge",
        job["entry"],
        [],
        Calling.model_validate({"llm": job["settings"]}),
        store=folder / "responses",
        ledger=folder / "ledger.jsonl",
    )
    requests = [
        ChatRequest(model="judge", messages=[{"role": "user", "content": text}], max_new_tokens=4)
        for text in job["questions"]
    ]
    try:
        replies = client.complete(requests)
    except UserError as error:
        print(type(error).__name__)
        sys.exit(3)
    assert [reply.text for reply in replies] == job["questions"]
    # A judge of an endpoint must start fast.
    assert "torch" not in sys.modules


if __name__ == "__main__":
    main()
