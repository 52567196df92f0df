"""Questions in the layout of WMDP (Li et al., 2024): question, choices, index of the answer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxaudit.artifacts import jsonl
from ctxaudit.errors import UserError
from ctxaudit.interface import Example


def load(path: str) -> list[Example]:
    """Questions of a JSONL or parquet file, without sources.

    Each row has `question`, `choices` (at least 2) and `answer` (index of the right choice, from
    0). An example's id is the row's `id` where there is one, else `<file stem>-<row number>`.

    Raises:
        UserError: naming file, row and field of the first fault, or for a file without questions.
    """
    examples: dict[str, Example] = {}
    for number, row in _rows(Path(path)):
        place = f"{path}:{number}"
        example = _example(row, place, default_id=f"{Path(path).stem}-{number}")
        if example.id in examples:
            raise UserError(f"{place}: id: '{example.id}' occurs twice; ids must be unique")
        examples[example.id] = example
    if not examples:
        raise UserError(f"{path}: holds no questions")
    return list(examples.values())


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.suffix != ".parquet":
        yield from jsonl.read(path)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            rows = (row for batch in file.iter_batches() for row in batch.to_pylist())
            yield from enumerate(rows, start=1)
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path}: not readable as parquet: {error}") from None


def _example(row: dict[str, Any], place: str, *, default_id: str) -> Example:
    name = row.get("id", default_id)
    if not _is_text(name):
        raise UserError(f"{place}: id: expected non-empty text, got {name!r:.80}")
    question = row.get("question")
    if not _is_text(question):
        raise UserError(f"{place}: question: expected non-empty text, got {question!r:.80}")
    choices = _choices(row.get("choices"), place)
    answer = row.get("answer")
    # In Python a bool is an int, so `true` would pass for option 1.
    if not isinstance(answer, int) or isinstance(answer, bool) or not 0 <= answer < len(choices):
        raise UserError(
            f"{place}: answer: {answer!r:.80} is no index of the {len(choices)} choices; "
            f"allowed: 0 to {len(choices) - 1}"
        )
    return Example(
        id=name,
        query=str(question),
        sources=(),
        task="multiple_choice",
        choices=choices,
        gold=choices[answer],
        group=name,
    )


def _choices(value: Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) < 2 or not all(map(_is_text, value)):
        raise UserError(
            f"{place}: choices: expected a list of at least 2 non-empty texts, got {value!r:.80}"
        )
    if len(set(value)) < len(value):
        raise UserError(f"{place}: choices: all must differ, got {value!r:.200}")
    return tuple(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
