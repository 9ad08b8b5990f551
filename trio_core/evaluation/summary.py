"""Figures from rows: averages with intervals, tests in pairs, breakdowns. Failed runs count as wrong and are counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean

from trio_core.evaluation.rows import ANSWER_METRICS, SUPPORT
from trio_core.evaluation.stats import DRAWS, Estimate, Paired, macro, micro, paired
from trio_core.evaluation.values import Row
from trio_core.values import Value

METRICS = (*ANSWER_METRICS, "answer_tokens", "recall_first", "recall_last", *SUPPORT)
COSTS = ("rounds", "calls", "retrievals", "prompt_tokens", "cached_tokens", "completion_tokens", "seconds")

Strata = dict[str, list[float]]


class EntrantSummary(Value):
    """One entrant over all its rows."""

    label: str
    questions: int
    runs: int
    failed: int
    unparsed: int
    micro: dict[str, Estimate]
    """Over all questions alike (TRIO's AVG is one of these)."""
    macro: dict[str, Estimate]
    """Mean of the data sets' means."""
    by_dataset: dict[str, dict[str, Estimate]]
    costs: dict[str, Estimate]
    """A question, runs that ended by themselves only; micro."""
    rounds: dict[int, int]
    """Runs by their number of rounds."""
    reasons: dict[str, int]
    """Why runs stopped."""
    by_type: dict[str, Estimate]
    """The main metric by kind of question, and by number of hops."""
    by_hops: dict[int, Estimate]
    recall_by_round: tuple[Estimate, ...]
    """Mean recall of gold passages after each round; a run that stopped earlier keeps its last."""


class Pair(Value):
    """Two entrants on the same questions, by the main metric, with the questions on which they differ."""

    first: str
    second: str
    test: Paired
    won: tuple[str, ...]
    """`dataset/question id` where the first is better."""
    lost: tuple[str, ...]


class Summary(Value):
    """All figures of an evaluation."""

    metric: str
    """The main metric: of pairs and breakdowns."""
    draws: int
    seed: int
    datasets: dict[str, int]
    """Questions by data set."""
    entrants: tuple[EntrantSummary, ...]
    pairs: tuple[Pair, ...]


def summarize(rows: Iterable[Row], metric: str = "em", draws: int = DRAWS, seed: int = 0) -> Summary:
    """Figures of rows (one a job: `rows.latest`). Entrants and sets stand in order of appearance."""
    by_label: defaultdict[str, list[Row]] = defaultdict(list)
    questions: dict[tuple[str, str], None] = {}
    for row in rows:
        by_label[row.label].append(row)
        questions[(row.dataset, row.question_id)] = None
    return Summary(
        metric=metric, draws=draws, seed=seed, datasets=dict(Counter(dataset for dataset, _ in questions)),
        entrants=tuple(_entrant(label, own, metric, draws, seed) for label, own in by_label.items()),
        pairs=tuple(_pair(a, b, by_label[a], by_label[b], metric, draws, seed) for a, b in combinations(by_label, 2)),
    )


def value_of(row: Row, name: str) -> float | None:
    """A metric of a row; null where it does not apply (no gold, no choices)."""
    if name == "recall_first":
        return row.recall[0] if row.recall else None
    if name == "recall_last":
        return row.recall[-1] if row.recall else None
    return row.scores.get(name)


def _metric(name: str) -> Callable[[Row], float | None]:
    return lambda row: value_of(row, name)


def _field(name: str) -> Callable[[Row], float | None]:
    return lambda row: float(getattr(row, name))


def by_question(rows: Iterable[Row], value: Callable[[Row], float | None]) -> dict[tuple[str, str], float]:
    """(data set, question) -> mean over the repeats that have a value."""
    found: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        if (number := value(row)) is not None:
            found[(row.dataset, row.question_id)].append(number)
    return {key: fmean(values) for key, values in found.items()}


def strata(values: Mapping[tuple[str, str], float]) -> Strata:
    """Values of questions by data set."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for (dataset, _), value in values.items():
        found[dataset].append(value)
    return dict(found)


def _entrant(label: str, rows: list[Row], metric: str, draws: int, seed: int) -> EntrantSummary:
    ended = [r for r in rows if r.finished]
    per_metric = {name: s for name in METRICS if (s := strata(by_question(rows, _metric(name))))}
    datasets = list(dict.fromkeys(r.dataset for r in rows))

    def group(chosen: Sequence[Row]) -> Estimate:
        return micro(strata(by_question(chosen, _metric(metric))), draws, seed)

    return EntrantSummary(
        label=label, questions=len({(r.dataset, r.question_id) for r in rows}), runs=len(rows), failed=len(rows) - len(ended),
        unparsed=sum(r.unparsed for r in rows),
        micro={name: micro(s, draws, seed) for name, s in per_metric.items()},
        macro={name: macro(s, draws, seed) for name, s in per_metric.items()},
        by_dataset={d: {name: micro({d: s[d]}, draws, seed) for name, s in per_metric.items() if d in s} for d in datasets},
        costs={name: micro(strata(by_question(ended, _field(name))), draws, seed) for name in COSTS},
        rounds=dict(sorted(Counter(r.rounds for r in ended).items())),
        reasons=dict(Counter(r.reason if r.finished else r.status for r in rows).most_common()),
        by_type={t: group([r for r in rows if r.type == t]) for t in sorted({r.type for r in rows if r.type})},
        by_hops={h: group([r for r in rows if r.hops == h]) for h in sorted({r.hops for r in rows if r.hops})},
        recall_by_round=_recall(rows, draws, seed),
    )


def _recall(rows: list[Row], draws: int, seed: int) -> tuple[Estimate, ...]:
    longest = max((len(r.recall) for r in rows), default=0)

    def at(number: int) -> Callable[[Row], float | None]:
        return lambda r: r.recall[min(number, len(r.recall) - 1)] if r.recall else None

    return tuple(micro(strata(by_question(rows, at(n))), draws, seed) for n in range(longest))


def _pair(first: str, second: str, a: list[Row], b: list[Row], metric: str, draws: int, seed: int) -> Pair:
    ours, theirs = (by_question(rows, _metric(metric)) for rows in (a, b))
    shared = [key for key in ours if key in theirs]
    return Pair(
        first=first, second=second, test=paired([ours[k] for k in shared], [theirs[k] for k in shared], draws, seed),
        won=tuple("/".join(k) for k in shared if ours[k] > theirs[k]), lost=tuple("/".join(k) for k in shared if ours[k] < theirs[k]),
    )
