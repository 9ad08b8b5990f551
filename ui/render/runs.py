"""Lists of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from trio_core.methods import METHODS
from trio_core.runs import RunInfo
from ui.render.address import address_of
from ui.render.base import esc, plural, seconds
from ui.render.words import STATES

PAGE = 25
ORIGINS = ("live", "recorded", "batch")


class Filter(NamedTuple):
    """What the address of the Runs page asks for."""

    search: str = ""
    method: str = ""
    status: str = ""
    origin: str = ""
    dataset: str = ""
    page: int = 1

    def address(self, page: int) -> str:
        """The same list, another page of it."""
        return address_of("runs", self._replace(page=page))


def runs_html(runs: Sequence[RunInfo], total: int, wanted: Filter) -> str:
    """Filters, table and paging; with nothing to list, what to do."""
    if not runs:
        return _filters(wanted) + _nothing(wanted)
    rows = "".join(_row(r) for r in runs)
    heads = "".join(f"<th scope=col{c}>{h}</th>" for h, c in (
        ('<span class="sr">Compare</span>', ""), ("Question", ""), ("Method", ""), ("Status", ""), ("Answer", ""), ("EM", " class=num"),
        ("Rounds", " class=num"), ("Calls", " class=num"), ("Seconds", " class=num"), ("Date", ""),
    ))
    return (
        f'{_filters(wanted)}<div class="row bar"><span class="hid">{plural(total, "run")}</span><a class="btn go disabled"></a></div>'
        f'<div class="scroller"><table class="runs"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>{_paging(total, wanted)}'
    )


def _filters(wanted: Filter) -> str:
    selects = "".join((
        _select("method", "all methods", {n: m.title for n, m in METHODS.items()}, wanted.method),
        _select("status", "all states", {s: s for s in STATES}, wanted.status),
        _select("origin", "live and recorded", {o: o for o in ORIGINS}, wanted.origin),
    ))
    return (
        f'<form class="filters" action="./runs" method="get"><input type="search" name="search" value="{esc(wanted.search)}" maxlength="200" '
        f'placeholder="words of the question or answer" aria-label="Search">{selects}<input type="text" name="dataset" value="{esc(wanted.dataset)}" '
        'maxlength="100" placeholder="data set" aria-label="Data set"><button class="btn">Show</button></form>'
    )


def _select(name: str, every: str, choices: dict[str, str], chosen: str) -> str:
    options = "".join(f'<option value="{esc(k)}"{" selected" if k == chosen else ""}>{esc(v)}</option>' for k, v in choices.items())
    return f'<select name="{name}" aria-label="{name.capitalize()}"><option value="">{esc(every)}</option>{options}</select>'


def _row(run: RunInfo) -> str:
    method = METHODS[run.method].title if run.method in METHODS else run.method
    status = "recorded" if run.origin == "recorded" else STATES[run.status]
    go_on = ' <span class="tag">can be continued</span>' if run.status in ("interrupted", "stopped") and run.origin != "recorded" else ""
    cells = (
        f'<td><input type="checkbox" name="tick" value="{esc(run.id)}" aria-label="Compare this run"></td>',
        f'<td class="q"><a href="./?run={esc(run.id)}">{esc(run.question)}</a></td><td>{esc(method)}</td>',
        f'<td><span class="state {esc(status)}">{esc(status)}</span>{go_on}</td><td class="a">{esc(run.answer or "–")}</td>',
        *(f"<td class=num>{v}</td>" for v in (_figure(run.em, ".0f"), _figure(run.rounds), _figure(run.calls), _figure(run.seconds, ".1f"))),
        f'<td><time datetime="{esc(run.created.isoformat())}" data-date="1">{esc(run.created.strftime("%Y-%m-%d %H:%M"))}</time></td>',
    )
    return f'<tr tabindex="-1" data-href="./?run={esc(run.id)}">{"".join(cells)}</tr>'


def _figure(value: float | None, form: str = "d") -> str:
    return "–" if value is None else format(value, form)


def _paging(total: int, wanted: Filter) -> str:
    pages = -(-total // PAGE)
    if pages < 2:
        return ""
    back = f'<a class="btn" href="{esc(wanted.address(wanted.page - 1))}">Newer</a>' if wanted.page > 1 else ""
    on = f'<a class="btn" href="{esc(wanted.address(wanted.page + 1))}">Older</a>' if wanted.page < pages else ""
    return f'<div class="row paging">{back}<span class="hid">page {wanted.page} of {pages}</span>{on}</div>'


def _nothing(wanted: Filter) -> str:
    if wanted._replace(page=1) != Filter():
        return '<div class="empty"><p>No run fits. <a href="./runs">Show all runs</a></p></div>'
    return '<div class="empty"><p>No runs yet. Ask a question on <a href="./">Explore</a>, or two methods at once on <a href="./compare">Compare</a>.</p></div>'


def found_html(runs: Sequence[RunInfo], total: int) -> str:
    """A short list to tick."""
    if not runs:
        return '<p class="hid">No run fits.</p>'
    more = f'<p class="hid">{len(runs)} of {total:,} shown; search to narrow down.</p>' if total > len(runs) else ""
    return "".join(_found(r) for r in runs) + more


def _found(run: RunInfo) -> str:
    method = METHODS[run.method].title if run.method in METHODS else run.method
    facts = [method, run.status, *([plural(run.rounds, "round")] if run.rounds is not None else []), *([seconds(run.seconds)] if run.seconds is not None else [])]
    facts.append(run.created.strftime("%Y-%m-%d %H:%M"))
    return (
        f'<label class="pick"><span><input type="checkbox" value="{esc(run.id)}"> {esc(run.question)}</span>'
        f'<span class="kind">{esc(" · ".join(facts))}</span></label>'
    )
