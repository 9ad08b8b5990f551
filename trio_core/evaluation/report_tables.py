"""A summary as tables."""

from __future__ import annotations

from collections.abc import Sequence

from trio_core.evaluation.stats import Estimate, Paired
from trio_core.evaluation.summary import COSTS, EntrantSummary, Summary
from trio_core.evaluation.tables import Table, table

NAMES = {
    "em": "EM", "em_careful": "EM (careful)", "f1": "F1", "f1_squad": "F1 (SQuAD)", "precision": "precision",
    "cover_sub": "Cover-EM (substring)", "cover_token_seq": "Cover-EM (token run)", "cover_token_any": "Cover-EM (any order)",
    "choice": "choice accuracy", "answer_tokens": "answer tokens", "recall_first": "recall, round 1", "recall_last": "recall, all rounds",
    "support_f1": "support F1", "support_precision": "support precision", "support_recall": "support recall", "rounds": "rounds",
    "calls": "calls", "retrievals": "retrievals", "prompt_tokens": "prompt tokens", "cached_tokens": "cached tokens",
    "completion_tokens": "written tokens", "seconds": "seconds",
}
MAIN = ("em", "f1", "f1_squad", "precision", "cover_sub", "cover_token_seq", "cover_token_any", "choice", "answer_tokens",
        "recall_first", "recall_last", "support_f1")
_COARSE = frozenset({"answer_tokens", "seconds", "prompt_tokens", "cached_tokens", "completion_tokens"})


def tables(summary: Summary) -> list[Table]:
    """All tables that have rows; the first is the main one."""
    chosen = [name for name in MAIN if any(name in e.micro for e in summary.entrants)]
    single = len(summary.datasets) < 2
    more = [] if single else [_macro(summary, chosen), *(_of_dataset(summary, d, chosen) for d in summary.datasets)]
    more += [_costs(summary), _pairs(summary), _matrix(summary), _by_type(summary), _by_hops(summary), _recall(summary)]
    more += [_rounds(summary), _reasons(summary)]
    return [_main(summary, chosen, single), *(t for t in more if t.rows)]


def _main(summary: Summary, chosen: Sequence[str], single: bool) -> Table:
    title = "Answers" if single else "Answers, micro-average (every question counts the same)"
    sets = ", ".join(f"{d} {n}" for d, n in summary.datasets.items())
    note = (f"n = {sum(summary.datasets.values())} questions ({sets}). Brackets: 95 % bootstrap over questions, {summary.draws} draws, "
            f"seed {summary.seed}. Failed runs count as wrong. Read Cover-EM beside the answer's length.")
    rows = [[e.label, e.runs, e.failed, *(shown(e.micro.get(n), n) for n in chosen)] for e in summary.entrants]
    return table(title, ["method", "runs", "failed", *(NAMES[n] for n in chosen)], rows, note)


def _macro(summary: Summary, chosen: Sequence[str]) -> Table:
    rows = [[e.label, *(shown(e.macro.get(n), n) for n in chosen)] for e in summary.entrants]
    return table("Answers, macro-average (every data set counts the same)", ["method", *(NAMES[n] for n in chosen)], rows)


def _of_dataset(summary: Summary, dataset: str, chosen: Sequence[str]) -> Table:
    own = [(e.label, e.by_dataset[dataset]) for e in summary.entrants if dataset in e.by_dataset]
    rows = [[label, *(shown(found.get(n), n) for n in chosen)] for label, found in own]
    return table(f"Answers, {dataset} (n = {summary.datasets[dataset]})", ["method", *(NAMES[n] for n in chosen)], rows)


def _costs(summary: Summary) -> Table:
    rows = [[e.label, *(shown(e.costs.get(n), n) for n in COSTS), e.unparsed] for e in summary.entrants]
    return table("Cost a question", ["method", *(NAMES[n] for n in COSTS), "unparsed outputs in all"], rows,
                 "Runs that ended by themselves. Seconds include waiting for other runs at the same time.")


def _pairs(summary: Summary) -> Table:
    header = ["method", "against", "n", "difference", "wins", "losses", "ties", "p (bootstrap)", "p (sign test)"]
    rows = [[p.first, p.second, *_tested(p.test)] for p in summary.pairs if p.test.n]
    return table(f"In pairs, {_metric(summary)}", header, rows,
                 "On the questions that both have. p values are not corrected for the number of pairs. Which questions: summary.json.")


def _tested(t: Paired) -> list[object]:
    interval = f"{t.mean:+.3f} [{t.low:+.3f}, {t.high:+.3f}]"
    return [t.n, interval, t.wins, t.losses, t.ties, f"{t.p_bootstrap:.4f}", f"{t.p_sign:.4f}"]


def _matrix(summary: Summary) -> Table:
    """Row against column: questions on which the row's method is better, and worse."""
    labels = [e.label for e in summary.entrants]
    cells = {(p.first, p.second): (p.test.wins, p.test.losses) for p in summary.pairs}
    cells |= {(b, a): (losses, wins) for (a, b), (wins, losses) in cells.items()}
    rows = [[a, *("" if a == b else "{} : {}".format(*cells[a, b]) for b in labels)] for a in labels] if len(labels) > 2 else []
    note = "Questions on which the row's method is better : worse."
    return table(f"Wins and losses, {_metric(summary)}", ["method", *labels], rows, note)


def _by_type(summary: Summary) -> Table:
    types = sorted({t for e in summary.entrants for t in e.by_type})
    rows = [[e.label, *(_counted(e.by_type.get(t)) for t in types)] for e in summary.entrants] if types else []
    return table(f"{_metric(summary)} by type of question", ["method", *types], rows)


def _by_hops(summary: Summary) -> Table:
    hops = sorted({h for e in summary.entrants for h in e.by_hops})
    rows = [[e.label, *(_counted(e.by_hops.get(h)) for h in hops)] for e in summary.entrants] if hops else []
    return table(f"{_metric(summary)} by number of hops", ["method", *map(str, hops)], rows)


def _recall(summary: Summary) -> Table:
    longest = max((len(e.recall_by_round) for e in summary.entrants), default=0)
    known = [(e.label, e.recall_by_round) for e in summary.entrants if e.recall_by_round]
    rows = [[label, *map(shown, found), *[""] * (longest - len(found))] for label, found in known]
    return table("Recall of gold passages after each round", ["method", *(f"round {n + 1}" for n in range(longest))], rows,
                 "A run that stopped earlier keeps its last recall.")


def _rounds(summary: Summary) -> Table:
    numbers = sorted({n for e in summary.entrants for n in e.rounds})
    rows = [[e.label, *(e.rounds.get(n, 0) for n in numbers)] for e in summary.entrants]
    return table("Runs by number of rounds", ["method", *map(str, numbers)], rows)


def _reasons(summary: Summary) -> Table:
    return table("Why runs stopped", ["method", "reasons"], [[e.label, _reason_list(e)] for e in summary.entrants])


def _reason_list(entrant: EntrantSummary) -> str:
    return ", ".join(f"{reason} {n}" for reason, n in entrant.reasons.items())


def _metric(summary: Summary) -> str:
    return NAMES.get(summary.metric, summary.metric)


def shown(e: Estimate | None, name: str = "") -> str:
    """A mean with its interval; tokens and seconds with one digit."""
    if e is None or e.mean is None:
        return "n/a"
    digits = 1 if name in _COARSE else 3
    return f"{e.mean:.{digits}f} [{e.low:.{digits}f}, {e.high:.{digits}f}]"


def _counted(e: Estimate | None) -> str:
    return f"{shown(e)} (n {e.n})" if e is not None and e.mean is not None else "n/a"
