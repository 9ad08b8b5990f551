"""One stored run as the analyses read it: small, frozen, without passage texts (except those of the gold evidence)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trio_core.events import Hidden, RunFinished, StoredEvent
from trio_core.retrieval.records import contents
from trio_core.runs import RunInfo, RunStatus
from trio_core.trace import Round, trace_of
from trio_core.values import Value, VerdictLabel


class Query(Value):
    """A sub-query of a round. One that was not `searched` only repeats an earlier one."""

    text: str
    repeated: bool = False
    searched: bool = True


class JudgeWord(Value):
    """A verdict, and whether the pool that the judge read held all gold passages (null = no gold known)."""

    label: VerdictLabel
    p_sufficient: float | None = None
    deciding: bool = True
    judged_by: str = ""
    evidence_complete: bool | None = None


class Step(Value):
    """One round."""

    number: int
    queries: tuple[Query, ...] = ()
    found: tuple[str, ...] = ()
    """Distinct passages that the round's searches brought, in order."""
    new: tuple[str, ...] = ()
    """Those that no earlier round brought."""
    verdict: JudgeWord | None = None
    carried_tokens: int | None = None
    """Size of the state that the next round starts from; null where the round did not end."""
    hidden_tokens: int = 0
    """What that state hides from the next round."""

    @property
    def searched(self) -> bool:
        """True where at least one query was searched."""
        return any(q.searched for q in self.queries)


class CallFact(Value):
    """A call: what it saw and what was hidden from it, in tokens (`visible` as the server counted its prompt)."""

    role: str
    round: int
    visible: int
    hidden: tuple[Hidden, ...] = ()
    dropped: int = 0

    @property
    def hidden_tokens(self) -> int:
        """Sum over all that was hidden."""
        return sum(h.tokens for h in self.hidden)


class RunFacts(Value):
    """A run that has ended or is under way."""

    id: str
    method: str
    dataset: str = ""
    question_id: str = ""
    question: str
    status: RunStatus
    reason: str = ""
    settings: dict[str, Any] = {}
    """Effective settings of the method."""
    model: str = ""
    """The model that most calls went to."""
    retriever: str = ""
    corpus: str = ""
    passages: int | None = None
    """Size of the corpus."""
    prompts: str = ""
    gold: tuple[str, ...] = ()
    """Ids of the gold passages."""
    gold_texts: dict[str, str] = {}
    """What is embedded of those gold passages that the run itself found."""
    steps: tuple[Step, ...] = ()
    calls: tuple[CallFact, ...] = ()
    answer: str = ""
    scores: dict[str, float] = {}
    """Empty where no right answer is known."""

    @property
    def finished(self) -> bool:
        """True when the run ended by itself."""
        return self.status == "finished"

    @property
    def search_rounds(self) -> tuple[Step, ...]:
        """Rounds that searched: MAPS's last plan, which only says "enough", is none."""
        return tuple(s for s in self.steps if s.searched)

    @property
    def question_key(self) -> tuple[str, str]:
        """The same for all runs of one question."""
        return self.dataset, self.question_id or self.question


def run_facts(info: RunInfo, events: Iterable[StoredEvent]) -> RunFacts:
    """Reads a run's events. A continued run counts as it stands: rounds that it did again are in once."""
    trace = trace_of(events)
    started = trace.started
    gold_known = (started.gold if started else None) or info.request.gold
    gold = gold_known.passage_ids if gold_known else ()
    texts: dict[str, str] = {}
    seen: set[str] = set()
    steps = [_step(r, set(gold), seen, texts) for r in trace.rounds]
    calls = [call for r in trace.rounds for call in r.calls] + trace.answer_calls
    index = dict(started.index) if started else {}
    models = [c.model for c in calls if c.model]
    return RunFacts(
        id=info.id,
        method=info.method,
        dataset=info.dataset,
        question_id=info.question_id,
        question=info.question,
        status=info.status,
        reason=trace.end.reason if isinstance(trace.end, RunFinished) else "",
        settings=dict(started.settings) if started else {},
        model=max(dict.fromkeys(models), key=models.count, default=""),
        retriever=_retriever(index),
        corpus=str(index.get("corpus", "")),
        passages=index.get("passages") if isinstance(index.get("passages"), int) else None,
        prompts=started.prompt_version if started else "",
        gold=gold,
        gold_texts=texts,
        steps=tuple(steps),
        calls=tuple(
            CallFact(role=c.role, round=c.round, visible=c.usage.prompt_tokens, hidden=c.hidden, dropped=len(c.dropped)) for c in calls
        ),
        answer=trace.answer.answer if trace.answer else "",
        scores=dict((trace.answer.scores if trace.answer else None) or {}),
    )


def _step(r: Round, gold: set[str], seen: set[str], texts: dict[str, str]) -> Step:
    """`seen` and `texts` grow."""
    found: dict[str, None] = {}
    for event in r.retrieved:
        for hit in event.hits:
            found[hit.passage.id] = None
            if hit.passage.id in gold:
                texts.setdefault(hit.passage.id, contents(hit.passage))
    new = tuple(i for i in found if i not in seen)
    seen.update(found)
    verdict = None
    if r.verdict is not None:
        v = r.verdict
        verdict = JudgeWord(
            label=v.label,
            p_sufficient=v.p_sufficient,
            deciding=v.deciding,
            judged_by=v.judged_by,
            evidence_complete=gold <= v.item.passage_ids if gold else None,
        )
    asked = r.sub_queries.queries if r.sub_queries else ()
    where = {event.query_index for event in r.retrieved}
    queries = tuple(Query(text=q.text, repeated=q.repeated, searched=n in where) for n, q in enumerate(asked))
    return Step(
        number=r.number,
        queries=queries,
        found=tuple(found),
        new=new,
        verdict=verdict,
        carried_tokens=r.state.tokens if r.state else None,
        hidden_tokens=sum(h.tokens for h in r.state.hidden) if r.state else 0,
    )


def _retriever(index: dict[str, Any]) -> str:
    """'dense all-MiniLM-L6-v2', 'bm25', …"""
    encoder = index.get("encoder")
    name = encoder.get("name", "") if isinstance(encoder, dict) else str(encoder or "")
    return " ".join(part for part in (str(index.get("kind", "")), name) if part)
