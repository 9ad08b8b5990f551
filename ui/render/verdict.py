"""A verdict: word, shape, bar with threshold; never colour alone."""

from __future__ import annotations

from trio_core.events import Verdict
from trio_core.judge_head import FEATURES
from trio_core.values import Gold
from ui.render.base import esc, label, plural
from ui.render.chunks import token

SHAPES = {"sufficient": "●", "insufficient": "◐", "unparsed": "◌"}
CLASSES = {"sufficient": "s", "insufficient": "i", "unparsed": "u"}
WORDS = {"sufficient": "Sufficient", "insufficient": "Insufficient", "unparsed": "Unparsed"}


def verdict_html(verdict: Verdict, gold: Gold | None, slot: str) -> str:
    """The section of a verdict. `slot` names the place for the correction."""
    judged = " ".join(sorted(token(i) for i in verdict.item.passage_ids))
    right = f"judge {verdict.judged_by}" if verdict.deciding else f"shadow judge {verdict.judged_by} · decides nothing"
    kind = CLASSES[verdict.label]
    return (
        f'<section class="sec" data-k="v">{label("Verdict", right)}<div class="vrow"><div class="v" tabindex="0" data-judged="{judged}">'
        f'<span class="b {kind}"><span aria-hidden="true">{SHAPES[verdict.label]}</span> {WORDS[verdict.label]}</span>'
        f"{_bar(verdict, kind)}{_hints(verdict, gold)}</div>{_signals(verdict)}"
        f'<div class="slot" data-slot="{esc(slot)}"></div></div></section>'
    )


def _bar(verdict: Verdict, kind: str) -> str:
    p = verdict.p_sufficient
    if p is None:
        return '<span class="facts">no probability from this server</span>'
    about = f"P(sufficient) {p:.3f}, threshold {verdict.threshold:.2f}, read as {verdict.p_method}"
    return (
        f'<span class="m {kind}" role="img" aria-label="{esc(about)}" title="{esc(about)}"><span style="width:{100 * p:.1f}%"></span>'
        f'<em style="left:{100 * verdict.threshold:.1f}%"></em></span><span class="facts">p {p:.2f}</span>'
    )


def _signals(verdict: Verdict) -> str:
    """What a calibrated head read; empty where the judge decided alone."""
    if verdict.signals is None:
        return ""
    own = f" The model's own P(sufficient) was {verdict.p_raw:.2f}." if verdict.p_raw is not None else ""
    rows = "".join(f"<tr><td>{esc(FEATURES.get(name, name))}</td><td>{value:.3g}</td></tr>" for name, value in verdict.signals.items())
    return (f'<details class="more" data-k="signals"><summary>calibrated head, {plural(len(verdict.signals), "signal")}</summary>'
            f'<p class="hid">P(sufficient) is the head\'s, of these signals.{own}</p><table>{rows}</table></details>')


def _hints(verdict: Verdict, gold: Gold | None) -> str:
    hints = []
    if hint := gold_hint(verdict, gold):
        hints.append(hint)
    if verdict.mass is not None and verdict.mass < 0.5:
        hints.append(f"weak: only {verdict.mass:.0%} of the probability is on the two labels")
    if verdict.note:
        hints.append(verdict.note)
    return f'<span class="facts hint">{esc(" · ".join(hints))}</span>' if hints else ""


def gold_hint(verdict: Verdict, gold: Gold | None) -> str:
    """How much of the known evidence the judge had before it."""
    if gold is None:
        return ""
    if not gold.answerable:
        return "gold: the corpus does not hold the answer"
    known = set(gold.passage_ids)
    if not known:
        return ""
    missing = len(known - verdict.item.passage_ids)
    return f"gold: {missing} of {len(known)} passages missing" if missing else f"gold: all {len(known)} passages found"
