"""Where labels went, in HTML: the judges with the labels behind them, what waits, and the way of one item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from storage.loop_values import JudgeLoop, JudgeUse, LoopView, SnapshotUse
from ui.render.base import esc, number, plural
from ui.render.item import tag
from ui.render.judge import KINDS_HUMAN, SPLITS, judge_words, state_badge, table, when

WHO = {"human": "people", "votes": "votes", "gold": "gold evidence"}


def loop_html(view: LoopView) -> str:
    """What waits first, then every judge with its labels."""
    heads = ("Judge", "State", "Snapshot", "Trained on", "Measured on", "Labels of", "Made", "Went live")
    return waiting_html(view) + table(heads, [_judge(judge) for judge in view.judges], "Judges and the labels behind them", words=8)


def waiting_html(view: LoopView) -> str:
    """Labels of people that no live judge has seen."""
    if not view.waiting:
        return '<p class="jd-facts">No label waits: every item that people decided is in a snapshot behind the live judge, or none is decided yet.</p>'
    by = ", ".join(f"{name} {number(n)}" for name, n in view.waiting_by.items())
    items = "item that people decided waits" if view.waiting == 1 else "items that people decided wait"
    return (f'<p class="jd-facts"><b>{number(view.waiting)}</b> {items} for the next judge{esc(f" ({by})" if by else "")}. '
            "Freeze a training set, make a candidate of it and put it through the gate.</p>")


def _judge(loop: JudgeLoop) -> tuple[str, ...]:
    judge = loop.judge
    rows = ", ".join(f"{number(n)} {WHO.get(source, source)}" for source, n in sorted(loop.rows.items()))
    return (f'<b>{esc(judge.name)}</b><br><span class="jd-soft">{esc(judge_words(judge.kind, loop.parent))}</span>', state_badge(judge.state),
            f"#{loop.snapshot_id}" if loop.snapshot_id else "–", esc(rows) or "–", plural(loop.held_out, "row") if loop.held_out else "–",
            esc(_names(loop.annotators)) or "–", when(loop.created), when(loop.promoted_at) if loop.promoted_at else "–")


def _names(annotators: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number(n)}" for name, n in annotators.items())


def item_loop_html(item_id: int, question: str, uses: Sequence[SnapshotUse]) -> str:
    """The snapshots that hold an item, and what was made of them."""
    head = f'<p class="jd-facts"><a href="annotate?item={item_id}&amp;seen=1">Item {item_id}</a>: {esc(question)}</p>'
    if not uses:
        return head + '<p class="jd-soft">It is in no snapshot yet. A label goes in when a training set is frozen after it was given.</p>'
    return head + table(("Snapshot", "Side", "Label then", "By", "Judges made of it", "Live judge"), [_use(use) for use in uses],
                        f"Where item {item_id} went", words=6)


def _use(use: SnapshotUse) -> tuple[str, ...]:
    kind = f", {KINDS_HUMAN[use.kind][0]}" if use.kind else ""
    by = f"{WHO[use.source]}{kind}" + (f": {', '.join(use.annotators)}" if use.annotators else "")
    verb = "trained on it" if use.split == "train" else "measured on it"
    judges = ", ".join(_made(judge) for judge in use.judges)
    return (f"#{use.snapshot_id} {when(use.created)}", esc(SPLITS[use.split]), tag(use.label), esc(by),
            f"{judges} <span class=\"jd-soft\">{verb}</span>" if judges else '<span class="jd-soft">none yet</span>', "yes" if use.live else "no")


def _made(judge: JudgeUse) -> str:
    return f"{esc(judge.name)} {state_badge(judge.state)}"
