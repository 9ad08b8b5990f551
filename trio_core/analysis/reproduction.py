"""The papers' figures beside ours, with n, model, corpus and retriever of both, and why they differ. Nothing here is scaled or mended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from trio_core.analysis.facts import RunFacts
from trio_core.analysis.figures import Figure, mean
from trio_core.analysis.groups import setting
from trio_core.analysis.published import Paper, PublishedFigure, published
from trio_core.analysis.sheets import Section, Sheet, cell, percent, words
from trio_core.analysis.stopping import stopping
from trio_core.analysis.switches import FIXED, NOISE
from trio_core.evaluation.stats import Estimate, micro
from trio_core.values import Value

ALIASES = {"hotpot": "hotpotqa", "hotpot_dev": "hotpotqa", "2wiki": "2wikimultihopqa", "nq": "nq_open", "gpqa_diamond": "gpqa"}
NAMES = ("2wikimultihopqa", "hotpotqa", "musique", "bamboogle", "pubmedqa", "popqa", "gpqa", "nq_open")
ABOUT = (
    "The figures of the papers beside ours. Ours are of the runs of this selection, of the model and corpus named; "
    "most are far from the papers', and "
    "the last column says what differs. Only the order of methods under one model and corpus can be compared, and "
    "only within the intervals.",
)


class Comparison(Value):
    """A published figure, and ours where the selection has runs for it."""

    published: PublishedFigure
    paper_n: int | None
    ours: Figure = Figure()
    interval: Estimate | None = None
    model: str = ""
    corpus: str = ""
    retriever: str = ""
    why: tuple[str, ...] = ()


def dataset_name(name: str) -> str:
    """The papers' name of a data set that files call differently (`hotpot_dev_distractor_v1.sample`)."""
    plain = re.sub(r"\W+", "_", name.lower()).strip("_")
    if plain in ALIASES:
        return ALIASES[plain]
    return next((known for known in NAMES if plain.startswith(known)), next((v for k, v in ALIASES.items() if plain.startswith(k)), plain))


def comparisons(runs: Sequence[RunFacts]) -> tuple[Comparison, ...]:
    """Every published figure, in the papers' order; those without runs of ours have an empty figure."""
    book = published()
    return tuple(_compare(f, book.papers[f.paper], _own(runs, f)) for f in book.figures)


def _own(runs: Sequence[RunFacts], f: PublishedFigure) -> list[RunFacts]:
    fits = [r for r in runs if r.finished and r.method == f.method and dataset_name(r.dataset) == f.dataset and f.metric in r.scores]
    for name in (FIXED, NOISE):
        wanted = f.setting_value if name == f.setting else "0"
        fits = [r for r in fits if str(setting(r, name) or 0) == wanted]
    return fits


def _compare(f: PublishedFigure, paper: Paper, own: Sequence[RunFacts]) -> Comparison:
    n = paper.n.get(f.dataset)
    if not own:
        return Comparison(published=f, paper_n=n)
    by_question: dict[tuple[str, str], list[float]] = {}
    for run in own:
        by_question.setdefault(run.question_key, []).append(run.scores[f.metric])
    interval = micro({f.dataset: [sum(v) / len(v) for v in by_question.values()]})
    return Comparison(
        published=f,
        paper_n=n,
        ours=mean((r.id, r.scores[f.metric]) for r in own),
        interval=interval,
        model=_all(r.model for r in own),
        corpus=_corpus(own),
        retriever=_all(r.retriever for r in own),
        why=_why(f, paper, own, interval, n),
    )


def _why(f: PublishedFigure, paper: Paper, own: Sequence[RunFacts], interval: Estimate, n: int | None) -> tuple[str, ...]:
    found = [f"model: {f.variant or paper.model} there"]
    sizes = [r.passages for r in own if r.passages]
    if paper.passages and sizes and max(sizes) != paper.passages:
        found.append(f"corpus: {max(sizes):,} passages here, {paper.passages:,} there")
    elif not sizes:
        found.append("corpus: not the paper's")
    if n is not None and interval.n < n:
        found.append(f"questions: {interval.n:,} of {n:,}")
    if not any(name in _all(r.retriever for r in own).lower() for name in ("e5",)):
        found.append(f"retriever: {paper.retriever} there")
    if f.method in ("trio", "search_r1", "r1_searcher", "self_rag") and f.paper == "trio":
        found.append("the paper's model is trained for the method, unless a checkpoint of it is named in our column")
    found.append("prompts are ours")
    if len({r.prompts for r in own}) > 1:
        found.append("our runs are of several prompt versions")
    return tuple(found)


def reproduction_section(runs: Sequence[RunFacts]) -> Section:
    """As a table; published figures without runs of ours are counted, not listed."""
    every = comparisons(runs)
    known = [c for c in every if c.ours.value is not None]
    rows = tuple(
        (
            words(_who(c.published)),
            words(c.published.dataset),
            words(c.published.metric),
            words(f"{c.published.value:.4f}"),
            words(c.paper_n or "–"),
            cell(c.ours, 3),
            words(_interval(c.interval)),
            words(c.interval.n if c.interval else "–"),
            words(c.model or "unknown"),
            words(c.corpus or "unknown"),
            words(c.retriever or "unknown"),
            words("; ".join(c.why)),
        )
        for c in known
    )
    header = (
        "figure",
        "data set",
        "metric",
        "paper",
        "paper's n",
        "ours",
        "95 % interval",
        "our questions",
        "our model",
        "our corpus",
        "our retriever",
        "what differs",
    )
    note = f"{len(known)} of {len(every)} published figures have runs of ours in this selection."
    sheets = [Sheet(key="reproduction", title="Papers' figures beside ours", header=header, rows=rows, note=note)] if known else []
    steps = _steps(runs)
    return Section(
        key="reproduction",
        title="Reproduction",
        about=ABOUT,
        sheets=(*sheets, *([steps] if steps.rows else [])),
        empty=f"None of the {len(every)} published figures has runs of ours in this selection: evaluate a method on HotpotQA, 2Wiki, NQ, "
        "MuSiQue, Bamboogle or PubMedQA.",
    )


def _steps(runs: Sequence[RunFacts]) -> Sheet:
    rows = []
    for s in stopping(runs):
        paper = published().steps.get(s.label.partition(" ")[0])
        if paper:
            five = [f for n, f in s.after.items() if n >= 5]
            last = Figure(value=sum(f.value or 0.0 for f in five), n=sum(f.n for f in five), runs=tuple(i for f in five for i in f.runs))
            ours = [
                ("mean", cell(s.mean, 1)),
                ("after_1", percent(s.after.get(1, Figure(value=0.0)))),
                ("after_2", percent(s.after.get(2, Figure(value=0.0)))),
                ("five_or_more", percent(last)),
            ]
            rows += [
                (
                    words(s.label),
                    words(name.replace("_", " ")),
                    words(f"{paper[name]:.1f}" if name == "mean" else f"{100 * paper[name]:.1f} %"),
                    c,
                )
                for name, c in ours
            ]
    return Sheet(
        key="steps",
        title="Stopping rounds: MAPS's plot beside ours",
        header=("method", "figure", "paper (Qwen3-32B)", "ours"),
        rows=tuple(rows),
    )


def _who(f: PublishedFigure) -> str:
    variant = f" ({f.variant})" if f.variant else ""
    return f"{f.method}{variant}, {f.setting} {f.setting_value}" if f.setting else f"{f.method}{variant}"


def _interval(e: Estimate | None) -> str:
    return f"{e.low:.3f} to {e.high:.3f}" if e is not None and e.mean is not None else "–"


def _corpus(runs: Sequence[RunFacts]) -> str:
    return _all(f"{r.corpus} ({r.passages:,} passages)" if r.passages else r.corpus for r in runs)


def _all(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(t for t in texts if t))
