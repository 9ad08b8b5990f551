"""From figures to runs: wins and losses of two entrants with the questions they differ on, and the runs behind any figure."""

from __future__ import annotations

from collections.abc import Sequence

from trio_core.evaluation.differences import Chosen, Difference
from trio_core.evaluation.report_tables import NAMES
from trio_core.evaluation.summary import Summary, value_of
from trio_core.evaluation.values import Row
from ui.render.base import esc, plural, seconds
from ui.render.evaluate_tables import chosen_html
from ui.render.words import STATES

PAGE = 25
SIDE_BY_SIDE = 8
"""Runs that Compare shows at most."""


def matrix_html(s: Summary, first: str, second: str) -> str:
    """Each entrant against each: on how many questions the row is better, and worse. A cell opens the questions."""
    labels = [e.label for e in s.entrants]
    if len(labels) < 2:
        return ""
    tests = {(p.first, p.second): (p.test.wins, p.test.losses, p.test.ties) for p in s.pairs}
    tests |= {(b, a): (losses, wins, ties) for (a, b), (wins, losses, ties) in tests.items()}

    def cell(a: str, b: str) -> str:
        if a == b:
            return '<td class="ev-self"></td>'
        wins, losses, ties = tests[a, b]
        on = " on" if (a, b) == (first, second) else ""
        about = f"{a} against {b}: better on {wins}, worse on {losses}, the same on {ties}"
        return (f'<td><button type="button" class="ev-wl{on}" data-first="{esc(a)}" data-second="{esc(b)}" aria-label="{esc(about)}" title="{esc(about)}">'
                f"<b>{wins}</b> : {losses}</button></td>")

    head = "".join(f'<th scope="col">{esc(label)}</th>' for label in ("better : worse", *labels))
    body = "".join(f'<tr data-k="{esc(a)}"><th scope="row">{esc(a)}</th>{"".join(cell(a, b) for b in labels)}</tr>' for a in labels)
    name = NAMES.get(s.metric, s.metric)
    return (f'<h2 class="ev-h">Wins and losses by {esc(name)}</h2><div class="ev-card"><p class="hid">On how many questions the row’s method is better : worse '
            'than the column’s. A cell opens these questions.</p><div class="ev-scroll" tabindex="0" role="region" aria-label="Wins and losses">'
            f'<table class="ev-bars"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></div>')


def differences_html(found: Sequence[Difference], first: str, second: str, page: int) -> str:
    """The questions on which the two differ, each with both answers and the way into both runs."""
    won = sum(d.side == "won" for d in found)
    title = f"{first} against {second}: {won} better, {len(found) - won} worse"
    shown = found[(page - 1) * PAGE:page * PAGE]
    rows = "".join(_difference(d, first, second) for d in shown)
    body = f'<ul class="ev-diff">{rows}</ul>' if rows else '<p class="hid">They do not differ on any question that both have answered.</p>'
    return (f'<div class="ev-card" data-k="diff"><div class="ev-top"><h3 class="ev-lab" tabindex="-1">{esc(title)}</h3><span class="ev-acts">'
            f'<button type="button" class="link" data-close="pair">Close</button></span></div>{body}{_paging(len(found), page, "pair")}</div>')


def _difference(d: Difference, first: str, second: str) -> str:
    better, worse = (first, second) if d.side == "won" else (second, first)
    both = [*d.first_runs, *d.second_runs][:SIDE_BY_SIDE]
    side = f'<a class="btn" href="./compare?runs={esc(",".join(both))}">Side by side</a>' if d.first_runs and d.second_runs else ""
    gold = " / ".join(d.answers[:3]) or "no right answer known"
    return (f'<li data-k="{esc(d.dataset)}/{esc(d.question_id)}"><p class="ev-q">{esc(d.question)}</p><p class="hid">{esc(d.dataset)} · {esc(d.question_id)} · '
            f'right: {esc(gold)} · {esc(better)} is better than {esc(worse)}</p><div class="ev-two">{_side(first, d.first_answer, d.first, d.first_runs)}'
            f"{_side(second, d.second_answer, d.second, d.second_runs)}{side}</div></li>")


def _side(label: str, answer: str, value: float, runs: Sequence[str]) -> str:
    links = " ".join(f'<a href="./?run={esc(run)}">{"open the run" if n == 1 else f"repeat {n}"}</a>' for n, run in enumerate(runs, 1))
    return f'<div><b>{esc(label)}</b> {value:.2f} · {esc(answer[:300] or "no answer")} <span class="ev-links">{links or "no run"}</span></div>'


def runs_html(rows: Sequence[Row], failed: int, total: int, chosen: Chosen, metric: str, page: int) -> str:
    """The runs behind a figure; failed ones are rows like all others, with the reason in place of the answer."""
    words = [f"{name} {value}" for name, value in chosen.model_dump(exclude={"failed"}).items() if value is not None]
    words += [] if chosen.failed is None else ["failed" if chosen.failed else "finished"]
    tabs = chosen_html(f"All {total:,}") + chosen_html(f"Failed {failed:,}", failed=True)
    heads = "".join(f"<th scope=col{c}>{esc(h)}</th>" for h, c in (
        ("Question", ""), ("Method", ""), ("Status", ""), ("Answer", ""), ("Right", ""), (NAMES.get(metric, metric), " class=num"),
        ("Rounds", " class=num"), ("Calls", " class=num"), ("Seconds", " class=num")))
    body = "".join(_run(r, metric) for r in rows[(page - 1) * PAGE:page * PAGE])
    table = (f'<div class="scroller ev-scroll" tabindex="0" role="region" aria-label="Runs"><table class="runs"><thead><tr>{heads}</tr></thead>'
             f"<tbody>{body}</tbody></table></div>" if body else '<p class="hid">No run fits.</p>')
    return (f'<div class="ev-top"><h2 class="ev-h" tabindex="-1">{esc(plural(len(rows), "run"))}{esc(": " + ", ".join(words) if words else "")}</h2>'
            f'<span class="ev-acts">{tabs}</span></div>{table}{_paging(len(rows), page, "runs")}')


def _run(r: Row, metric: str) -> str:
    value = value_of(r, metric)
    question = f'<a href="./?run={esc(r.run_id)}">{esc(r.question)}</a>' if r.run_id else esc(r.question)
    repeat = f' <span class="tag">repeat {r.repeat + 1}</span>' if r.repeat else ""
    said = esc(r.answer[:200] or "–") if r.finished else f'<span class="ev-bad">{esc(r.reason[:300])}</span>'
    figures = ("–" if value is None else f"{value:.2f}", r.rounds, r.calls, seconds(r.seconds))
    return (f'<tr data-k="{esc(r.run_id or "/".join(map(str, r.key)))}"><td class="q">{question}{repeat}</td><td>{esc(r.label)}</td>'
            f'<td><span class="state {esc(r.status)}">{esc(STATES[r.status])}</span></td><td class="a">{said}</td>'
            f'<td class="a">{esc(" / ".join(r.answers[:2]))}</td>{"".join(f"<td class=num>{esc(f)}</td>" for f in figures)}</tr>')


def _paging(total: int, page: int, of: str) -> str:
    pages = -(-total // PAGE)
    if pages < 2:
        return ""
    back = f'<button type="button" class="btn" data-page="{page - 1}" data-of="{of}">Back</button>' if page > 1 else ""
    on = f'<button type="button" class="btn" data-page="{page + 1}" data-of="{of}">On</button>' if page < pages else ""
    return f'<div class="row paging">{back}<span class="hid">page {page} of {pages}</span>{on}</div>'
