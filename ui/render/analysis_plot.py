"""Plots of an analysis as inline SVG: grouped bars or lines over the rounds. Every mark opens the runs behind it.

Series are told apart by shape and name beside the colour. Nothing but numbers and escaped names goes in.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from trio_core.analysis.sheets import Plot, Series, shown
from ui.render.base import esc

WIDE, HIGH, LEFT, RIGHT, TOP, BELOW = 460, 240, 48, 10, 10, 40
COLOURS = 6
Address = Callable[[str], str]
"""Key of a figure -> where it opens."""


def plot_html(plot: Plot, key: str, address: Address) -> str:
    """The figure with its legend; the numbers stand in the tables below it."""
    names = list(dict.fromkeys(p.x for s in plot.series for p in s.points))
    low, high = _range(plot)
    place = _Place(names, low, high)
    draw = _bars if plot.kind == "bars" else _lines
    marks = "".join(
        f'<g class="al-s{_colour(plot, n)}{" dash" if s.dashed else ""}">{draw(plot, n, place, key, address)}</g>'
        for n, s in enumerate(plot.series)
    )
    legend = "".join(
        f'<li class="al-s{_colour(plot, n)}">{_sample(plot, n)}<span>{esc(s.label)}</span></li>' for n, s in enumerate(plot.series)
    )
    about = f"{plot.title}; the figures stand in the tables below"
    return (
        f'<figure><figcaption>{esc(plot.title)}</figcaption><svg class="al-plot" viewBox="0 0 {WIDE} {HIGH}" '
        f'width="{WIDE}" height="{HIGH}" '
        f'role="group" aria-label="{esc(about)}">{_axes(plot, place)}{marks}</svg><ul class="al-legend">{legend}</ul></figure>'
    )


class _Place:
    """Where values lie, in pixels."""

    def __init__(self, names: list[str], low: float, high: float) -> None:
        self.names, self.low, self.high = names, low, high
        self.step = (WIDE - LEFT - RIGHT) / max(len(names), 1)

    def x(self, name: str) -> float:
        return LEFT + self.step * (self.names.index(name) + 0.5)

    def y(self, value: float) -> float:
        return TOP + (HIGH - TOP - BELOW) * (1 - (value - self.low) / (self.high - self.low))


def _range(plot: Plot) -> tuple[float, float]:
    """From 0 for bars and counts; cosines lie in a narrow band and are shown in it."""
    values = [p.y for s in plot.series for p in s.points if p.y is not None]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if plot.kind == "bars" or (low >= 0 and high > 1):
        return 0.0, 1.0 if plot.percent else _round_up(high)
    room = max((high - low) * 0.15, 0.02)
    return low - room, high + room


def _round_up(most: float) -> float:
    """The end of an axis of four steps: 1, 2, 4 or 8 times a power of ten, not below `most`."""
    power = 10.0 ** math.floor(math.log10(most)) if most > 0 else 1.0
    return next(step * power for step in (1, 2, 4, 8, 10) if step * power >= most)


def _axes(plot: Plot, place: _Place) -> str:
    ticks = [place.low + (place.high - place.low) * n / 4 for n in range(5)]
    lines = "".join(f'<line x1="{LEFT}" y1="{place.y(t):.1f}" x2="{WIDE - RIGHT}" y2="{place.y(t):.1f}"/>' for t in ticks)
    texts = "".join(f'<text x="{LEFT - 6}" y="{place.y(t) + 4:.1f}" text-anchor="end">{esc(_tick(t, plot))}</text>' for t in ticks)
    texts += "".join(f'<text x="{place.x(n):.1f}" y="{HIGH - BELOW + 15}" text-anchor="middle">{esc(n)}</text>' for n in place.names)
    middle = (LEFT + WIDE - RIGHT) / 2
    return (
        f'<g class="grid">{lines}</g><g>{texts}<text x="{middle:.0f}" y="{HIGH - 6}" text-anchor="middle">{esc(plot.x)}</text>'
        f'<text x="11" y="{(HIGH - BELOW) / 2:.0f}" text-anchor="middle" transform="rotate(-90 11 '
        f'{(HIGH - BELOW) / 2:.0f})">{esc(plot.y)}</text></g>'
    )


def _tick(value: float, plot: Plot) -> str:
    return f"{100 * value:.0f} %" if plot.percent else f"{value:,.0f}" if abs(value) >= 20 else f"{value:.2f}"


def _bars(plot: Plot, n: int, place: _Place, key: str, address: Address) -> str:
    width = place.step * 0.8 / len(plot.series)
    parts = []
    for at, p in enumerate(plot.series[n].points):
        if p.y:
            left, top = place.x(p.x) - place.step * 0.4 + n * width, place.y(p.y)
            bar = f'<rect class="mark" x="{left:.1f}" y="{top:.1f}" width="{max(width - 2, 1):.1f}" height="{place.y(0) - top:.1f}"/>'
            parts.append(_opens(plot, n, at, bar, key, address))
    return "".join(parts)


def _lines(plot: Plot, n: int, place: _Place, key: str, address: Address) -> str:
    known = [(at, p, place.x(p.x), place.y(p.y)) for at, p in enumerate(plot.series[n].points) if p.y is not None]
    line = f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for _, _, x, y in known)}"/>' if len(known) > 1 else ""
    return line + "".join(_opens(plot, n, at, _mark(_colour(plot, n), x, y), key, address) for at, _, x, y in known)


def _opens(plot: Plot, n: int, at: int, mark: str, key: str, address: Address) -> str:
    series, point = plot.series[n], plot.series[n].points[at]
    said = esc(f"{series.label}, {plot.x} {point.x}: {shown(point.y, plot.percent)} (n {point.n})")
    if not point.runs:
        return f"<g>{mark}<title>{said}</title></g>"
    return f'<a href="{esc(address(f"{key}.{n}.{at}"))}" aria-label="{said}">{mark}<title>{said}</title></a>'


def _colour(plot: Plot, n: int) -> int:
    """A null model has the colour of what it is beside."""
    solid = sum(not s.dashed for s in plot.series)
    return (n % solid if plot.series[n].dashed and solid else n) % COLOURS


def _mark(shape: int, x: float, y: float, r: float = 4.5) -> str:
    if shape % 3 == 0:
        return f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"/>'
    if shape % 3 == 1:
        return f'<path class="mark" d="M{x:.1f} {y - r - 1:.1f}L{x + r + 1:.1f} {y:.1f}L{x:.1f} {y + r + 1:.1f}L{x - r - 1:.1f} {y:.1f}Z"/>'
    return f'<rect class="mark" x="{x - r + 0.5:.1f}" y="{y - r + 0.5:.1f}" width="{2 * r - 1:.1f}" height="{2 * r - 1:.1f}"/>'


def _sample(plot: Plot, n: int) -> str:
    series: Series = plot.series[n]
    inner = (
        '<rect class="mark" x="2" y="2" width="12" height="11"/>'
        if plot.kind == "bars"
        else f'<polyline points="0,7 22,7"/>{_mark(_colour(plot, n), 11, 7, 4)}'
    )
    width, kind = 16 if plot.kind == "bars" else 22, "dash" if series.dashed else ""
    return f'<svg class="al-plot al-key" width="{width}" height="14" aria-hidden="true"><g class="{kind}">{inner}</g></svg>'
