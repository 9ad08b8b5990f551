"""Curves of a training as small plots: one figure over the steps each. Inline SVG; nothing but numbers and escaped words goes in."""

from __future__ import annotations

from collections.abc import Sequence

from training.pipeline.browse import Curve
from ui.render.base import esc

WIDE, HIGH, LEFT, RIGHT, TOP, BELOW = 380, 170, 56, 12, 10, 30
FIGURES = (
    ("reward", "Mean reward"), ("reward_std", "Spread of rewards within a batch"), ("kl", "KL to the base model"),
    ("entropy", "Entropy of tokens"), ("completions/mean_length", "Tokens of a completion"),
    ("completions/clipped_ratio", "Share of completions cut off"), ("loss", "Loss"),
)
Points = Sequence[tuple[int, float]]


def plots_html(curve: Curve, names: Sequence[tuple[str, str]] = FIGURES) -> str:
    """A plot for each figure that the training logged; the numbers stand in a folded table."""
    if not curve.points:
        return '<p class="tr-none">No step is logged yet.</p>'
    known = [(key, words) for key, words in names if any(key in values for _, values in curve.points)]
    plots = "".join(_plot(words, [(step, values[key]) for step, values in curve.points if key in values]) for key, words in known)
    broken = f'<p class="tr-mind">{curve.broken:,} lines of the log cannot be read.</p>' if curve.broken else ""
    return f'<div class="tr-plots">{plots}</div>{broken}{_numbers(curve, known)}'


def _plot(title: str, points: Points) -> str:
    (low, high), (first, last) = _range([y for _, y in points]), (points[0][0], points[-1][0])
    x = [LEFT + (WIDE - LEFT - RIGHT) * ((step - first) / (last - first) if last > first else 0.5) for step, _ in points]
    y = [TOP + (HIGH - TOP - BELOW) * (1 - (value - low) / (high - low)) for _, value in points]
    ticks = [low + (high - low) * n / 2 for n in range(3)]
    at = {t: TOP + (HIGH - TOP - BELOW) * (1 - (t - low) / (high - low)) for t in ticks}
    lines = "".join(f'<line x1="{LEFT}" y1="{at[t]:.1f}" x2="{WIDE - RIGHT}" y2="{at[t]:.1f}"/>' for t in ticks)
    texts = "".join(f'<text x="{LEFT - 6}" y="{at[t] + 4:.1f}" text-anchor="end">{_tick(t)}</text>' for t in ticks)
    ends = ((LEFT, "start", first), (WIDE - RIGHT, "end", last)) if last > first else (((LEFT + WIDE - RIGHT) / 2, "middle", first),)
    texts += "".join(f'<text x="{at_x:.0f}" y="{HIGH - 10}" text-anchor="{anchor}">step {step:,}</text>' for at_x, anchor, step in ends)
    line = f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))}"/>' if len(points) > 1 else ""
    marks = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3"/>' for a, b in zip(x, y, strict=True)) if len(points) <= 40 else ""
    about = f"{title}: {_tick(points[0][1])} at step {first:,}, {_tick(points[-1][1])} at step {last:,}"
    return (f'<figure><figcaption>{esc(title)}</figcaption><svg viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" height="{HIGH}" role="img" '
            f'aria-label="{esc(about)}"><g class="grid">{lines}</g><g>{texts}</g><g class="mark">{line}{marks}</g></svg></figure>')


def _range(values: Sequence[float]) -> tuple[float, float]:
    """A little more than the values, but not below 0 for what never is; a flat line lies in the middle."""
    low, high = min(values), max(values)
    room = (high - low) * 0.08 or abs(high) * 0.1 or 0.1
    return max(low - room, 0.0) if low >= 0 else low - room, high + room


def _tick(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2g}" if abs(value) < 0.1 else f"{value:.2f}"


def _numbers(curve: Curve, known: Sequence[tuple[str, str]]) -> str:
    heads = "".join(f'<th scope="col" class="num">{esc(words)}</th>' for _, words in known)
    rows = "".join(f'<tr><td>{step:,}</td>{"".join(_cell(values.get(key)) for key, _ in known)}</tr>' for step, values in curve.points)
    shown = f"{len(curve.points):,} of {curve.steps:,} steps" if len(curve.points) < curve.steps else f"{curve.steps:,} steps"
    return (f'<details class="tr-more"><summary>Figures of the plots ({shown})</summary><div class="tr-scroll" tabindex="0" role="region" '
            f'aria-label="Figures of the plots"><table class="tr-table"><thead><tr><th scope="col">Step</th>{heads}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div></details>")


def _cell(value: float | None) -> str:
    return f'<td class="num">{"–" if value is None else _tick(value)}</td>'
