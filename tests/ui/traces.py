"""Runs made of one text: every field that holds text holds this one."""

from __future__ import annotations

from datetime import UTC, datetime

from storage.values import StoredLabel
from trio_core.events import (
    Answered,
    BaseEvent,
    Directions,
    Hidden,
    Knowledge,
    LLMCalled,
    Retrieved,
    RetrievedHit,
    RoundStarted,
    RunFailed,
    RunFinished,
    RunStarted,
    StateSaved,
    SubQueries,
    Totals,
    Verdict,
)
from trio_core.runs import RunInfo, RunRequest
from trio_core.trace import Trace, trace_of
from trio_core.values import Gold, Hit, JudgeItem, Message, Passage, PoolEntry, SubQuery, Usage

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def passage(text: str, id_: str = "p1") -> Passage:
    return Passage(id=id_, title=text, text=text)


def call(text: str, role: str = "plan") -> LLMCalled:
    return LLMCalled(
        round=1, role=role, messages=(Message(role="user", content=text),), hidden=(Hidden(what=text, count=2, tokens=9),), dropped=(text,),
        raw=text, reasoning=text, parse="repaired", parse_note=text, finish_reason=text, usage=Usage(prompt_tokens=7, cached_tokens=3),
        model=text, adapter=text, branch=text,
    )


def events_of(text: str) -> list[BaseEvent]:
    """One round with everything in it, and an answer."""
    hit = RetrievedHit(passage=passage(text), score=0.5, rank=1, first_seen_round=1)
    item = JudgeItem(question=text, pool=(PoolEntry(query=text, hits=(Hit(passage=passage(text), score=0.5, rank=1),)),), messages=())
    history = [{"query": text, "round": 1, "hits": [{"passage": passage(text).model_dump(), "score": 1.0, "rank": 1}]}]
    return [
        RunStarted(question=text, method="maps", models={"judge": text}, gold=Gold(answers=(text, text), passage_ids=("p1", "p2"))),
        RoundStarted(round=1),
        Directions(round=1, directions=(text,)),
        SubQueries(round=1, queries=(SubQuery(text=text, direction=text + "d", note=text), SubQuery(text=text + "2"))),
        Retrieved(round=1, query_index=0, query=text, hits=(hit,), k=5, note=text),
        Retrieved(round=1, query_index=1, query=text, hits=(hit,), k=5),
        call(text), call(text, text),
        Verdict(round=1, label="sufficient", p_sufficient=0.7, p_method=text, mass=0.2, judged_by=text, deciding=False, item=item, note=text),
        Knowledge(round=1, notes=(text,), summary=text, overlap=(text,)),
        Knowledge(round=1, branch=text, notes=(text,), summary=text, score=0.5, chosen=True),
        StateSaved(round=1, state={"knowledge": [text], "summary": text, "history": history}, tokens=5, hidden=(Hidden(what=text, count=1, tokens=4),)),
        call(text, "answer"),
        Answered(answer=text, scores={"em": 0.0, "f1": 0.5, text: 0.1}, note=text),
    ]


def numbered(events: list[BaseEvent]) -> list[BaseEvent]:
    return [e.model_copy(update={"seq": n, "t": float(n)}) for n, e in enumerate(events)]


def finished(text: str) -> Trace:
    return trace_of(numbered([*events_of(text), RunFinished(reason=text, totals=Totals(rounds=1, calls=3, seconds=4.0))]))


def failed(text: str) -> Trace:
    end = RunFailed(status="failed", error=text, message=text, where=text, acts=text, partial=text)
    return trace_of(numbered([*events_of(text)[:-1], end]))


def info(text: str, status: str = "finished") -> RunInfo:
    return RunInfo(
        id="run1", question=text, method=text, status=status, origin="live", dataset=text, created=NOW, answer=text, em=1.0, rounds=1, calls=3,  # type: ignore[arg-type]
        seconds=2.0, request=RunRequest(question=text, method=text),
    )


def label(text: str) -> StoredLabel:
    return StoredLabel(id=1, item_id=1, question=text, annotator=text, value="sufficient", note=text, client_uuid="u" * 8, created=NOW)
