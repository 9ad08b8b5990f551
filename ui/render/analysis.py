"""The Analysis page in HTML: filters, sections with plots and tables whose figures open, and the runs behind an opened figure."""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from trio_core.analysis.report import csv_of, markdown_of
from trio_core.analysis.sheets import Analysis, Cell, Opened, Section, Sheet
from trio_core.analysis.source import Selection
from trio_core.methods import METHODS
from trio_core.runs import RunInfo
from ui.render.address import address_of
from ui.render.analysis_plot import plot_html
from ui.render.base import esc, number, plural
from ui.render.runs import ORIGINS

MOST = 500
"""Runs of the page; the command line takes more."""
LISTED = 200
_FIGURE = re.compile(r"[\d–+-].{0,24}|")


class Asked(NamedTuple):
    """What the address of the page asks for."""

    evaluation: str = ""
    run: str = ""
    method: str = ""
    dataset: str = ""
    origin: str = ""
    search: str = ""
    limit: int = MOST
    open: str = ""

    def address(self, open_: str = "") -> str:
        """The same selection with a figure opened."""
        return address_of("analysis", self._replace(open=open_))

    def selection(self) -> Selection:
        """For `trio_core.analysis.source`."""
        return Selection(
            evaluations=_list(self.evaluation),
            runs=_list(self.run),
            methods=_list(self.method),
            dataset=self.dataset,
            origin=self.origin,
            search=self.search,
            limit=self.limit,
        )

    def command(self) -> str:
        """The same analysis on the command line."""
        parts = ["python", "-m", "trio_core", "analyse"]
        for name in ("evaluation", "run"):
            parts += [word for value in _list(getattr(self, name)) for word in (f"--{name}", value)]
        parts += [
            word for name in ("method", "dataset", "origin", "search") if getattr(self, name) for word in (f"--{name}", getattr(self, name))
        ]
        return shlex.join([*parts, "--limit", str(self.limit), "--out", "analysis"])


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def filters_html(asked: Asked, evaluations: Sequence[str]) -> str:
    """A form whose address holds the selection."""
    methods = {n: m.title for n, m in METHODS.items()} | ({asked.method: asked.method.replace(",", ", ")} if "," in asked.method else {})
    known = "".join(f'<option value="{esc(e)}">' for e in evaluations)
    return (
        '<form class="filters" action="./analysis" method="get">'
        f'<input type="text" name="evaluation" value="{esc(asked.evaluation)}" list="al-evaluations" maxlength="400" '
        f'placeholder="evaluation: all runs" '
        f'aria-label="Evaluation"><datalist id="al-evaluations">{known}</datalist>'
        f"{_select('method', 'all methods', methods, asked.method)}"
        f"{_select('origin', 'live and recorded', {o: o for o in ORIGINS}, asked.origin)}"
        f'<input type="text" name="dataset" value="{esc(asked.dataset)}" maxlength="100" placeholder="data set" aria-label="Data set">'
        f'<input type="search" name="search" value="{esc(asked.search)}" maxlength="200" placeholder="words of the '
        f'question" aria-label="Search">'
        f'<input type="text" inputmode="numeric" name="limit" value="{asked.limit}" maxlength="5" aria-label="At most so many runs">'
        f'{_hidden("run", asked.run)}<button class="btn">Analyse</button></form>'
    )


def _select(name: str, every: str, choices: Mapping[str, str], chosen: str) -> str:
    options = "".join(f'<option value="{esc(k)}"{" selected" if k == chosen else ""}>{esc(v)}</option>' for k, v in choices.items())
    return f'<select name="{name}" aria-label="{name.capitalize()}"><option value="">{esc(every)}</option>{options}</select>'


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{name}" value="{esc(value)}">' if value else ""


def head_html(analysis: Analysis, asked: Asked, titles: Sequence[tuple[str, str]]) -> str:
    """What was read, what to mind, and links to the sections (`titles`: key and title of each)."""
    minds = "".join(f'<p class="al-mind">{esc(c[:1].upper() + c[1:])}.</p>' for c in analysis.cautions)
    jumps = "".join(f'<li><a href="#al-{esc(key)}">{esc(title)}</a></li>' for key, title in titles)
    return (
        f'<section class="al-card"><p>{plural(analysis.runs, "run")} that have ended, {number(analysis.finished)} of them by themselves. '
        f'Every figure opens the runs behind it.</p>{minds}<ul class="al-jump">{jumps}</ul>'
        f"<details><summary>The same on the command line</summary><code>{esc(asked.command())}</code></details></section>"
    )


def nothing_html(asked: Asked) -> str:
    """No run fits."""
    if asked != Asked():
        return '<div class="empty"><p>No run that has ended fits. <a href="./analysis">Analyse all runs</a></p></div>'
    return (
        '<div class="empty"><p>No runs yet. Ask a question on <a href="./">Explore</a>, or run methods over a data set on '
        '<a href="./evaluate">Evaluate</a>; then this page shows how they searched, stopped and judged.</p></div>'
    )


def sections_html(analysis: Analysis, asked: Asked, keys: Sequence[str]) -> str:
    """Sections of these keys, in the analysis' order."""
    return "".join(_section(s, asked) for s in analysis.sections if s.key in keys)


def _section(s: Section, asked: Asked) -> str:
    about = "".join(f'<p class="al-about">{esc(text)}</p>' for text in s.about)
    plots = "".join(plot_html(p, f"{s.key}-{n}", asked.address) for n, p in enumerate(s.plots))
    body = f'<div class="al-plots">{plots}</div>' if plots else ""
    body += "".join(_sheet(sheet, asked) for sheet in s.sheets) or f'<p class="al-none">{esc(s.empty)}</p>'
    first = " al-first" if s.key == "momentum" else ""
    return f'<section class="al-card{first}" id="al-{esc(s.key)}"><h2>{esc(s.title)}</h2>{about}{body}</section>'


def _sheet(sheet: Sheet, asked: Asked) -> str:
    columns = [_kind([row[n].text for row in sheet.rows if n < len(row)]) if n else "" for n in range(len(sheet.header))]
    head = "".join(f'<th scope="col"{_class(columns[n])}>{esc(h)}</th>' for n, h in enumerate(sheet.header))
    rows = "".join(
        "<tr>"
        + "".join(f"<td{_class(columns[c])}>{_cell(cell, f'{sheet.key}.{r}.{c}', asked)}</td>" for c, cell in enumerate(row))
        + "</tr>"
        for r, row in enumerate(sheet.rows)
    )
    note = f'<p class="al-soft">{esc(sheet.note)}</p>' if sheet.note else ""
    return (
        f'<h3>{esc(sheet.title)}</h3><div class="al-scroll" tabindex="0" role="region" '
        f'aria-label="{esc(sheet.title)}"><table class="al-table">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{note}"
    )


def _kind(texts: Sequence[str]) -> str:
    if all(_FIGURE.fullmatch(t) for t in texts):
        return "num"
    return "long" if any(len(t) > 60 for t in texts) else ""


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _cell(cell: Cell, key: str, asked: Asked) -> str:
    if not cell.runs:
        return esc(cell.text)
    target = f"./?run={cell.runs[0]}" if len(cell.runs) == 1 else asked.address(key)
    return f'<a href="{esc(target)}">{esc(cell.text)}</a>'


def opened_html(opened: Opened, runs: Mapping[str, RunInfo], asked: Asked) -> str:
    """The runs behind a figure."""
    rows = "".join(_run(runs[i]) for i in opened.runs[:LISTED] if i in runs)
    more = f'<p class="al-soft">{LISTED} of {len(opened.runs):,} are listed.</p>' if len(opened.runs) > LISTED else ""
    return (
        f'<section class="al-card al-open" id="al-open"><h2>{esc(opened.title)}: {esc(opened.text)}</h2>'
        f'<p class="al-soft">{plural(len(opened.runs), "run")} behind this figure. <a href="{esc(asked.address())}">Close</a></p>'
        f'<ol class="al-runs">{rows}</ol>{more}</section>'
    )


def _run(info: RunInfo) -> str:
    facts = [
        info.method,
        *([f"answer: {info.answer}"] if info.answer else []),
        *([f"EM {info.em:.0f}"] if info.em is not None else []),
        *([plural(info.rounds, "round")] if info.rounds is not None else []),
    ]
    return f'<li><a href="./?run={esc(info.id)}">{esc(info.question)}</a> <span class="al-soft">{esc(" · ".join(facts))}</span></li>'


def files_html(analysis: Analysis) -> str:
    """The whole analysis to keep: Markdown with the reproduction report, and CSV."""
    only = analysis.model_copy(update={"sections": tuple(s for s in analysis.sections if s.key == "reproduction")})
    files = (
        ("analysis.md", "text/markdown", markdown_of(analysis)),
        ("analysis.csv", "text/csv", csv_of(analysis)),
        ("reproduction.md", "text/markdown", markdown_of(only, "The papers' figures beside ours")),
    )
    links = " · ".join(
        f'<a download="{name}" href="data:{kind};base64,{base64.b64encode(text.encode()).decode()}">{name}</a>'
        for name, kind, text in files
    )
    note = '<p class="al-soft">JSON, with the runs behind each figure: the command line above.</p>'
    return f'<section class="al-card"><h2>To keep</h2><p>{links}</p>{note}</section>'
