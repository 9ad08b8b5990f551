"""Judge versions in HTML: which is live, scores before and after, flipped items, a head's weights, history."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from storage.values import ZERO_SHOT, JudgeVersion, Promotion
from training.gate_values import GateReport
from training.values import Evaluation, ItemScore, Scores
from trio_core.judge_head import FEATURES, JudgeHead
from ui.render.base import esc, number, plural
from ui.render.item import tag
from ui.render.judge import LABELS, judge_words, note, state_badge, table, when
from ui.render.judge_gate import gate_html

HEADS = ("Judge", "State", "Gate", "Snapshot", "Held-out rows", "Balanced accuracy", "F1 sufficient", "F1 insufficient", "Kappa", "AUROC", "ECE", "Threshold")


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
            + '<p class="jd-soft">“Before” is the judge that it was made from, on the same rows. AUROC and ECE need no threshold; ECE: lower is better.</p>')


def _version_row(version: JudgeVersion) -> tuple[str, ...]:
    found = evaluation_of(version)
    snapshot = f"#{version.snapshot_id}" if version.snapshot_id else "–"
    kind = _kind(version)
    name = f'<b>{esc(version.name)}</b><br><span class="jd-soft" title="{esc(version.base_model or "no adapter")}">{esc(kind)}</span>'
    if found is None:
        why = "the base model" if version.name == ZERO_SHOT else "not evaluated"
        return (name, state_badge(version.state), gate_badge(version), snapshot, f'<span class="jd-soft">{why}</span>', *["–"] * 6,
                f"{version.threshold:.2f}")
    before, after = found.before, found.after
    return (name, state_badge(version.state), gate_badge(version), snapshot, _held_out(found), _change(accuracy(before), accuracy(after)),
            _change(before.f1_sufficient_tuned, after.f1_sufficient_tuned), _change(before.f1_insufficient_tuned, after.f1_insufficient_tuned),
            _change(before.kappa_tuned, after.kappa_tuned), _change(before.auroc, after.auroc), _change(before.ece, after.ece, better=-1),
            f"{version.threshold:.2f}")


def _kind(version: JudgeVersion) -> str:
    return judge_words("model" if version.name == ZERO_SHOT else version.kind, version.parent)


def gate_badge(version: JudgeVersion) -> str:
    """Whether the gate was passed, and against whom. It need not be the judge that is live now."""
    gate = version.gate
    if not gate:
        return '<span class="jd-soft">–</span>' if version.name == ZERO_SHOT else '<span class="jd-soft">not run</span>'
    passed = bool(gate.get("passed"))
    said = "passed" if passed else "failed"
    return (f'<span class="jd-gate" data-passed="{str(passed).lower()}">{said}</span><br>'
            f'<span class="jd-soft">against {esc(gate.get("live", "?"))}</span>')


def live_html(live: JudgeVersion, promotions: Sequence[Promotion]) -> str:
    """Which judge decides now, since when and by whose act."""
    kind = _kind(live)
    last = promotions[0] if promotions else None
    since = f" · since {when(last.created)} by {esc(last.by)}" if last else " · from the beginning"
    why = f" · “{esc(last.reason)}”" if last and last.reason else ""
    return (f'<p class="jd-live"><span class="jd-state" data-state="live">live</span> <b>{esc(live.name)}</b> '
            f'<span class="jd-soft">{esc(kind)} · threshold {live.threshold:.2f}{since}{why}</span></p>')


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


def details_html(version: JudgeVersion, report: GateReport | None = None) -> str:
    """One judge: its gate report, else its own evaluation; what a head reads; whether the server serves what was trained."""
    shown = gate_html(report) if report is not None else evaluation_html(version)
    return shown + served_html(version) + head_html(version)


def head_html(version: JudgeVersion) -> str:
    """What a calibrated head reads and how it weighs it; empty for other judges."""
    try:
        head = JudgeHead.model_validate(version.head) if version.head else None
    except ValidationError:
        return note("This head cannot be read; it was made by another version of Trioscope.", "bad")
    if head is None:
        return ""
    weights = sorted(zip(head.features, head.coefficients, strict=True), key=lambda pair: -abs(pair[1]))
    rows = [(esc(FEATURES[name]), f'<code>{esc(name)}</code>', f"{weight:+.2f}") for name, weight in weights]
    calls = f" It samples {plural(head.samples, 'answer')} for each verdict: calls at run time." if head.samples else " It needs no call beside the judge's."
    shown = table(("Signal", "Name", "Weight"), rows, f"Fitted on {head.rows} labels", words=2)
    return (f'<details class="jd-more"><summary>What the head reads</summary>{shown}'
            f'<p class="jd-soft">Weight: change of the log-odds of “sufficient” for one standard deviation.{calls}</p></details>')


def evaluation_html(version: JudgeVersion) -> str:
    """Flips in words and the flipped items, each openable."""
    found = evaluation_of(version)
    if found is None:
        return f'<p class="jd-soft">{esc(version.name)} was not evaluated by itself; every trained judge is compared with it on its own held-out rows.</p>'
    right, wrong = found.flips.get("to_right", 0), found.flips.get("to_wrong", 0)
    sample = (f" A sample of {number(found.after.rows)} of {number(found.held_out_rows)} held-out rows was judged."
              if found.held_out_rows > found.after.rows else "")
    flipped = [item for item in found.items if item.flipped]
    notes = "".join(f'<p class="jd-soft">{esc(note[:1].upper() + note[1:])}.</p>' for note in version.scores.get("notes") or () if isinstance(note, str))
    words = f"{plural(right + wrong, 'held-out verdict')} flipped: {right} to right, {wrong} to wrong.{sample}"
    if not flipped:
        return f'<p class="jd-facts">{esc(words)}</p>{notes}'
    rows = [_flip_row(item, version.threshold) for item in sorted(flipped, key=lambda i: _right(i, version.threshold))]
    return f'<p class="jd-facts">{esc(words)}</p>{notes}' + table(("Item", "Label", "Now", "P before", "P after"), rows, "Flipped items", words=3)


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


def history_html(promotions: Sequence[Promotion]) -> str:
    """All changes of the live judge, newest first."""
    if not promotions:
        return '<p class="jd-soft">No judge was promoted yet; the base model judges without an adapter (zero-shot).</p>'
    rows = [(when(p.created), esc(p.previous), esc(p.judge), esc(p.by), esc(p.reason) or "–") for p in promotions]
    return table(("When", "From", "To", "By", "Reason"), rows, "History of promotions", words=5)
