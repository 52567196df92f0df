"""One record of each dataset's raw layout, in rows that JSON and tables can both hold."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _wmdp(number: int) -> dict[str, Any]:
    return {"id": f"q{number}", "question": "Built of?", "choices": ["oak", "ash"], "answer": 1}


def _tydiqa(number: int) -> dict[str, Any]:
    return {
        "id": f"korean--{2**62 + number}-0",
        "title": "다리",
        "context": " 다리는 돌로 지었다.",
        "question": "무엇으로?",
        "answers": {"text": ["돌로"], "answer_start": [5]},
    }


def _hotpotqa(number: int) -> dict[str, Any]:
    return {
        "id": f"5a{number}",
        "question": "Which is older?",
        "answer": "Alma",
        "type": "comparison",
        "level": "hard",
        "supporting_facts": {"title": ["Vega"], "sent_id": [1]},
        "context": {"title": ["Vega", "Alma"], "sentences": [["One.", " Two."], [" Three."]]},
    }


def _cnn_dailymail(number: int) -> dict[str, Any]:
    return {"id": f"{number:040x}", "article": "It opened .", "highlights": "Opened .\nRed ."}


def _msmarco(number: int) -> dict[str, Any]:
    return {
        "query_id": 2**62 + number,
        "query": "what is a ferry",
        "query_type": "ENTITY",
        "answers": ["a ship"],
        "wellFormedAnswers": [""],
        "passages": {"is_selected": [0, 1], "passage_text": ["A car.", "A ship."]},
    }


def _natural_questions(number: int) -> dict[str, Any]:
    return {
        "example_id": -(2**62) - number,
        "question_text": "what is a ferry",
        "document_text": "<P> A ship . </P>",
        "long_answer_candidates": [{"start_token": 0, "end_token": 5, "top_level": True}],
        "annotations": [
            {
                "long_answer": {"start_token": 0, "end_token": 5},
                "short_answers": [{"start_token": 1, "end_token": 3}],
                "yes_no_answer": "NONE",
            }
        ],
    }


ROWS: dict[str, Callable[[int], dict[str, Any]]] = {
    "cnn_dailymail": _cnn_dailymail,
    "hotpotqa": _hotpotqa,
    "msmarco": _msmarco,
    "natural_questions": _natural_questions,
    "tydiqa": _tydiqa,
    "wmdp": _wmdp,
}
"""Loader → its row of a number; numbers give distinct ids."""


def write(loader: str, folder: Path, num: int) -> str:
    """Raw file or folder with `num` questions in the loader's layout."""
    if loader == "contextconflict":
        path = folder / "misinformation"
        path.mkdir()
        for number in range(num):
            content = {"source_1": "It is oak.", "source_2": "It is ash."}
            record = {"question": "Oak?", "content": content, "answer": "yes"}
            (path / f"{number}.json").write_text(json.dumps(record), encoding="utf-8")
        return str(path)
    path = folder / "raw.jsonl"
    lines = [json.dumps(ROWS[loader](number)) + "\n" for number in range(num)]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)
