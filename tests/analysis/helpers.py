"""Runs made of a few words a round, as facts or in a store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from trio_core.analysis.facts import RunFacts, run_facts
from trio_core.events import (
    Answered,
    Hidden,
    LLMCalled,
    Retrieved,
    RetrievedHit,
    RoundStarted,
    RunFinished,
    RunStarted,
    StateSaved,
    StoredEvent,
    SubQueries,
    Totals,
    Verdict,
)
from trio_core.runs import EvaluationMark, RunInfo, RunRequest
from trio_core.values import Gold, Hit, JudgeItem, Message, Passage, PoolEntry, SubQuery, Usage

NOW = datetime(2026, 11, 30, tzinfo=UTC)


class R(NamedTuple):
    """A round: its sub-queries, what each found (ids, one text a query: "a b"), and the verdict."""

    queries: tuple[str, ...]
    found: tuple[str, ...] = ()
    verdict: str = ""


def events(
    rounds: Sequence[R],
    question: str = "Who made it?",
    method: str = "trio",
    gold: str = "",
    answer: str = "Delft",
    em: float | None = 1.0,
    hidden: int = 0,
    deciding: bool = True,
    **settings: Any,
) -> list[StoredEvent]:
    """All events of a run that ended by itself."""
    known = Gold(answers=("Delft",), passage_ids=tuple(gold.split()))
    made: list[StoredEvent] = [
        RunStarted(
            question=question,
            method=method,
            settings=settings,
            gold=known,
            prompt_version="v1",
            index={"kind": "bm25", "corpus": "demo", "passages": 60},
        )
    ]
    pool: list[PoolEntry] = []
    kept = (Hidden(what="passages", count=2, tokens=hidden),) if hidden else ()
    for number, r in enumerate(rounds, 1):
        made += [RoundStarted(round=number), SubQueries(round=number, queries=tuple(SubQuery(text=q) for q in r.queries))]
        for at, ids in enumerate(r.found):
            hits = tuple(
                Hit(passage=Passage(id=i, title=f"T{i}", text=f"text of {i}"), score=1.0, rank=n + 1) for n, i in enumerate(ids.split())
            )
            pool.append(PoolEntry(query=r.queries[at], hits=hits))
            made.append(
                Retrieved(
                    round=number,
                    query_index=at,
                    query=r.queries[at],
                    k=5,
                    hits=tuple(RetrievedHit(**h.model_dump(), first_seen_round=number) for h in hits),
                )
            )
        made.append(
            LLMCalled(
                round=number,
                role="query",
                messages=(Message(role="user", content="q"),),
                hidden=kept,
                raw="x",
                model="m",
                usage=Usage(prompt_tokens=100 * number),
            )
        )
        if r.verdict:
            item = JudgeItem(question=question, pool=tuple(pool), messages=())
            made.append(
                Verdict.model_validate(
                    {"round": number, "label": r.verdict, "p_sufficient": 0.6, "judged_by": "zero-shot", "deciding": deciding, "item": item}
                )
            )
        made.append(StateSaved(round=number, state={}, tokens=10 * number, hidden=kept))
    made += [
        Answered(answer=answer, scores=None if em is None else {"em": em, "f1": em}),
        RunFinished(reason="judge", totals=Totals(rounds=len(rounds), calls=len(rounds))),
    ]
    return [e.model_copy(update={"seq": n, "t": float(n)}) for n, e in enumerate(made)]


def facts(rounds: Sequence[R], run_id: str = "r", dataset: str = "d", question_id: str = "", **more: Any) -> RunFacts:
    """The same run as the analyses read it."""
    made = events(rounds, **more)
    request = RunRequest(question=made[0].question, method=made[0].method)  # type: ignore[union-attr]
    return run_facts(
        RunInfo(
            id=run_id,
            question=request.question,
            method=request.method,
            status="finished",
            origin="batch",
            dataset=dataset,
            question_id=question_id,
            created=NOW,
            request=request,
        ),
        made,
    )


def store_run(store: Any, rounds: Sequence[R], dataset: str = "musique", question_id: str = "q1", evaluation: str = "", **more: Any) -> str:
    """Stores the run; its id."""
    made = events(rounds, **more)
    mark = EvaluationMark(id=evaluation, label=made[0].method) if evaluation else None  # type: ignore[union-attr]
    run_id = store.create_run(
        RunRequest(
            question=made[0].question,
            method=made[0].method,
            dataset=dataset,
            question_id=question_id,  # type: ignore[union-attr]
            origin="batch" if evaluation else "live",
            group=evaluation,
            evaluation=mark,
        )
    )
    store.append_all(run_id, made)
    return str(run_id)


def fill(store: Any, evaluation: str = "eval-a") -> None:
    """TRIO with one and three and MAPS with three rounds over six questions, flexible and with fixed rounds."""
    for n in range(6):
        question = f"Where was the maker of number {n} born?"
        three = (
            R((question,), ("p1 p2",), "insufficient"),
            R((f"maker of number {n}",), ("p2 p3",), "insufficient"),
            R((f"birthplace of maker {n}",), ("p4 g1",), "sufficient"),
        )
        own = {"question": question, "question_id": f"q{n}", "evaluation": evaluation, "gold": "g1 p1"}
        store_run(store, three[: 1 + n % 3], em=float(n % 2), **own)
        store_run(store, three[:1], em=0.0, fixed_rounds=1, **own)
        maps = (
            R((f"maker {n}", f"birth of {n}"), ("p1 p5", "p6"), "insufficient"),
            R((f"born in {n}", f"maker {n} town"), ("p1", "g1"), "sufficient"),
            R((f"town of maker {n}", f"maker {n} town"), ("p7", "p7"), "sufficient"),
        )
        store_run(store, maps, method="maps", hidden=120, deciding=False, em=1.0, **own)
