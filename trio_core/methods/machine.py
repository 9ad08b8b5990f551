"""What the methods beside TRIO and MAPS share: presets, one state class, a limit of rounds, a call and a search in two lines each.

A method inherits from `Machine` and adds its prompts' roles, `round`, `answer`, `carried` and `max_calls`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import model_validator

from trio_core.errors import InputError
from trio_core.events import Answered, BaseEvent, Hidden, SubQueries
from trio_core.evidence import VoteLabel
from trio_core.methods.base import (
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
from trio_core.methods.records import RoundRecord
from trio_core.parsing import Parsed, query_key
from trio_core.pool import FittedPool, Repeats, fit_pool
from trio_core.values import Completion, Message, PoolEntry, SubQuery

T = TypeVar("T")
S = TypeVar("S", bound=State)


class PresetSettings(SearchSettings):
    """Settings with named presets: a preset fills what is not set explicitly; explicit settings win.

    A subclass declares `preset` as a Literal of the names and lists what each fills in `presets`.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        name = data.get("preset", cls.model_fields["preset"].default)
        return {**cls.presets.get(name, {}), **data} if isinstance(name, str) else data


class PoolState(State):
    """A question and what was found for it, search by search."""

    pool: tuple[RoundRecord, ...] = ()


class Asked(Generic[T]):
    """One call under way: iterate its events, then read what came of it."""

    parsed: Parsed[T]
    completion: Completion

    def __init__(self, items: AsyncIterator[BaseEvent | Reply]) -> None:
        self._items = items

    async def __aiter__(self) -> AsyncIterator[BaseEvent]:
        async for item in self._items:
            if isinstance(item, Reply):
                self.parsed, self.completion = item.parsed, item.completion
            else:
                yield item

    @property
    def value(self) -> T:
        """What was read from the output."""
        return self.parsed.value


class Found:
    """One batch of searches under way: iterate its events, then take `records`, one for each query that was searched."""

    records: tuple[RoundRecord, ...] = ()

    def __init__(self, tools: Tools, number: int, queries: Sequence[SubQuery], k: int, earlier: Sequence[RoundRecord]) -> None:
        self._tools, self._number, self._queries, self._k, self._earlier = tools, number, queries, k, earlier

    async def __aiter__(self) -> AsyncIterator[BaseEvent]:
        yield SubQueries(round=self._number, queries=tuple(self._queries))
        fresh = [(i, q) for i, q in enumerate(self._queries) if not q.repeated]
        if not fresh:
            return
        results, seconds = await search(self._tools, [q.text for _, q in fresh], self._k)
        seen = first_seen((r.round, r) for r in self._earlier)
        for n, ((index, query), result) in enumerate(zip(fresh, results, strict=True)):
            # The batch is one search; its time stands at the first query so that sums stay right.
            yield retrieved(self._number, index, query.text, result, self._k, 0.0 if n else seconds, seen)
        self.records = tuple(RoundRecord(query=q.text, hits=r.hits, round=self._number) for (_, q), r in zip(fresh, results, strict=True))


class Machine(Generic[S]):
    """Settings, tools and the rules on rounds."""

    name: ClassVar[str]
    state_type: ClassVar[type[Any]] = PoolState
    limit: ClassVar[str] = ""
    """Name of the setting that limits the rounds; empty = one round."""
    repeats: ClassVar[Repeats] = "full"

    def __init__(self, settings: Any, tools: Tools) -> None:
        self.settings = settings
        self.tools = tools

    def begin(self, question: str) -> S:
        """The question and nothing found yet."""
        state: S = self.state_type(question=question)
        return state

    def load(self, data: Mapping[str, Any]) -> S:
        """Reads a stored state."""
        state: S = self.state_type.model_validate(data)
        return state

    def rounds(self) -> int:
        """Rounds at most."""
        return int(getattr(self.settings, self.limit)) if self.limit else 1

    def finished(self, state: S) -> str | None:
        """The state's own reason, or the limit of rounds."""
        return state.stop or ("round_limit" if state.round >= self.rounds() else None)

    def forked(self, state: S, verdict: VoteLabel) -> S:
        """Answer from this state, or go on (and then, where the model ended the search by answering, it may not do so at once)."""
        if verdict == "insufficient" and not self.limit:
            raise InputError(f"{self.name} searches once, so it cannot go on; say sufficient, or ask another method")
        last = state.model_copy(update={"stop": "round_limit"}) if state.round >= self.rounds() else state
        on = fork_state(last, verdict, f"{self.limit} = {getattr(self.settings, self.limit, 1)}")
        return on.model_copy(update={"insist": verdict == "insufficient"}) if "insist" in type(state).model_fields else on

    def ask(
        self,
        role: str,
        number: int,
        parse: Callable[[Completion], Parsed[T]],
        *,
        pool: Sequence[PoolEntry] | None = None,
        turns: Sequence[Message] = (),
        hidden: tuple[Hidden, ...] = (),
        branch: str | None = None,
        stop: tuple[str, ...] = (),
        logprobs: bool = False,
        **values: str,
    ) -> Asked[T]:
        """One call of a role. `pool` is fitted to the context and fills the prompt's `{{pool}}`; `turns` follow the prompt."""

        async def items() -> AsyncIterator[BaseEvent | Reply]:
            prompt, fitted = self.tools.prompts[role], FittedPool("", 0, ())
            if pool is not None:
                budget = await prompt_budget(self.tools, role, (*prompt.render(pool="", **values), *turns))
                fitted = await fit_pool(pool, budget, self.tools.engine.count_tokens, self.repeats)
            messages = (*prompt.render(pool=fitted.text, **values), *turns)
            async for item in ask(
                self.tools,
                role,
                number,
                messages,
                parse,
                hidden=hidden,
                dropped=fitted.dropped,
                branch=branch,
                stop=stop,
                logprobs=logprobs,
            ):
                yield item

        return Asked(items())

    def find(self, number: int, queries: Sequence[SubQuery], k: int, earlier: Sequence[RoundRecord] = ()) -> Found:
        """Searches the queries that are no repeats, as one batch; `earlier` tells which passages are new."""
        return Found(self.tools, number, queries, k, earlier)


def sub_queries(texts: Sequence[str], used: Sequence[str] = (), note: str = "") -> tuple[SubQuery, ...]:
    """Queries in order, those marked that repeat a used one or each other."""
    keys = {query_key(q) for q in used}
    queries = []
    for text in texts:
        repeated = query_key(text) in keys
        keys.add(query_key(text))
        queries.append(SubQuery(text=text, repeated=repeated, note="repeats an earlier query" if repeated else note))
    return tuple(queries)


def under_question(question: str, records: Sequence[PoolEntry]) -> tuple[PoolEntry]:
    """All passages under the question, for calls that may not see with which texts they were searched."""
    return (PoolEntry(query=question, hits=tuple(h for r in records for h in r.hits)),)


def unseen(records: Sequence[PoolEntry], *more: Hidden) -> tuple[Hidden, ...]:
    """Passages that a call does not see, and what else. Token figures are estimates (4 characters a token): nothing is sent for them."""
    texts = [h.passage.text for r in records for h in r.hits]
    found = (Hidden(what="passages", count=len(texts), tokens=sum(map(len, texts)) // 4),) if texts else ()
    return (*found, *(h for h in more if h.count))


def unseen_texts(what: str, texts: Sequence[str]) -> Hidden:
    """Texts that a call does not see."""
    return Hidden(what=what, count=len(texts), tokens=sum(map(len, texts)) // 4)


def answered(parsed: Parsed[str]) -> Answered:
    """The answer, with the reason where there is none."""
    return Answered(answer=parsed.value, note=parsed.note if parsed.status == "failed" else "")
