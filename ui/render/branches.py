"""The branches of a round: candidates or paths of a tree, what came of each, and which one the run went on with."""

from __future__ import annotations

from trio_core.events import Knowledge
from trio_core.trace import Round
from ui.render.base import esc, label, plural, tag

SHORT = 90


def branches_html(round_: Round) -> str:
    """The section of branches; empty for rounds that do not branch."""
    if not round_.branches:
        return ""
    calls = [c.branch for c in round_.calls]
    rows = "".join(_branch(n, b, calls.count(b.branch)) for n, b in enumerate(round_.branches.values()))
    chosen = sum(bool(b.chosen) for b in round_.branches.values())
    right = plural(len(round_.branches), "branch", "branches") + (f", {chosen} chosen" if chosen else "")
    return f'<section class="sec st" data-k="b">{label("Branches", right)}{rows}</section>'


def _branch(index: int, branch: Knowledge, calls: int) -> str:
    score = f"score {branch.score:.2f} · " if branch.score is not None else ""
    chosen = tag("chosen", "g", "the run went on with this branch") if branch.chosen else ""
    short = branch.summary if len(branch.summary) <= SHORT else branch.summary[: SHORT - 1] + "…"
    notes = "".join(f"<li>{esc(note)}</li>" for note in branch.notes)
    return (
        f'<details class="call" data-k="b{index}"><summary><b>{esc(branch.branch)}</b>'
        f'{chosen}<span class="facts">{score}{plural(calls, "call")}</span>'
        f'<div class="hid">{esc(short) or "nothing written"}</div></summary>'
        f'<p>{esc(branch.summary)}</p>{f"<ul>{notes}</ul>" if notes else ""}</details>'
    )
