"""Judge versions in HTML: scores before and after, flipped items, the gate before a promotion, history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from storage.values import ZERO_SHOT, JudgeVersion, Promotion
from training.values import Evaluation, ItemScore, Scores
from ui.render.base import esc, number, plural
from ui.render.item import tag
from ui.render.judge import LABELS, note, state_badge, table, when

HEADS = ("Judge", "State", "Snapshot", "Held-out rows", "Balanced accuracy", "F1 sufficient", "F1 insufficient", "Kappa", "AUROC", "ECE", "Threshold")


def evaluation_of(version: JudgeVersion) -> Evaluation | None:
    """The scores of a version, or None where it was never evaluated."""
    known = {key: value for key, value in version.scores.items() if key in Evaluation.model_fields}
    try:
        return Evaluation.model_validate(known) if known else None
    except ValidationError:
        return None


def accuracy(scores: Scores) -> float | None:
    """Balanced accuracy as the judge would be used: at its own threshold."""
    return scores.balanced_accuracy if scores.balanced_accuracy_tuned is None else scores.balanced_accuracy_tuned


def versions_html(versions: Sequence[JudgeVersion]) -> str:
    """All judges, newest first, with their scores before and after training on the same held-out rows."""
    rows = [_version_row(version) for version in reversed(versions)]
    return (table(HEADS, rows, "Judge versions; figures on held-out rows, before → after training, each at its own threshold", words=3)
            + '<p class="jd-soft">“Before” is the base model without an adapter on the same rows. AUROC and ECE need no threshold; ECE: lower is better.</p>')


def _version_row(version: JudgeVersion) -> tuple[str, ...]:
    found = evaluation_of(version)
    snapshot = f"#{version.snapshot_id}" if version.snapshot_id else "–"
    base = version.base_model or ("no adapter" if version.name == ZERO_SHOT else "")
    name = f'<b>{esc(version.name)}</b><br><span class="jd-soft" title="{esc(base)}">{esc(_short(base))}</span>'
    if found is None:
        why = "the base model" if version.name == ZERO_SHOT else "not evaluated"
        return (name, state_badge(version.state), snapshot, f'<span class="jd-soft">{why}</span>', *["–"] * 6, f"{version.threshold:.2f}")
    before, after = found.before, found.after
    return (name, state_badge(version.state), snapshot, _held_out(found), _change(accuracy(before), accuracy(after)),
            _change(before.f1_sufficient_tuned, after.f1_sufficient_tuned), _change(before.f1_insufficient_tuned, after.f1_insufficient_tuned),
            _change(before.kappa_tuned, after.kappa_tuned), _change(before.auroc, after.auroc), _change(before.ece, after.ece, better=-1),
            f"{version.threshold:.2f}")


def _short(base: str) -> str:
    return base if len(base) <= 34 else "…" + base[-33:]


def _held_out(found: Evaluation) -> str:
    counts = ", ".join(f"{number(found.after.counts.get(label, 0))} {label[:-7]}." for label in LABELS)
    return f'{number(found.after.rows)}<br><span class="jd-soft">{counts}</span>'


def _change(before: float | None, after: float | None, better: int = 1) -> str:
    """'0.52 → 0.71', with a mark and a word for those who can't see it; undefined stays a word."""
    if before is None or after is None:
        return f'<span class="jd-soft" title="one class only">{_figure(before)} → {_figure(after)}</span>'
    gain = (after - before) * better
    kind = "up" if gain > 0.0005 else "down" if gain < -0.0005 else "same"
    word = {"up": "better", "down": "worse", "same": "unchanged"}[kind]
    return f'<span class="jd-change" data-kind="{kind}" title="{word}"><span>{before:.2f} →</span> <b>{after:.2f}</b></span>'


def _figure(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"


def details_html(version: JudgeVersion) -> str:
    """One judge: flips in words and the flipped items, each openable."""
    found = evaluation_of(version)
    if found is None:
        return f'<p class="jd-soft">{esc(version.name)} was not evaluated by itself; every trained judge is compared with it on its own held-out rows.</p>'
    right, wrong = found.flips.get("to_right", 0), found.flips.get("to_wrong", 0)
    sample = (f" A sample of {number(found.after.rows)} of {number(found.held_out_rows)} held-out rows was judged."
              if found.held_out_rows > found.after.rows else "")
    flipped = [item for item in found.items if item.flipped]
    words = f"{plural(len(flipped), 'held-out verdict')} flipped: {right} to right, {wrong} to wrong.{sample}"
    served = served_html(version)
    if not flipped:
        return f'<p class="jd-facts">{esc(words)}</p>{served}'
    rows = [_flip_row(item, version.threshold) for item in sorted(flipped, key=lambda i: _right(i, version.threshold))]
    return f'<p class="jd-facts">{esc(words)}</p>{served}' + table(("Item", "Label", "Now", "P before", "P after"), rows, "Flipped items", words=3)


def served_html(version: JudgeVersion) -> str:
    """Whether the server serves what was trained: its P(sufficient) of one held-out item against the training's."""
    served = version.scores.get("served")
    if not isinstance(served, dict):
        return ""
    if served.get("warning"):
        return note(f"Check of the served judge: {served['warning']}.", "bad")
    server, trained = served.get("p_server"), served.get("p_transformers")
    if not isinstance(server, float) or not isinstance(trained, float):
        return ""
    return note(f"Checked when it went live: the server says P(sufficient) {server:.2f}, the trained model {trained:.2f}.")


def _right(item: ItemScore, threshold: float) -> bool:
    return (item.p_after >= threshold) == (item.label == "sufficient")


def _flip_row(item: ItemScore, threshold: float) -> tuple[str, ...]:
    now = '<span class="jd-change" data-kind="up">right</span>' if _right(item, threshold) else '<span class="jd-change" data-kind="down">wrong</span>'
    question = item.question or f"item {item.item_id}"
    return (f'<a href="annotate?item={item.item_id}&amp;seen=1">{esc(question)}</a>', tag(item.label), now, f"{item.p_before:.2f}", f"{item.p_after:.2f}")


@dataclass(frozen=True)
class Gate:
    """Whether a judge is better than the live one on held-out rows, and why, in words."""

    better: bool
    words: str


def gate(candidate: JudgeVersion, live: JudgeVersion) -> Gate:
    """Compares held-out balanced accuracy. Not known to be better counts as not better."""
    theirs, ours = evaluation_of(live), evaluation_of(candidate)
    new = accuracy(ours.after) if ours else accuracy(theirs.before) if theirs and candidate.name == ZERO_SHOT else None
    old = accuracy(theirs.after) if theirs else accuracy(ours.before) if ours and live.name == ZERO_SHOT else None
    if new is None or old is None:
        return Gate(False, f"{candidate.name} cannot be compared with {live.name}: no held-out balanced accuracy of both is known. Say why it shall go live.")
    other = (" They were measured on the held-out rows of different snapshots."
             if ours and theirs and candidate.snapshot_id != live.snapshot_id else "")
    figures = f"held-out balanced accuracy {new:.2f}, live {live.name} {old:.2f}."
    if new > old:
        return Gate(True, f"{candidate.name} is better: {figures}{other}")
    return Gate(False, f"{candidate.name} is not better: {figures}{other} It can go live all the same; say why.")


def history_html(promotions: Sequence[Promotion]) -> str:
    """All changes of the live judge, newest first."""
    if not promotions:
        return '<p class="jd-soft">No judge was promoted yet; the base model judges without an adapter (zero-shot).</p>'
    rows = [(when(p.created), esc(p.previous), esc(p.judge), esc(p.by), esc(p.reason) or "–") for p in promotions]
    return table(("When", "From", "To", "By", "Reason"), rows, "History of promotions", words=5)
