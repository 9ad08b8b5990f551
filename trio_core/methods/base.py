"""What a method is, and the few steps that all methods share (a model call, a search; a verdict: `judging`).

A method is a state machine: `begin` gives the first State, `round` yields events as they happen and the next State last,
`finished` says why it stops, `answer` yields the answer. States are immutable and serialisable, so a run can be continued
or forked from any round.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trio_core.engines.base import Engine, JudgeAdapter
from trio_core.errors import InputError, SettingsError, TrioscopeError
from trio_core.events import BaseEvent, Hidden, LLMCalled, Retrieved, RetrievedHit, TextDelta
from trio_core.evidence import AnswerAgent, VoteLabel
from trio_core.parsing import Parsed
from trio_core.pool import pool_budget
from trio_core.prompting import PromptBook
from trio_core.retrieval.base import Retriever, SearchResult
from trio_core.settings import explain
from trio_core.values import ChatCall, Completion, Message, PoolEntry, Value


class MethodSettings(BaseModel):
    """Base of every method's settings; unknown keys are refused. A field's docstring is its help on the pages."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @property
    def bare_roles(self) -> frozenset[str]:
        """Roles that run without their adapter (ablations)."""
        return frozenset()


class SearchSettings(MethodSettings):
    """Settings of every method that searches: the noise test of TRIO's table 7."""

    noise: int = Field(default=0, ge=0, le=5)
    """Stress test: so many passages of every search are replaced by far-ranked ones (TRIO's table 7: 1 or 3 of 5)."""
    noise_seed: int = 0
    """Decides which places are replaced, and by which passages."""


class State(Value):
    """Base of every method's state. `stop` names the reason once the method is done searching."""

    question: str
    round: int = 0
    stop: str = ""


S = TypeVar("S", bound=State)
FORKED = "fork"
"""Stop reason of a run that a person's verdict ends."""


class Tools(NamedTuple):
    """What a method works with. One bundle a run."""

    engine: Engine
    retriever: Retriever
    prompts: PromptBook
    context_tokens: int | None = None
    """Context of the serving model, in tokens; None = unknown, nothing is left out."""
    answerer: AnswerAgent | None = None
    """TRIO's answer agent, for judges that look at sampled answers; None = the bundled prompt."""
    bare: frozenset[str] = frozenset()
    """Roles whose calls go to the bare model."""
    zero_shot: JudgeAdapter = JudgeAdapter()
    """The judge where `judge` is bare."""


class PageText(NamedTuple):
    """What a page says of a method beside `about`."""

    needs: str
    """Of an engine."""
    differs: str
    """How ours differs from the authors' code."""


class Carried(NamedTuple):
    """What the next round starts from (as text), and what it will not see."""

    text: str
    hidden: tuple[Hidden, ...] = ()


class Method(Protocol):
    """One multi-round system. Instances hold settings and tools, never a run's data."""

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    page: ClassVar[PageText]
    roles: ClassVar[tuple[str, ...]]
    settings_type: ClassVar[type[MethodSettings]]
    settings: Any
    tools: Tools

    def begin(self, question: str) -> State:
        """The state before the first round."""

    def load(self, data: Mapping[str, Any]) -> State:
        """A state read back from a `StateSaved` event."""

    def round(self, state: Any) -> AsyncIterator[BaseEvent | State]:
        """Events of one round as they happen, the next State last."""

    def finished(self, state: Any) -> str | None:
        """Why no further round comes, or None."""

    def forked(self, state: Any, verdict: VoteLabel) -> State:
        """The state as a person's verdict leaves it: `sufficient` = answer from here, `insufficient` = go on.

        Raises InputError where the search cannot go on from here.
        """

    def answer(self, state: Any) -> AsyncIterator[BaseEvent]:
        """Events of the answer step; an `Answered` last."""

    def carried(self, state: Any) -> Carried:
        """What the state hands on, for display and for counting."""

    def max_calls(self) -> tuple[int, int]:
        """At most so many LLM calls and retrievals for one question."""


def check_settings(kind: type[MethodSettings], data: Mapping[str, Any], method: str) -> Any:
    """The method's settings from plain data. Raises SettingsError in plain words."""
    try:
        return kind.model_validate(dict(data))
    except ValidationError as error:
        raise SettingsError("; ".join(f"method {method!r}: {explain(e, kind)}" for e in error.errors())) from error


def fork_state(state: S, verdict: VoteLabel, limit: str) -> S:
    """`state` with the search stopped, or going on. `limit` names the setting that ends it otherwise."""
    if verdict == "sufficient":
        return state.model_copy(update={"stop": FORKED})
    if state.stop in ("repeat", "no_query"):
        raise InputError(f"round {state.round} found no new query, so the search cannot go on from there; fork from an earlier round")
    if state.stop == "round_limit":
        raise InputError(f"round {state.round} is the last that {limit} allows; fork with a higher limit to go on")
    return state.model_copy(update={"stop": ""})


class Reply(NamedTuple):
    """The last item of `ask`: what was read from the output."""

    parsed: Parsed[Any]
    completion: Completion


async def ask(
    tools: Tools,
    role: str,
    round_: int,
    messages: tuple[Message, ...],
    parse: Callable[[Completion], Parsed[Any]],
    *,
    hidden: tuple[Hidden, ...] = (),
    dropped: tuple[str, ...] = (),
    branch: str | None = None,
    stop: tuple[str, ...] = (),
    logprobs: bool = False,
    raw: bool = False,
    alternatives: int = 0,
) -> AsyncIterator[BaseEvent | Reply]:
    """One call: text as it is written, then `LLMCalled`, then the Reply. The stream is closed however this ends."""
    prompt = tools.prompts[role]
    call = ChatCall(
        role=role, messages=messages, max_tokens=prompt.max_tokens, temperature=prompt.temperature, stop=stop, logprobs=logprobs, raw=raw,
        alternatives=alternatives, bare=role in tools.bare,
    )
    completion: Completion | None = None
    try:
        async with aclosing(tools.engine.stream(call)) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    yield TextDelta(round=round_, role=role, text=piece)
                else:
                    completion = piece
    except TrioscopeError as error:
        error.where = f"round {round_}, {role}"
        raise
    assert completion is not None, "an engine ends every stream with a Completion"
    parsed = parse(completion)
    yield called(role, round_, messages, completion, parsed, hidden, dropped, branch)
    yield Reply(parsed, completion)


def called(
    role: str,
    round_: int,
    messages: tuple[Message, ...],
    completion: Completion,
    parsed: Parsed[Any],
    hidden: tuple[Hidden, ...] = (),
    dropped: tuple[str, ...] = (),
    branch: str | None = None,
) -> LLMCalled:
    """The event of one finished call."""
    return LLMCalled(
        round=round_, role=role, messages=messages, hidden=hidden, dropped=dropped, raw=completion.text,
        reasoning=completion.reasoning, parse=parsed.status, parse_note=parsed.note, finish_reason=completion.finish_reason,
        usage=completion.usage, first_token_s=completion.first_token_s, seconds=completion.seconds, model=completion.model,
        adapter=completion.adapter, branch=branch,
    )


async def search(tools: Tools, queries: Sequence[str], k: int) -> tuple[list[SearchResult], float]:
    """Searches all queries as one batch; seconds of the batch."""
    began = time.monotonic()
    results = await tools.retriever.search(list(queries), k)
    return results, time.monotonic() - began


def retrieved(
    round_: int, index: int, query: str, result: SearchResult, k: int, seconds: float, first_seen: Mapping[str, int]
) -> Retrieved:
    """The event of one sub-query's hits."""
    hits = tuple(
        RetrievedHit(
            passage=h.passage, score=h.score, rank=h.rank, from_rank=h.from_rank, noise=h.noise,
            first_seen_round=first_seen.get(h.passage.id, round_),
        )
        for h in result.hits
    )
    return Retrieved(round=round_, query_index=index, query=query, hits=hits, k=k, seconds=seconds, note=result.note)


def first_seen(pool: Iterable[tuple[int, PoolEntry]]) -> dict[str, int]:
    """Passage id -> the round in which it was first found; `pool` gives (round, entry) in order."""
    seen: dict[str, int] = {}
    for round_, entry in pool:
        for hit in entry.hits:
            seen.setdefault(hit.passage.id, round_)
    return seen


async def prompt_budget(tools: Tools, role: str, messages_without_pool: tuple[Message, ...]) -> int | None:
    """Tokens that a pool may take in this role's prompt, or None where the context is unknown."""
    texts = [message.content for message in messages_without_pool]
    return await pool_budget(tools.context_tokens, texts, tools.prompts[role].max_tokens, tools.engine.count_tokens)
