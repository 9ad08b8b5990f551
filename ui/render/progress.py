"""A run at work: what it does right now, and the times of its rounds."""

from __future__ import annotations

from collections.abc import Sequence

from trio_core.live_run import LiveText
from trio_core.runs import RunStatus
from trio_core.trace import Round, Trace
from ui.render.base import esc, plural
from ui.render.words import STEPS

TAIL = 600


def live_html(trace: Trace, live: LiveText | None, status: RunStatus) -> str:
    """The step in words and the tail of the text being written."""
    if status in ("queued", "stopping"):
        return ""
    step = step_words(trace, live)
    tail = live.text[-TAIL:] if live else ""
    text = f'<pre class="tail">{esc(tail)}</pre>' if tail.strip() else ""
    return f'<div class="livestep">{esc(step[:1].upper() + step[1:])}<span class="cur" aria-hidden="true"></span></div>{text}'


def step_words(trace: Trace, live: LiveText | None) -> str:
    """What happens: the role that writes, or between two texts what this round has and what it lacks."""
    if live is not None:
        return STEPS.get(live.role, live.role)
    if trace.started is None:
        return "waiting for the model"
    if not trace.rounds or trace.rounds[-1].complete:
        return "preparing the next step" if trace.answer is None else "finishing"
    last, roles = trace.rounds[-1], trace.started.models
    if last.sub_queries is None:
        return next((STEPS[r] for r in ("query", "plan") if r in roles), "preparing the next query")
    if not last.retrieved:
        return f"searching for {plural(len(last.sub_queries.queries), 'query', 'queries')}"
    if last.verdict is None and "judge" in roles and "refine" not in [c.role for c in last.calls]:
        return STEPS["judge"]
    return STEPS["refine"] if "refine" in roles and last.knowledge is None else "finishing the round"


def rows_html(number: int, rounds: Sequence[tuple[str, Round | None]]) -> str:
    """The label of a row: its number and, for each run, from when to when."""
    one = len(rounds) == 1
    lines = [
        f'<span data-of="{column}">{"" if one else f"<i>{esc(title)}</i> "}{_span(r)}</span>' for column, (title, r) in enumerate(rounds, 1) if r is not None
    ]
    return f"<b>{number}</b>{''.join(lines)}"


def _span(round_: Round) -> str:
    end = _second(round_.ended) if round_.ended is not None else "…"
    return f"{_second(round_.began)}–{end} s"


def _second(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"
