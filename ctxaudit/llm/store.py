"""Replies that outlive jobs: one JSON file per request, never expired."""

import json
from dataclasses import asdict
from pathlib import Path

from ctxaudit import artifacts
from ctxaudit.llm.requests import ChatRequest, Completion
from ctxaudit.logs import logger


class ResponseStore:
    """Completions by the key of their request, safe for any number of writers.

    Each file holds the request beside the reply, so that what was asked can be audited.
    """

    def __init__(self, folder: Path, backend: str) -> None:
        self._folder = Path(folder)
        self._backend = backend

    def get(self, request: ChatRequest) -> Completion | None:
        """The stored reply, or None; an unreadable entry counts as absent, with a warning."""
        path = self._path(request)
        try:
            reply = json.loads(path.read_text(encoding="utf-8"))["completion"]
            choices = tuple(map(float, reply.pop("choice_logprobs")))
            return Completion(**reply, choice_logprobs=choices)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            logger.warning("%s: unreadable reply, asked again: %s", path, error)
            return None

    def put(self, request: ChatRequest, completion: Completion) -> None:
        """Keep a reply; a later one to the same request takes its place."""
        record = {
            "request": json.loads(request.canonical(self._backend)),
            "completion": asdict(completion),
        }
        artifacts.write_json(self._path(request), record)

    def _path(self, request: ChatRequest) -> Path:
        key = request.key(self._backend)
        return self._folder / key[:2] / f"{key}.json"
