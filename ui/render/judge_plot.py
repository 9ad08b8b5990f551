"""A reliability plot as inline SVG: how often items are sufficient among those that a judge gave about the same P.

Two judges are told apart by shape and word beside the colour. Nothing but numbers and escaped names goes in.
"""

from __future__ import annotations

from collections.abc import Sequence

from training.gate_values import Bin, GateSide
from ui.render.base import esc, plural

SIDE, LEFT, TOP, BELOW = 220, 40, 10, 40
"""The square of the plot and the room around it, in pixels."""
TICKS = (0.0, 0.5, 1.0)
R_MIN, R_MAX = 3.0, 7.0
"""Radius of a point: by the square root of its bin's share of the items."""


def reliability_html(sides: Sequence[GateSide]) -> str:
    """Points of up to two judges, the diagonal of perfect calibration, a legend, and the figures as a folded table."""
    width, height = LEFT + SIDE + 16, TOP + SIDE + BELOW
    series = "".join(_series(side, n) for n, side in enumerate(sides))
    about = f"Reliability of {' and '.join(side.judge for side in sides)}; the figures stand in the table below"
    svg = (f'<svg class="jd-plot" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{esc(about)}">'
           f"{_axes()}{series}</svg>")
    legend = "".join(f'<li><svg width="16" height="14" aria-hidden="true"><g class="jd-s{n}">{_mark(n, 8, 7, 5)}</g></svg>{esc(side.judge)}'
                     f"<span> · {words}</span></li>" for n, (side, words) in enumerate(zip(sides, ("live", "candidate"), strict=False)))
    return (f'<figure class="jd-figure"><figcaption>Reliability: on the dashed line P(sufficient) says how often it is sufficient</figcaption>{svg}'
            f'<ul class="jd-legend">{legend}</ul>{_numbers(sides)}</figure>')


def _axes() -> str:
    lines = "".join(f'<line x1="{_x(t):.1f}" y1="{_y(0):.1f}" x2="{_x(t):.1f}" y2="{_y(1):.1f}"/>'
                    f'<line x1="{_x(0):.1f}" y1="{_y(t):.1f}" x2="{_x(1):.1f}" y2="{_y(t):.1f}"/>' for t in TICKS)
    texts = "".join(f'<text x="{_x(t):.1f}" y="{_y(0) + 15:.1f}" text-anchor="middle">{t:g}</text>'
                    f'<text x="{_x(0) - 7:.1f}" y="{_y(t) + 4:.1f}" text-anchor="end">{t:g}</text>' for t in TICKS)
    middle = f"{_y(0.5):.1f}"
    return (f'<g class="jd-grid">{lines}</g><line class="jd-ideal" x1="{_x(0):.1f}" y1="{_y(0):.1f}" x2="{_x(1):.1f}" y2="{_y(1):.1f}"/>'
            f'<g class="jd-axis">{texts}<text x="{_x(0.5):.1f}" y="{_y(0) + 33:.1f}" text-anchor="middle">mean P(sufficient)</text>'
            f'<text x="11" y="{middle}" text-anchor="middle" transform="rotate(-90 11 {middle})">share sufficient</text></g>')


def _series(side: GateSide, n: int) -> str:
    total = sum(b.n for b in side.bins) or 1
    points = [(_x(b.mean_p), _y(b.share_sufficient), b) for b in side.bins]
    line = f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)}"/>' if len(points) > 1 else ""
    marks = "".join(f"<g>{_mark(n, x, y, R_MIN + (R_MAX - R_MIN) * (b.n / total) ** 0.5)}<title>{esc(_words(side, b))}</title></g>"
                    for x, y, b in points)
    return f'<g class="jd-s{n}">{line}{marks}</g>'


def _mark(n: int, x: float, y: float, r: float) -> str:
    """A circle for the first judge, a diamond for the second."""
    if n == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"/>'
    return f'<path d="M{x:.1f} {y - r:.1f}L{x + r:.1f} {y:.1f}L{x:.1f} {y + r:.1f}L{x - r:.1f} {y:.1f}Z"/>'


def _words(side: GateSide, b: Bin) -> str:
    return f"{side.judge}: {plural(b.n, 'item')} with P {b.low:.1f} to {b.high:.1f}, on average {b.mean_p:.2f}; {b.share_sufficient:.0%} sufficient"


def _numbers(sides: Sequence[GateSide]) -> str:
    rows = "".join(f"<tr><td>{esc(side.judge)}</td><td>{b.low:.1f}–{b.high:.1f}</td><td>{b.n}</td><td>{b.mean_p:.2f}</td>"
                   f"<td>{b.share_sufficient:.2f}</td></tr>" for side in sides for b in side.bins)
    return ('<details class="jd-more"><summary>Figures of the plot</summary><table class="jd-table"><thead><tr><th scope="col">Judge</th>'
            '<th scope="col">P from–to</th><th scope="col">Items</th><th scope="col">Mean P</th><th scope="col">Share sufficient</th></tr></thead>'
            f"<tbody>{rows}</tbody></table></details>")


def _x(value: float) -> float:
    return LEFT + SIDE * value


def _y(value: float) -> float:
    return TOP + SIDE * (1 - value)
