"""Tables of figures on the Evaluate page: sorted by a click on a head, each to be downloaded as CSV, Markdown or LaTeX."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from trio_core.evaluation.tables import Table
from ui.render.base import esc

FORMS = {"csv": "CSV", "md": "Markdown", "tex": "LaTeX"}
OPEN = 2
"""So many tables stand open; the others open by a click."""


def tables_html(tables: Sequence[Table], labels: Sequence[str]) -> str:
    """All tables; a cell that names an entrant opens its runs."""
    every = "".join(_form("", form, f"All as {word}") for form, word in FORMS.items() if form != "csv")
    rows = _form("rows", "jsonl", "Rows as JSON lines")
    parts = "".join(_folded(t, set(labels), n < OPEN) for n, t in enumerate(tables))
    return f'<div class="ev-top"><h2 class="ev-h">Tables</h2><span class="ev-acts">{every}{rows}</span></div>{parts}'


def _folded(t: Table, labels: set[str], opened: bool) -> str:
    forms = "".join(_form(t.title, form, word) for form, word in FORMS.items())
    note = f'<p class="hid">{esc(t.note)}</p>' if t.note else ""
    return (f'<details class="ev-card ev-t" data-k="{esc(t.title)}"{" open" if opened else ""}><summary><h3>{esc(t.title)}</h3></summary>'
            f'<p class="ev-forms">{forms}</p>{_table(t, labels)}{note}</details>')


def _table(t: Table, labels: set[str]) -> str:
    heads = "".join(f'<th scope="col" aria-sort="none"{_num(n)}><button type="button" data-col="{n}">{esc(h)}</button></th>' for n, h in enumerate(t.header))
    rows = "".join(f'<tr data-k="{esc(n)}">{"".join(_cell(c, m, labels) for m, c in enumerate(row))}</tr>' for n, row in enumerate(t.rows))
    return (f'<div class="ev-scroll" tabindex="0" role="region" aria-label="{esc(t.title)}"><table class="ev-table" data-sorted="{esc(t.title)}">'
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>")


def _cell(text: str, n: int, labels: set[str]) -> str:
    if text in labels and n < 2:
        return f'<td>{chosen_html(text, label=text)}</td>'
    mean, bracket, interval = text.partition(" [")
    small = f' <small>[{esc(interval)}</small>' if bracket else ""
    return f"<td{_num(n)}>{esc(mean)}{small}</td>"


def _num(n: int) -> str:
    return ' class="num"' if n else ""


def _form(title: str, form: str, word: str) -> str:
    about = f"{title or 'All tables'} as {word}" if title != "rows" else word
    return f'<button type="button" class="link" data-file="{esc(form)}" data-table="{esc(title)}" aria-label="{esc(about)}">{esc(word)}</button>'


def chosen_html(word: str, kind: str = "link", inner: str = "", **chosen: Any) -> str:
    """A button that opens the runs behind a figure; `inner` = HTML in place of the word."""
    return f'<button type="button" class="{kind}" data-chosen="{esc(json.dumps(chosen))}" title="Show these runs">{inner or esc(word)}</button>'
