"""Questions in the layout of WMDP (Li et al., 2024): question, choices, index of the answer."""

from collections.abc import Iterator

from ctxaudit.datasets import fields, intake
from ctxaudit.datasets.fields import Record
from ctxaudit.interface import Example


def load(path: str) -> Iterator[Example]:
    """Questions of JSON lines, a JSON array or a parquet table, without sources and context.

    Each row has `question`, `choices` (at least 2) and `answer` (index of the right choice, from
    0). An example's id is the row's `id` where there is one, else `<file name>-<row number>`.

    Raises:
        UserError: naming file, row and field of the first fault, or for a file without questions.
    """
    return intake.examples(path, fields.read(path), _example)


def _example(record: Record) -> Example:
    name = record.text("id") if "id" in record.fields else record.default_id
    query, choices = record.text("question"), _choices(record)
    answer = record.whole("answer")
    if not 0 <= answer < len(choices):
        raise record.fault(
            "answer",
            f"{answer} is no index of the {len(choices)} choices; allowed: 0 to {len(choices) - 1}",
        )
    return Example(
        id=name,
        query=query,
        sources=(),
        task="multiple_choice",
        choices=choices,
        gold=choices[answer],
        group=name,
    )


def _choices(record: Record) -> tuple[str, ...]:
    choices = record.strings("choices")
    if len(choices) < 2 or not all(map(str.strip, choices)):
        raise record.fault(
            "choices", f"expected a list of at least 2 non-empty texts, got {choices!r:.80}"
        )
    if len(set(choices)) < len(choices):
        raise record.fault("choices", f"all must differ, got {choices!r:.200}")
    return tuple(choices)
