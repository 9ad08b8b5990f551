"""Plots of an evaluation, drawn by us: accuracy against cost as SVG, rounds, types and hops as tables of bars. All of it opens the runs behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trio_core.evaluation.report_tables import NAMES
from trio_core.evaluation.stats import Estimate
from trio_core.evaluation.summary import COSTS, EntrantSummary, Summary
from trio_core.methods import METHODS
from ui.render.base import esc
from ui.render.evaluate_tables import chosen_html

WIDE, HIGH, LEFT, RIGHT, TOP, BELOW = 440, 296, 46, 14, 12, 48
COLOURS = 8


def plots_html(s: Summary, metrics: Sequence[str], cost: str) -> str:
    """What to look at, then the plots."""
    chooser = (f'<label>Metric <select data-set="metric">{_options(metrics, s.metric)}</select></label>'
               f'<label>Cost <select data-set="cost">{_options(COSTS, cost)}</select></label>')
    parts = (_scatter(s, cost), _rounds(s), _breakdown(s, "type"), _breakdown(s, "hops"))
    return f'<div class="ev-top"><h2 class="ev-h">Plots</h2><span class="ev-acts">{chooser}</span></div><div class="ev-plots">{"".join(parts)}</div>'


def _options(names: Sequence[str], chosen: str) -> str:
    return "".join(f'<option value="{esc(n)}"{" selected" if n == chosen else ""}>{esc(NAMES.get(n, n))}</option>' for n in names)


def colour_of(label: str) -> int:
    """A method has one colour everywhere; its variants share it."""
    names = list(METHODS)
    method = label.partition(":")[0]
    return names.index(method) % COLOURS if method in names else COLOURS - 1


def _scatter(s: Summary, cost: str) -> str:
    known = [(n, e, e.costs[cost], e.micro[s.metric]) for n, e in enumerate(s.entrants, 1)
             if s.metric in e.micro and cost in e.costs and e.micro[s.metric].mean is not None and e.costs[cost].mean is not None]
    if not known:
        return ""
    right, top = nice(max(c.high or 0.0 for _, _, c, _ in known)), nice(max(m.high or 0.0 for *_, m in known))
    top = 1.0 if top <= 1 else top
    name, unit = NAMES.get(s.metric, s.metric), NAMES.get(cost, cost)
    marks = "".join(_mark(n, e.label, (_x(c, right), _y(m, top))) for n, e, c, m in known)
    about = f"{name} against {unit} a question; the figures stand beside it"
    rows = "".join(f'<li data-k="{esc(e.label)}"><span class="ev-n ev-c{colour_of(e.label)}">{n}</span>{chosen_html(e.label, label=e.label)}'
                   f"<span>{_short(m)} · {_short(c)} {esc(unit)}</span></li>" for n, e, c, m in known)
    return (f'<figure class="ev-card ev-wide" data-k="scatter"><figcaption>{esc(name)} against {esc(unit)} a question, with 95 % intervals</figcaption>'
            f'<div class="ev-pair"><svg class="ev-plot" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" height="{HIGH}" role="img" aria-label="{esc(about)}">'
            f'{_axes(right, top, name, unit)}{marks}</svg><ol class="ev-legend">{rows}</ol></div></figure>')


def nice(most: float) -> float:
    """The end of an axis, not below `most`, whose quarters are short numbers."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(step * power for step in (1, 2, 4, 6, 8, 10) if step * power >= most * (1 - 1e-9))


def _place(share: float) -> tuple[float, float]:
    return LEFT + share * (WIDE - LEFT - RIGHT), TOP + (1 - share) * (HIGH - TOP - BELOW)


def _x(e: Estimate, most: float) -> tuple[float, float, float]:
    low, mean, high = (_place((v or 0.0) / most)[0] for v in (e.low, e.mean, e.high))
    return low, mean, high


def _y(e: Estimate, most: float) -> tuple[float, float, float]:
    low, mean, high = (_place((v or 0.0) / most)[1] for v in (e.low, e.mean, e.high))
    return low, mean, high


def _mark(n: int, label: str, place: tuple[tuple[float, float, float], tuple[float, float, float]]) -> str:
    (left, x, right), (low, y, high) = place
    return (f'<g class="ev-c{colour_of(label)}" data-label="{esc(label)}"><title>{esc(label)}</title>'
            f'<path d="M{left:.1f} {y:.1f}H{right:.1f}M{x:.1f} {low:.1f}V{high:.1f}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
            f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{n}</text></g>')


def _axes(right: float, top: float, name: str, unit: str) -> str:
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    (x0, y0), (x1, y1) = _place(0), _place(1)
    lines = "".join(f'<path d="M{_place(t)[0]:.1f} {y0:.1f}V{y1:.1f}M{x0:.1f} {_place(t)[1]:.1f}H{x1:.1f}"/>' for t in ticks)
    texts = "".join(f'<text x="{_place(t)[0]:.1f}" y="{y0 + 22:.1f}" text-anchor="middle">{t * right:g}</text>'
                    f'<text x="{x0 - 7:.1f}" y="{_place(t)[1] + 4:.1f}" text-anchor="end">{t * top:g}</text>' for t in ticks)
    middle = (y0 + y1) / 2
    return (f'<g class="ev-grid">{lines}</g><g class="ev-axis">{texts}<text x="{(x0 + x1) / 2:.1f}" y="{HIGH - 6}" text-anchor="middle">{esc(unit)}</text>'
            f'<text x="11" y="{middle:.1f}" text-anchor="middle" transform="rotate(-90 11 {middle:.1f})">{esc(name)}</text></g>')


def _short(e: Estimate) -> str:
    if e.mean is None:
        return "n/a"
    digits = 3 if abs(e.mean) < 1 else 1
    return f"{e.mean:.{digits}f} [{e.low:.{digits}f}, {e.high:.{digits}f}]"


def _rounds(s: Summary) -> str:
    numbers = sorted({n for e in s.entrants for n in e.rounds})
    if not numbers:
        return ""
    most = max(n for e in s.entrants for n in e.rounds.values())

    def cell(e: EntrantSummary, n: int) -> str:
        count = e.rounds.get(n, 0)
        if not count:
            return '<td><span class="none">0</span></td>'
        inner = f'<b>{count}</b><i style="height:{44 * count / most:.1f}px"></i>'
        return f'<td>{chosen_html("", f"ev-col ev-c{colour_of(e.label)}", inner, label=e.label, rounds=n)}</td>'

    rows = [(e.label, "".join(cell(e, n) for n in numbers)) for e in s.entrants]
    return _bars("rounds", "Rounds: how many runs took so many", [str(n) for n in numbers], rows)


def _breakdown(s: Summary, by: str) -> str:
    groups: list[dict[str, Estimate]] = [{str(k): v for k, v in getattr(e, f"by_{by}").items()} for e in s.entrants]
    names = sorted({name for found in groups for name in found})
    if not names:
        return ""
    most = max((v.mean or 0.0 for found in groups for v in found.values()), default=0.0)
    most = 1.0 if most <= 1 else most

    def cell(e: EntrantSummary, name: str, found: Estimate | None) -> str:
        if found is None or found.mean is None:
            return '<td><span class="none">n/a</span></td>'
        interval = f"{found.mean:.3f}, 95 % [{found.low:.3f}, {found.high:.3f}]"
        inner = f'<b>{found.mean:.2f}</b> <small>n {found.n}</small><i style="width:{100 * found.mean / most:.1f}%"></i><span class="sr">{interval}</span>'
        key = {by: int(name) if by == "hops" else name}
        return f'<td>{chosen_html("", f"ev-bar ev-c{colour_of(e.label)}", inner, label=e.label, **key)}</td>'

    rows = [(e.label, "".join(cell(e, n, found.get(n)) for n in names)) for e, found in zip(s.entrants, groups, strict=True)]
    title = f"{NAMES.get(s.metric, s.metric)} by {'type of question' if by == 'type' else 'number of hops'}"
    return _bars(by, title, names, rows)


def _bars(key: str, title: str, heads: Sequence[str], rows: Sequence[tuple[str, str]]) -> str:
    head = "".join(f'<th scope="col">{esc(h)}</th>' for h in ("method", *heads))
    body = "".join(f'<tr data-k="{esc(label)}"><th scope="row">{esc(label)}</th>{cells}</tr>' for label, cells in rows)
    return (f'<figure class="ev-card" data-k="{key}"><figcaption>{esc(title)}</figcaption><div class="ev-scroll" tabindex="0" role="region" '
            f'aria-label="{esc(title)}"><table class="ev-bars"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></figure>')
