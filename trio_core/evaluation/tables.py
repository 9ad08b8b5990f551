"""A table as Markdown, CSV and LaTeX. Cells may hold text from models and files: each form escapes what it would read."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from trio_core.values import Value

_LATEX = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
          "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
_MARKDOWN = re.compile(r"[\\`*|~]|(?<!\w)_|_(?!\w)|(?<=\])\(")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?( %)?")


class Table(Value):
    """Rows of text under a header; `note` stands below."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> Table:
    """A table of anything that has a text."""
    return Table(title=title, header=tuple(header), rows=tuple(tuple(str(c) for c in row) for row in rows), note=note)


def markdown(t: Table) -> str:
    """A GitHub table under a heading."""
    lines = ["| " + " | ".join(_md(c) for c in row) + " |" for row in (t.header, *t.rows)]
    lines.insert(1, "|" + "---|" * len(t.header))
    return "\n".join([f"## {_md(t.title)}", "", *lines, *(["", _md(t.note)] if t.note else []), ""])


def comma_separated(t: Table) -> str:
    """CSV with CRLF (RFC 4180). A text that a spreadsheet would take for a formula gets a quote in front."""
    out = io.StringIO()
    csv.writer(out).writerows([_cell(c) for c in row] for row in (t.header, *t.rows))
    return out.getvalue()


def latex(t: Table) -> str:
    """A `table` environment for package booktabs."""
    columns = "l" + "r" * (len(t.header) - 1)
    body = [" & ".join(_tex(c) for c in row) + r" \\" for row in t.rows]
    note = [rf"\par\footnotesize {_tex(t.note)}"] if t.note else []
    head = [r"\begin{table}", r"\centering", rf"\caption{{{_tex(t.title)}}}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    head += [" & ".join(_tex(c) for c in t.header) + r" \\", r"\midrule"]
    return "\n".join([*head, *body, r"\bottomrule", r"\end{tabular}", *note, r"\end{table}", ""])


def _md(text: str) -> str:
    flat = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN.sub(lambda m: "\\" + m[0], flat)


def _cell(text: str) -> str:
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") and not _NUMBER.match(text) else text


def _tex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in " ".join(text.split()))
