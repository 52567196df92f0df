"""Writing tables. Text of others is escaped for the format that it enters."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxaudit.artifacts.writing import replacing

if TYPE_CHECKING:
    import pandas as pd

UNDEFINED = "–"

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "%": r"\%",
        "#": r"\#",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "–": "--",
    }
)
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_MARKDOWN = re.compile(r"[\\`*\[\]|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def write_table(
    table: pd.DataFrame, *, csv: str | Path, markdown: str | Path, latex: str | Path
) -> None:
    """The table in full precision as CSV, and rounded to three decimals as Markdown and LaTeX.

    An undefined value is an empty field in the CSV and a dash elsewhere.
    """
    _write(csv, table.to_csv(index=False, lineterminator="\n"))
    _write(markdown, _as_markdown(table))
    _write(latex, _as_latex(table))


def _write(path: str | Path, text: str) -> None:
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")


def _as_markdown(table: pd.DataFrame) -> str:
    import pandas as pd

    heads, *rows = _cells(table, _escape_markdown)
    align = ["right" if number else "left" for number in _is_number(table)]
    body = pd.DataFrame(rows, columns=heads).to_markdown(
        index=False, tablefmt="pipe", disable_numparse=True, colalign=align if rows else None
    )
    return f"{body}\n" if rows else f"{body}\n\nNo rows.\n"


def _as_latex(table: pd.DataFrame) -> str:
    heads, *rows = [" & ".join(cells) + r" \\" for cells in _cells(table, _escape_latex)]
    columns = "".join("r" if number else "l" for number in _is_number(table))
    frame = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", heads, r"\midrule", *rows]
    return "\n".join([*frame, r"\bottomrule", r"\end{tabular}", ""])


def _is_number(table: pd.DataFrame) -> list[bool]:
    from pandas.api.types import is_numeric_dtype

    return [is_numeric_dtype(dtype) for dtype in table.dtypes]


def _cells(table: pd.DataFrame, escape: Callable[[str], str]) -> list[list[str]]:
    """Heads and rows as escaped text."""
    heads = [str(name).replace("_", " ") for name in table.columns]
    rows = [[_text(value) for value in row] for row in table.itertuples(index=False, name=None)]
    return [[escape(cell) for cell in row] for row in [heads, *rows]]


def _text(value: Any) -> str:
    import pandas as pd

    if pd.isna(value):
        return UNDEFINED
    return f"{value:.3f}" if isinstance(value, float) else " ".join(str(value).split())


def _escape_markdown(text: str) -> str:
    return _MARKDOWN.sub(lambda match: "\\" + match[0], text.translate(_HTML))


def _escape_latex(text: str) -> str:
    return text.translate(_LATEX)
