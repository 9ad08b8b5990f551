"""Analyses that need embedded texts or the judge's evidence, as sections: similarity, momentum beside its null model, judge quality."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from trio_core.analysis.drift import HOLD_OUT_FROM, LEAST_ROUNDS, Drift, drift
from trio_core.analysis.facts import RunFacts
from trio_core.analysis.figures import Curve, Figure
from trio_core.analysis.judging import CASES, judge_quality
from trio_core.analysis.sheets import Cell, Plot, Point, Section, Series, Sheet, cell, points, words
from trio_core.analysis.similarity import to_gold, to_question
from trio_core.analysis.vectors import Vectors

NO_ENCODER = "Texts were not embedded, so there is nothing to compare."
CASE_WORDS = {
    "stop_right": "stop, right",
    "too_early": "stop, too early",
    "go_on_right": "go on, right",
    "too_late": "go on, too late",
    "unparsed": "unparsed",
}
OUTCOME_WORDS = {
    "right": "stopped right",
    "too_early": "stopped too early",
    "too_late": "stopped too late or never",
    "never_complete": "evidence never complete, never stopped",
}
NULL_MODEL = (
    "Read this before the figures. Momentum is a weighted sum of the steps from one sub-query to the next; alignment "
    "is the cosine between the momentum "
    "after round t and the way from the question to the next sub-query. But that way is itself the sum of the same "
    "steps. So alignment rises with the "
    "round even if every step goes in a direction drawn at random: for steps of one length it comes near the root of "
    "t / (t + 1), which is 0.71, 0.82, "
    "0.87, …, and the fitted weights beta rise with it (0, 1/2, 2/3, …).",
    "The dashed lines are that null model: random walks with the step lengths of these very runs, fitted in the same "
    "way. Only what differs from them "
    "says something about the runs, and then about how smooth and predictable the search is, not whether it leaves "
    "the question: MAPS's own alignment "
    "is higher than Search-o1's in the paper. This is no alarm for drift; for that look at the similarity to the "
    "gold evidence and to the question.",
)


def similarity_section(runs: Sequence[RunFacts], vectors: Vectors | None, texts: Mapping[str, Mapping[str, str]]) -> Section:
    """To gold evidence, and to the question."""
    gold = to_gold(runs, vectors, texts) if vectors else ()
    question = to_question(runs, vectors) if vectors else ()
    with_gold = [r for r in runs if r.finished and r.gold]
    wanted, known = sum(len(r.gold) for r in with_gold), sum(len(texts.get(r.id, {})) for r in with_gold)
    note = (
        f"Cosines of {vectors.name if vectors else ''}. In brackets: runs that have the round. The text of {known:,} of "
        f"{wanted:,} gold passages is "
        "known. Later rounds are of fewer and harder questions: compare methods within a round, and mind n."
    )
    sheets = [
        _curves("to_gold", "Sub-queries to gold evidence", gold, note),
        _curves("to_question", "Sub-queries to the question", question, note),
    ]
    plots = [_plot("Similarity to gold evidence", gold), _plot("Similarity to the question", question)]
    return Section(
        key="similarity",
        title="Do sub-queries stay near the evidence?",
        empty="No run of this selection searched." if vectors else NO_ENCODER,
        about=(
            "Mean cosine between each round's sub-queries and every gold passage of the question, then between the "
            "sub-queries and the question itself. "
            "These are the drift measures that hold up: in the MAPS paper Search-o1 falls from about 0.79 to 0.76 with E5, "
            "MAPS stays near 0.80. "
            "Cosines of one encoder crowd in a narrow band; do not compare them with another encoder's.",
        ),
        sheets=tuple(s for s in sheets if s.rows),
        plots=tuple(p for p in plots if p.series),
    )


def _curves(key: str, title: str, curves: Sequence[Curve], note: str) -> Sheet:
    longest = max((len(c.points) for c in curves), default=0)
    rows = tuple((words(c.label), *(cell(p, 3, True) for p in c.points), *[words("")] * (longest - len(c.points))) for c in curves)
    return Sheet(key=key, title=title, header=("method", *(f"round {n + 1}" for n in range(longest))), rows=rows, note=note)


def _plot(title: str, curves: Sequence[Curve]) -> Plot:
    names = [str(n + 1) for n in range(max((len(c.points) for c in curves), default=0))]
    return Plot(
        title=title,
        kind="lines",
        x="search round",
        y="mean cosine",
        series=tuple(Series(label=c.label, points=points(names, c.points)) for c in curves),
    )


def momentum_section(runs: Sequence[RunFacts], vectors: Vectors | None) -> Section:
    """Alignment and offset beside random walks."""
    found = drift(runs, vectors) if vectors else ()
    return Section(
        key="momentum",
        title="Search momentum, beside random steps",
        about=NULL_MODEL,
        empty=f"No run of this selection has {LEAST_ROUNDS} search rounds with new sub-queries." if vectors else NO_ENCODER,
        plots=_momentum_plots(found),
        sheets=(_alignment_sheet(found), _offset_sheet(found)) if found else (),
    )


def _momentum_plots(found: Sequence[Drift]) -> tuple[Plot, ...]:
    if not found:
        return ()
    lines = [Series(label=d.label, points=_points(d.alignment.means, d.alignment.counts, d.runs)) for d in found]
    lines += [
        Series(label=f"random steps like {d.label}", points=_points(d.null.means[: len(d.alignment.means)], d.null.counts, ()), dashed=True)
        for d in found
    ]
    offset = [Series(label=d.label, points=_points(d.offset, d.counts, d.runs)) for d in found]
    return (
        Plot(title="Momentum alignment S_t", kind="lines", x="step t", y="mean cosine", series=tuple(lines)),
        Plot(title="Cumulative offset of cos(m_t, question)", kind="lines", x="step t", y="sum of changes", series=tuple(offset)),
    )


def _points(values: Sequence[float], counts: Sequence[int], runs: tuple[str, ...]) -> tuple[Point, ...]:
    return tuple(Point(x=str(n + 1), y=None if math.isnan(v) else v, n=counts[n], runs=runs) for n, v in enumerate(values))


def _alignment_sheet(found: Sequence[Drift]) -> Sheet:
    longest = max(len(d.alignment.means) for d in found)
    rows: list[tuple[Cell, ...]] = []
    for d in found:
        lines = (
            ("S_t", d.alignment.means),
            ("S_t of random steps", d.null.means),
            ("its limit for steps of one length", d.theory),
            ("fitted beta", d.alignment.betas),
            ("beta of random steps", d.null.betas),
        )
        for what, values in lines:
            own = d.runs if what in ("S_t", "fitted beta") else ()
            rows.append(
                (
                    words(d.label),
                    words(what),
                    *(_number(v, own) for v in values[:longest]),
                    *[words("")] * (longest - len(values[:longest])),
                )
            )
        rows.append(
            (
                words(d.label),
                words("trajectories"),
                *(Cell(text=str(n), runs=d.runs) for n in d.alignment.counts),
                *[words("")] * (longest - len(d.alignment.counts)),
            )
        )
    held = "; ".join(
        f"{d.label}: "
        f"{'fitted on ' + str(d.alignment.fitted_on) + ' other questions' if d.alignment.held_out else 'fitted on the same runs'}"
        for d in found
    )
    return Sheet(
        key="alignment",
        title="Momentum alignment",
        header=("method", "figure", *(f"t = {n + 1}" for n in range(longest))),
        rows=tuple(rows),
        note=f"{held}. "
        f"From {HOLD_OUT_FROM} trajectories on, half of the questions are fitted and the other half reported. beta_1 has no effect.",
    )


def _offset_sheet(found: Sequence[Drift]) -> Sheet:
    longest = max(len(d.offset) for d in found)
    rows = tuple(
        (words(d.label), words(what), *(_number(v, d.runs) for v in values), *[words("")] * (longest - len(values)))
        for d in found
        for what, values in (("signed", d.offset), ("in size", d.absolute))
    )
    return Sheet(
        key="offset",
        title="Cumulative offset",
        header=("method", "changes", *(f"t = {n + 1}" for n in range(longest))),
        rows=rows,
        note="Changes of cos(m_t, question) from round to round, added up. The paper does not say "
        "whether it takes their sizes; signed, the "
        "sum is just the last cosine minus the first.",
    )


def _number(value: float, runs: tuple[str, ...]) -> Cell:
    return words("–") if math.isnan(value) else Cell(text=f"{value:.3f}", runs=runs)


def judge_section(runs: Sequence[RunFacts]) -> Section:
    """Verdicts against evidence by round; outcomes against answers."""
    found = judge_quality(runs)
    by_round = tuple(
        (words(_judge(q.label, q.judge, q.deciding)), words(part.round), *(_count(part.cases[c]) for c in CASES))
        for q in found
        for part in q.rounds
    )
    answers = tuple(
        (words(_judge(q.label, q.judge, q.deciding)), words(OUTCOME_WORDS[o.outcome]), _count(o.all), _count(o.right), _count(o.wrong))
        for q in found
        for o in q.outcomes
    )
    overall = ", ".join(
        f"{_judge(q.label, q.judge, q.deciding)} {q.agreement:.0%} of {q.verdicts}" for q in found if q.agreement is not None
    )
    return Section(
        key="judge",
        title="Judge quality inside runs",
        empty="No run of this selection has verdicts and known gold passages.",
        about=(
            "Each verdict against the gold evidence in the pool that the judge read: complete, or something missing. Too "
            "early = it stopped while gold "
            "passages were missing; too late = it went on though all were there. This rule is stricter than TRIO's own label "
            "(can the answer agent "
            "answer?): another passage may hold the answer too.",
        ),
        sheets=(
            Sheet(
                key="judge_rounds",
                title="Verdicts by round",
                header=("method and judge", "round", *(CASE_WORDS[c] for c in CASES)),
                rows=by_round,
                note=f"Verdicts that fit the evidence: {overall}." if overall else "",
            ),
            Sheet(
                key="judge_answers",
                title="Where the judge stopped, and the answer",
                rows=answers,
                header=("method and judge", "the judge", "runs", "answer right", "answer wrong"),
                note="Exact match of the run's answer. A shadow judge stopped nothing: its rows say what it would have done. "
                "Never complete, never stopped: rightly, as far as the gold evidence says.",
            ),
        )
        if found
        else (),
    )


def _judge(label: str, name: str, deciding: bool) -> str:
    return f"{label}, {name or 'judge'}{'' if deciding else ' (shadow)'}"


def _count(figure: Figure) -> Cell:
    return Cell(text=str(figure.n), runs=figure.runs)
