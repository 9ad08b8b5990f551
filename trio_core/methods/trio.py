"""TRIO: query agent, judge and answer agent over a growing query pool (TRIO section 3.1, appendix B.1).

Round 1 searches the question itself; every later round asks the query agent for one new query. The judge reads the whole
pool after each search and ends the run when it says "Sufficient Information". Nothing is hidden from any agent.

Where the paper is silent (DESIGN.md section 9): the first verdict comes right after the first search (`judge_initial`);
an unparsed verdict goes on; a repeated query is retried once with the repetition named, then the run goes to the answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

from pydantic import Field

from trio_core.events import Answered, BaseEvent, RoundStarted, SubQueries, Verdict
from trio_core.evidence import VoteLabel
from trio_core.methods.base import (
    Carried,
    MethodSettings,
    PageText,
    Reply,
    SearchSettings,
    State,
    Tools,
    ask,
    first_seen,
    fork_state,
    prompt_budget,
    retrieved,
    search,
)
from trio_core.methods.judging import judge, judge_messages
from trio_core.parsing import Parsed, parse_answer, parse_query, same_query
from trio_core.pool import FittedPool, Repeats, fit_pool, pool_text
from trio_core.values import JudgeItem, PoolEntry, SubQuery


class TrioSettings(SearchSettings):
    """TRIO's settings; defaults are the paper's."""

    max_extensions: int = Field(default=3, ge=0, le=20)
    """Query extensions after the first search (paper: 3)."""
    top_k: int = Field(default=5, ge=1, le=100)
    """Passages a search."""
    judge_initial: bool = True
    """Ask the judge after the first search (the paper's case table); false = after the first extension (its equations)."""
    max_query_words: int = Field(default=16, ge=2, le=64)
    """Longer queries are cut and noted (the prompt asks for 8)."""
    repeats: Repeats = "full"
    """A passage found again: in full under every query (paper) or by its title."""
    fixed_rounds: int = Field(default=0, ge=0, le=5)
    """Ablation: exactly so many extensions and no judge (table 3); 0 = the judge decides. A repeated query still ends the search."""
    query_adapter: bool = True
    """Ablation: off = the bare model writes the queries."""
    judge_adapter: bool = True
    """Ablation: off = the bare model judges, whatever judge is live."""
    answer_adapter: bool = True
    """Ablation: off = the bare model answers."""

    @property
    def bare_roles(self) -> frozenset[str]:
        """Of the three agents."""
        on = {"query": self.query_adapter, "judge": self.judge_adapter, "answer": self.answer_adapter}
        return frozenset(role for role, adapter in on.items() if not adapter)

    @property
    def extensions(self) -> int:
        """Extensions at most."""
        return self.fixed_rounds or self.max_extensions


class TrioState(State):
    """The query pool so far."""

    pool: tuple[PoolEntry, ...] = ()


class Trio:
    """TRIO as a state machine."""

    name: ClassVar[str] = "trio"
    title: ClassVar[str] = "TRIO"
    about: ClassVar[str] = "Query agent, judge and answer agent share a growing pool; the judge decides when to stop."
    page: ClassVar[PageText] = PageText(
        needs="Any chat engine; P(sufficient) where it shows log-probabilities.",
        differs="No authors' code could be had: written from the paper; where it is silent, the first verdict comes after the "
        "first search and a repeated query is retried once. The paper has three tuned checkpoints; here one model plays all three agents, with an "
        "adapter for each where the server holds them.",
    )
    roles: ClassVar[tuple[str, ...]] = ("query", "judge", "answer")
    settings_type: ClassVar[type[MethodSettings]] = TrioSettings

    def __init__(self, settings: TrioSettings, tools: Tools) -> None:
        self.settings = settings
        self.tools = tools

    def begin(self, question: str) -> TrioState:
        """An empty pool."""
        return TrioState(question=question)

    def load(self, data: Mapping[str, Any]) -> TrioState:
        """Reads a stored state."""
        return TrioState.model_validate(data)

    def max_calls(self) -> tuple[int, int]:
        """(LLM calls, retrievals): n query calls, each retried at most once; none, n or n + 1 verdicts; 1 answer; n + 1 searches."""
        n = self.settings.extensions
        verdicts = 0 if self.settings.fixed_rounds else n + self.settings.judge_initial
        return 2 * n + verdicts + 1, n + 1

    def finished(self, state: TrioState) -> str | None:
        """The judge, a repeated or unusable query, or the limit of extensions ends the search."""
        if state.stop:
            return state.stop
        return "round_limit" if state.round > self.settings.extensions else None

    def forked(self, state: TrioState, verdict: VoteLabel) -> TrioState:
        """Answer from this pool, or ask for one more query."""
        last = state.model_copy(update={"stop": "round_limit"}) if state.round > self.settings.extensions else state
        name = "fixed_rounds" if self.settings.fixed_rounds else "max_extensions"
        return fork_state(last, verdict, f"{name} = {self.settings.extensions}")

    def carried(self, state: TrioState) -> Carried:
        """The whole pool is carried on; nothing is hidden."""
        return Carried(pool_text(state.pool, self.settings.repeats))

    async def round(self, state: TrioState) -> AsyncIterator[BaseEvent | State]:
        """One search and, from the first or second round on, one verdict."""
        number = state.round + 1
        yield RoundStarted(round=number)
        query: SubQuery | None = SubQuery(text=state.question, note="the question")
        if number > 1:
            async for item in self._new_query(state, number):
                if isinstance(item, Reply):
                    query = item.parsed.value
                else:
                    yield item
        if query is None or query.repeated:
            yield SubQueries(round=number, queries=(query,) if query else ())
            yield state.model_copy(update={"round": number, "stop": "repeat" if query else "no_query"})
            return
        yield SubQueries(round=number, queries=(query,))
        results, seconds = await search(self.tools, [query.text], self.settings.top_k)
        seen = first_seen(enumerate(state.pool, 1))
        yield retrieved(number, 0, query.text, results[0], self.settings.top_k, seconds, seen)
        entry = PoolEntry(query=query.text, hits=results[0].hits)
        grown = state.model_copy(update={"round": number, "pool": (*state.pool, entry)})
        if not self.settings.fixed_rounds and (number > 1 or self.settings.judge_initial):
            async for event in self._judge(grown):
                yield event
                if isinstance(event, Verdict) and event.label == "sufficient":
                    grown = grown.model_copy(update={"stop": "judge"})
        yield grown

    async def _fit(self, role: str, state: TrioState, **values: str) -> FittedPool:
        empty = self.tools.prompts[role].render(question=state.question, pool="", **values)
        budget = await prompt_budget(self.tools, role, empty)
        return await fit_pool(state.pool, budget, self.tools.engine.count_tokens, self.settings.repeats)

    async def _new_query(self, state: TrioState, number: int) -> AsyncIterator[BaseEvent | Reply]:
        """Asks for a query, once more with the repetition named if it repeats; the Reply holds a SubQuery or None."""
        used = [entry.query for entry in state.pool]
        listed = "; ".join(f'"{q}"' for q in used)
        hint = ""
        for _attempt in (1, 2):
            fitted = await self._fit("query", state, used=listed, hint=hint)
            messages = self.tools.prompts["query"].render(question=state.question, pool=fitted.text, used=listed, hint=hint)
            reply: Reply | None = None
            async for item in ask(self.tools, "query", number, messages, self._parse_query, dropped=fitted.dropped):
                if isinstance(item, Reply):
                    reply = item
                else:
                    yield item
            assert reply is not None
            text = reply.parsed.value
            repeated = bool(text) and any(same_query(text, q) for q in used)
            if text and not repeated:
                break
            hint = f' The query "{text}" was already used; write a different one.' if text else " Write only the query."
        found = SubQuery(text=text, repeated=repeated, note="repeats an earlier query" if repeated else reply.parsed.note) if text else None
        yield Reply(Parsed(found, reply.parsed.status, reply.parsed.note), reply.completion)

    def _parse_query(self, completion: Any) -> Parsed[str]:
        return parse_query(completion.text, self.settings.max_query_words)

    async def _judge(self, state: TrioState) -> AsyncIterator[BaseEvent]:
        fitted = await self._fit("judge", state)
        messages = judge_messages(self.tools, state.question, fitted.text)
        item = JudgeItem(question=state.question, pool=state.pool, messages=messages)
        async for event in judge(self.tools, state.round, item, deciding=True, dropped=fitted.dropped):
            yield event

    async def answer(self, state: TrioState) -> AsyncIterator[BaseEvent]:
        """The answer agent reads the whole pool."""
        fitted = await self._fit("answer", state)
        messages = self.tools.prompts["answer"].render(question=state.question, pool=fitted.text)
        parsed: Parsed[str] = Parsed("", "failed", "no call made")
        async for item in ask(self.tools, "answer", state.round, messages, answer_of, dropped=fitted.dropped):
            if isinstance(item, Reply):
                parsed = item.parsed
            else:
                yield item
        yield Answered(answer=parsed.value, note=parsed.note if parsed.status == "failed" else "")


def answer_of(completion: Any) -> Parsed[str]:
    """Reads a completion as a short answer."""
    return parse_answer(completion.text, completion.finish_reason)
