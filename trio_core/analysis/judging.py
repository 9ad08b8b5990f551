"""Judge quality inside runs: verdicts against the gold evidence in the pool that the judge read, and the answers that followed.

"Complete" = every gold passage of the question is in the pool. This is stricter than TRIO's own label (can the answer agent
answer?): another passage may hold the answer too, and a model may know it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from trio_core.analysis.facts import JudgeWord, RunFacts
from trio_core.analysis.figures import Figure, count
from trio_core.analysis.groups import by_label
from trio_core.values import Value

Case = Literal["stop_right", "too_early", "go_on_right", "too_late", "unparsed"]
CASES: tuple[Case, ...] = ("stop_right", "too_early", "go_on_right", "too_late", "unparsed")
Outcome = Literal["right", "too_early", "too_late", "never_complete"]
OUTCOMES: tuple[Outcome, ...] = ("right", "too_early", "too_late", "never_complete")


class RoundVerdicts(Value):
    """Verdicts on one round of all runs of a group, by case."""

    round: int
    cases: dict[Case, Figure]


class OutcomeAnswers(Value):
    """Runs with one outcome: all, and those whose answer was right or wrong (exact match; only where an answer is known)."""

    outcome: Outcome
    all: Figure
    right: Figure
    wrong: Figure


class JudgeQuality(Value):
    """One group and the judge in it. A shadow judge (`deciding` false) stopped nothing: its outcomes say what it would have done."""

    label: str
    judge: str
    deciding: bool
    rounds: tuple[RoundVerdicts, ...]
    outcomes: tuple[OutcomeAnswers, ...]
    agreement: float | None
    """Share of the readable verdicts that fit the evidence."""
    verdicts: int


def case_of(word: JudgeWord) -> Case:
    """What a verdict is against the evidence."""
    if word.label == "unparsed":
        return "unparsed"
    if word.label == "sufficient":
        return "stop_right" if word.evidence_complete else "too_early"
    return "too_late" if word.evidence_complete else "go_on_right"


def outcome_of(words: Sequence[JudgeWord]) -> Outcome:
    """Of a run: where the judge first says sufficient against the first verdict with complete evidence.

    `too_late` is also a judge that never says so although all is there; `never_complete` one that rightly never does.
    """
    stop = next((n for n, w in enumerate(words) if w.label == "sufficient"), None)
    complete = next((n for n, w in enumerate(words) if w.evidence_complete), None)
    if stop is None:
        return "never_complete" if complete is None else "too_late"
    if complete is None or stop < complete:
        return "too_early"
    return "right" if stop == complete else "too_late"


def judge_quality(runs: Iterable[RunFacts]) -> tuple[JudgeQuality, ...]:
    """Runs with verdicts and gold passages, by group, judge and whether it decides."""
    found = []
    for label, own in by_label(r for r in runs if r.finished).items():
        judges = dict.fromkeys((w.judged_by, w.deciding) for r in own for _, w in _words(r))
        found += [_quality(label, name, deciding, own) for name, deciding in judges]
    return tuple(found)


def _words(run: RunFacts) -> list[tuple[int, JudgeWord]]:
    return [(s.number, s.verdict) for s in run.steps if s.verdict is not None and s.verdict.evidence_complete is not None]


def _quality(label: str, name: str, deciding: bool, runs: Sequence[RunFacts]) -> JudgeQuality:
    words = {r.id: [(n, w) for n, w in _words(r) if (w.judged_by, w.deciding) == (name, deciding)] for r in runs}
    judged = [(i, n, case_of(w)) for i, own in words.items() for n, w in own]
    rounds = tuple(
        RoundVerdicts(round=number, cases={c: count(i for i, n, case in judged if (n, case) == (number, c)) for c in CASES})
        for number in sorted({n for _, n, _ in judged})
    )
    outcomes = {i: outcome_of([w for _, w in own]) for i, own in words.items() if own}
    fits = [case in ("stop_right", "go_on_right") for _, _, case in judged if case != "unparsed"]
    return JudgeQuality(
        label=label,
        judge=name,
        deciding=deciding,
        rounds=rounds,
        verdicts=len(judged),
        agreement=sum(fits) / len(fits) if fits else None,
        outcomes=tuple(_answers(o, [r for r in runs if outcomes.get(r.id) == o]) for o in OUTCOMES),
    )


def _answers(outcome: Outcome, runs: Sequence[RunFacts]) -> OutcomeAnswers:
    known = [r for r in runs if "em" in r.scores]
    return OutcomeAnswers(
        outcome=outcome,
        all=count(r.id for r in runs),
        right=count(r.id for r in known if r.scores["em"] >= 1),
        wrong=count(r.id for r in known if r.scores["em"] < 1),
    )
