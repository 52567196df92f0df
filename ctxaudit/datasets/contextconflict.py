"""Instances of a conflict type in the layout of the released ContextConflict benchmark.

One JSON object per file `<n>.json`: `question`, `content` {source_1: text, …}, `answer` (text or
list of texts; may be absent for summarization), `accuracy_labels` (one bool per source). What the
consistent twin needs may stand in `stance_labels`, `entities`, `timestamps`, `levels` and `branch`
({source_k: label}), in `original_answer` (gold without the conflicting branch) and in `group` (the
base instance). Other keys are left alone.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxaudit import plugins
from ctxaudit.errors import UserError
from ctxaudit.interface import Example, Source

_LABEL_MAPS = {
    "stance_labels": "stance",
    "entities": "entity",
    "timestamps": "time",
    "levels": "level",
    "branch": "branch",
}
_SOURCE_KEY = re.compile(r"source_([1-9][0-9]*)")
_TIMESTAMP = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?")


def load(path: str, *, conflict_type: str | None = None) -> list[Example]:
    """Read and check all instances of a folder, in the order of their numbers.

    Args:
        path: Folder with `<n>.json` files; gaps between the numbers are allowed.
        conflict_type: A module of `ctxaudit.conflict`; by default the folder's name.

    Returns:
        One example per file, id `<type>-<n>`, sources by number. `gold` is the first answer and
        `tags["gold_all"]` all of them as a JSON list.

    Raises:
        UserError: naming the file and the field at fault.
    """
    kind = conflict_type or Path(path).name
    task = plugins.load("conflict", kind).TASK
    examples = []
    for file in _numbered_files(Path(path)):
        record = _Record(file)
        if task == "reasoning" and "answer" not in record.fields:
            raise record.fault("answer", f"is missing; a {kind} conflict is judged by it")
        name = f"{kind}-{file.stem}"
        answers, tags = record.answers(), record.tags()
        examples.append(
            Example(
                id=name,
                query=record.text("question"),
                sources=record.sources(),
                task=task,
                gold=answers[0] if answers else None,
                group=record.text("group") if "group" in record.fields else name,
                tags=tags,
            )
        )
    return examples


class _Record:
    """One file's object; every access checks what it returns and names the file on a fault."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            content = file.read_text(encoding="utf-8")
            self.fields = json.loads(content, object_pairs_hook=_unique_keys)
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f"{file}: not readable as JSON: {error}") from None
        if not isinstance(self.fields, dict):
            raise UserError(f"{file}: expected a JSON object, got {_kind(self.fields)}")

    def fault(self, field: str, reason: str) -> UserError:
        return UserError(f"{self._file}: {field}: {reason}")

    def text(self, field: str) -> str:
        if field not in self.fields:
            raise self.fault(field, "is missing")
        return self._checked_text(field, self.fields[field])

    def answers(self) -> list[str]:
        """All right answers; none where the field is absent."""
        if "answer" not in self.fields:
            return []
        raw = self.fields["answer"]
        listed = raw if isinstance(raw, list) else [raw]
        if not listed:
            raise self.fault("answer", "is an empty list; leave it out where there is no answer")
        return [self._checked_text("answer", answer) for answer in listed]

    def tags(self) -> dict[str, str]:
        answers = self.answers()
        tags = {"gold_all": json.dumps(answers, ensure_ascii=False)} if answers else {}
        if "original_answer" in self.fields:
            tags["original_answer"] = self.text("original_answer")
        return tags

    def sources(self) -> tuple[Source, ...]:
        texts = self._texts()
        accurate = self._accuracy(len(texts))
        labels = {
            attribute: self._labels(field, texts)
            for field, attribute in _LABEL_MAPS.items()
            if field in self.fields
        }
        return tuple(
            Source(
                id=key,
                text=text,
                accurate=flag,
                attributes={name: of_source[key] for name, of_source in labels.items()},
            )
            for (key, text), flag in zip(texts.items(), accurate, strict=True)
        )

    def _texts(self) -> dict[str, str]:
        """Text per source key, in numeric order: source_2 before source_10."""
        content = self._object("content")
        numbers = {}
        for key in content:
            hit = _SOURCE_KEY.fullmatch(key)
            if hit is None:
                raise self.fault(f"content.{key}", "keys must read source_1, source_2, …")
            numbers[int(hit[1])] = key
        if len(numbers) < 2:
            raise self.fault("content", f"has {len(numbers)} sources; a conflict needs two or more")
        for expected in range(1, len(numbers) + 1):
            if expected not in numbers:
                raise self.fault("content", f"source_{expected} is missing in the numbering")
        keys = [numbers[number] for number in sorted(numbers)]
        return {key: self._checked_text(f"content.{key}", content[key]) for key in keys}

    def _accuracy(self, num_sources: int) -> Sequence[bool | None]:
        field = "accuracy_labels"
        if field not in self.fields:
            return [None] * num_sources
        labels = self.fields[field]
        if not isinstance(labels, list) or not all(isinstance(label, bool) for label in labels):
            raise self.fault(field, "must be a list of true and false")
        if len(labels) != num_sources:
            raise self.fault(field, f"has {len(labels)} labels for {num_sources} sources")
        return labels

    def _labels(self, field: str, texts: Mapping[str, str]) -> dict[str, str]:
        raw = self._object(field)
        for key in [*raw, *texts]:
            if key not in texts:
                raise self.fault(f"{field}.{key}", "no such source in `content`")
            if key not in raw:
                raise self.fault(f"{field}.{key}", "is missing; label every source")
        return {key: self._label(field, key, raw[key]) for key in texts}

    def _label(self, field: str, key: str, value: Any) -> str:
        # The benchmark's own code writes stances as 0 and 1.
        if type(value) is int:
            value = str(value)
        label = self._checked_text(f"{field}.{key}", value)
        if field == "timestamps" and not _TIMESTAMP.fullmatch(label):
            raise self.fault(f"{field}.{key}", f"'{label}' is no YYYY, YYYY-MM or YYYY-MM-DD")
        return label

    def _object(self, field: str) -> dict[str, Any]:
        value = self.fields.get(field)
        if not isinstance(value, dict):
            found = _kind(value) if field in self.fields else "nothing"
            raise self.fault(field, f"must be an object with a key per source, got {found}")
        return value

    def _checked_text(self, field: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self.fault(field, f"must be text, got {_kind(value)}")
        if not value.strip():
            raise self.fault(field, "is empty")
        # JSON can spell half a surrogate pair, which no output file can hold.
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise self.fault(field, "holds a character that is not valid Unicode")
        return value


def _numbered_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder of conflict instances")
    numbered: dict[int, Path] = {}
    for file in sorted(folder.glob("*.json")):
        if not re.fullmatch("[0-9]+", file.stem):
            raise UserError(f"{file}: file names must be numbers, such as 1.json")
        other = numbered.setdefault(int(file.stem), file)
        if other != file:
            raise UserError(f"{file}: has the number of {other.name}; ids must be unique")
    if not numbered:
        raise UserError(f"{folder}: holds no instance; expected files such as 1.json")
    return [numbered[number] for number in sorted(numbered)]


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"key '{repeated}' occurs twice")
    return fields


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__
