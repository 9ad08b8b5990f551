"""What may be told about an item once it is answered: judges, gold, known answer, votes, other people; and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from storage.annotation_values import Adjudication, CalibrationItem, VoteLabel
from storage.values import GoldLabel, ItemSource, LabelItem, MachineVerdict, StoredLabel
from ui.render.base import esc
from ui.render.item import DECIDED, latest_by_judge, p_bar, tag


class Told(NamedTuple):
    """An item with everything said about it. `mine` is the asker's own label, None for an admin who looks without one."""

    item: LabelItem
    mine: StoredLabel | None
    verdicts: Sequence[MachineVerdict]
    gold: GoldLabel | None
    others: Sequence[StoredLabel]
    votes: Sequence[VoteLabel]
    adjudicated: Adjudication | None
    known: CalibrationItem | None


def reveal(told: Told, current: bool) -> str:
    """The card beside the item. `current` = it is the item on the left."""
    which = "This item" if current else "Your last answer"
    about = "" if current else f'<p class="an-about">{esc(told.item.item.question)}</p>'
    return f"<h2>{which}</h2>{about}{facts(told)}{actions(told)}"


def facts(told: Told) -> str:
    """One row a source."""
    mine = told.mine.value if told.mine else ""
    rows = [row("You", mine, _said(told.mine))] if told.mine else []
    rows += [_known(told.known, mine)] if told.known else []
    rows += [row(f"Decided by {told.adjudicated.by}", told.adjudicated.label, told.adjudicated.note)] if told.adjudicated else []
    rows += [row(label.annotator, label.value, _said(label), mine) for label in told.others]
    rows += [_verdict_row(v, mine) for v in latest_by_judge(told.verdicts)] or ['<p class="an-none">No judge has seen this item yet.</p>']
    rows += [row("Gold evidence", told.gold.label, told.gold.rule, mine)] if told.gold else []
    rows += [row(f"Votes of {v.answer_model}", v.label, f"{v.n_right} of {v.n_samples} answers right", mine) for v in told.votes]
    seen = ", ".join(_source(s) for s in told.item.sources)
    return f'{"".join(rows)}<p class="an-rule">Seen in {seen or "no run"}.</p>'


def actions(told: Told, link: bool = True) -> str:
    """Evidence and forks; each is a button that says what it does. `link` leads to the item's own page."""
    forks = "".join(_fork(s) for s in told.item.sources if s.run_id is not None)
    history = f'<p class="an-rule"><a href="./agreement?item={told.item.id}">history of this item</a></p>' if link else ""
    button = (f'<button type="button" class="an-do" data-do="evidence" data-item="{told.item.id}">What is answered from this pool?</button>'
              '<label class="an-n">samples <input type="number" min="1" max="64" data-n></label>')
    return (f'<div class="an-evidence"><div class="an-acts">{button}</div><div class="an-samples" role="status"></div></div>'
            f"{forks}{history}")


def _fork(source: ItemSource) -> str:
    where = f'data-run="{esc(source.run_id)}" data-round="{source.round}"'
    return (f'<div class="an-acts an-fork"><span>Fork after round {source.round} of this {esc(source.method or "run")} run:</span>'
            f'<button type="button" class="an-do" data-do="fork" data-verdict="sufficient" {where}>stop here, answer</button>'
            f'<button type="button" class="an-do" data-do="fork" data-verdict="insufficient" {where}>go on</button></div>')


def row(who: str, value: str, more: str = "", mine: str = "") -> str:
    """A source, what it says, whether that is one's own label, and a remark below. All text is escaped here."""
    remark = f'<p class="an-rule">{esc(more)}</p>' if more else ""
    return f'<div class="an-row"><b>{esc(who)}</b>{tag(value)}{_versus(value, mine)}</div>{remark}'


def _versus(value: str, mine: str) -> str:
    if mine not in DECIDED or value not in DECIDED:
        return ""
    return '<span class="an-same">agrees</span>' if value == mine else '<span class="an-off">disagrees</span>'


def _said(label: StoredLabel | None) -> str:
    return " · ".join(part for part in ((label.reason, f"“{label.note}”" if label.note else "") if label else ()) if part)


def _known(known: CalibrationItem, mine: str) -> str:
    return row("Known answer", known.label, known.explanation, mine)


def _verdict_row(verdict: MachineVerdict, mine: str) -> str:
    return (f'<div class="an-row"><b>{esc(verdict.judge)}</b>{tag(verdict.label)}{_versus(verdict.label, mine)}'
            f'<span class="an-prob">{p_bar(verdict.p_sufficient, verdict.threshold, verdict.label)}</span></div>')


def _source(source: ItemSource) -> str:
    if source.run_id is None:
        return esc(source.source)
    return f'<a href="./?run={quote(source.run_id)}">{esc(source.method or "run")}, round {source.round}</a>'
