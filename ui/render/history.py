"""Everything that happened to an item, in order, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from storage.annotation_values import Adjudication
from storage.values import StoredLabel
from ui.render.base import esc
from ui.render.item import tag
from ui.render.reveal import Told


class Happened(NamedTuple):
    """One line. `who` and `more` are plain text, `what` is HTML."""

    at: datetime
    who: str
    what: str
    more: str = ""


def history_html(told: Told, labels: Sequence[StoredLabel], decisions: Sequence[Adjudication]) -> str:
    """`labels` and `decisions`: all events of the item, withdrawn ones too."""
    lines = sorted([*_machines(told), *_labels(labels), *map(_decision, decisions)], key=lambda line: line.at)
    rows = "".join(
        f'<li><time datetime="{line.at.isoformat()}" data-moment>{line.at:%Y-%m-%d %H:%M:%S}</time><b>{esc(line.who)}</b>'
        f'<span>{line.what}{f" <q>{esc(line.more)}</q>" if line.more else ""}</span></li>' for line in lines)
    return f'<h2>History of this item</h2><ol class="ag-history">{rows}</ol>'


def _machines(told: Told) -> Iterator[Happened]:
    yield Happened(told.item.created, "Trioscope", "stored the item")
    for verdict in told.verdicts:
        p = f" p {verdict.p_sufficient:.2f}" if verdict.p_sufficient is not None else ""
        role = "" if verdict.deciding else ", as a shadow judge"
        yield Happened(verdict.created, verdict.judge, f"judged {tag(verdict.label)}{p} in round {verdict.round}{role}")
    if told.gold:
        yield Happened(told.gold.created, "gold evidence", f"says {tag(told.gold.label)}", told.gold.rule)
    for vote in told.votes:
        yield Happened(vote.created, vote.answer_model, f"votes {tag(vote.label)}: {vote.n_right} of {vote.n_samples} answers right")
    if told.known:
        yield Happened(told.known.created, told.known.by, f"gave the known answer {tag(told.known.label)}", told.known.explanation)


def _labels(labels: Sequence[StoredLabel]) -> Iterator[Happened]:
    earlier = {label.id for label in labels}
    for label in labels:
        more = " · ".join(part for part in (label.reason, label.note) if part)
        if label.value == "withdrawn":
            yield Happened(label.created, label.annotator, "withdrew the label")
            continue
        verb = "changed to" if label.supersedes in earlier else "labelled"
        how = "blind" if label.blind else "after seeing the verdict"
        took = f", {label.milliseconds / 1000:.1f} s" if label.milliseconds else ""
        where = ", in the trace" if label.source == "trace" else ""
        yield Happened(label.created, label.annotator, f"{verb} {tag(label.value)} <small>({how}{took}{where})</small>", more)


def _decision(decision: Adjudication) -> Happened:
    what = "took the decision back" if decision.label == "withdrawn" else f"decided {tag(decision.label)}"
    return Happened(decision.created, decision.by, what, decision.note)
