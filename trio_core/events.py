"""The event vocabulary: everything that happens in a run, in the order in which it happened.

A closed union with a `type` tag; an unknown tag is refused. Events carry no ids of the store. The stream is flat:
`seq` counts from 0 without gaps, `t` is seconds since the run began; rounds are a view (`trio_core.trace`).
`TextDelta` is live only: it is shown and never stored, so its `seq` is -1.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union

from pydantic import Field, TypeAdapter

from trio_core.values import ForkPoint, Gold, Hit, JudgeItem, Message, SubQuery, Usage, Value, VerdictLabel
from trio_core.values import absent as absent

SCHEMA = 4
"""Version of the event vocabulary; a stored event of a newer version is refused. 2: forks, heads of judges. 3: branches. 4: noise, reranking."""


class BaseEvent(Value):
    """Fields of every event. The driver sets `seq` and `t`; methods leave them at their defaults."""

    seq: int = -1
    t: float = 0.0


class RunStarted(BaseEvent):
    """A run begins, or goes on after an interruption (`resumed_from_round`)."""

    type: Literal["run_started"] = "run_started"
    schema_version: int = SCHEMA
    question: str
    method: str
    settings: dict[str, Any] = Field(default_factory=dict)
    """The method's effective settings."""
    models: dict[str, str] = Field(default_factory=dict)
    """Model, adapter and judge version by role."""
    index: dict[str, Any] = Field(default_factory=dict)
    """Identity of the retriever: corpus, encoder, passage count."""
    prompt_version: str = ""
    gold: Gold | None = None
    resumed_from_round: int | None = None
    forked_from: ForkPoint | None = Field(default=None, exclude_if=absent)
    """The events up to the round's `Corrected` are copies of that run's."""


class RoundStarted(BaseEvent):
    """Round `round` (from 1) begins; `label` names it where it is no retrieval round."""

    type: Literal["round_started"] = "round_started"
    round: int


class Directions(BaseEvent):
    """MAPS: the complementary directions of this round; `enough` = the model says that the knowledge suffices."""

    type: Literal["directions"] = "directions"
    round: int
    directions: tuple[str, ...] = ()
    enough: bool = False


class SubQueries(BaseEvent):
    """The queries of this round, in order. A repeated query is marked and not searched again."""

    type: Literal["sub_queries"] = "sub_queries"
    round: int
    queries: tuple[SubQuery, ...]


class RetrievedHit(Hit):
    """A hit with the round in which its passage was first seen in this run."""

    first_seen_round: int


class Retrieved(BaseEvent):
    """What one sub-query found. `query_index` points into this round's `SubQueries`."""

    type: Literal["retrieved"] = "retrieved"
    round: int
    query_index: int
    query: str
    hits: tuple[RetrievedHit, ...]
    k: int
    seconds: float = 0.0
    note: str = ""


class Hidden(Value):
    """Something the method keeps from a call: what, how many, and about how many tokens."""

    what: str
    count: int
    tokens: int


class LLMCalled(BaseEvent):
    """One finished call: messages exactly as sent, raw output, how it was parsed and what it cost."""

    type: Literal["llm_called"] = "llm_called"
    round: int
    role: str
    branch: str | None = Field(default=None, exclude_if=absent)
    """Which of a round's branches (candidate, path of a tree) the call belongs to."""
    messages: tuple[Message, ...]
    hidden: tuple[Hidden, ...] = ()
    dropped: tuple[str, ...] = ()
    """Ids of passages left out of the prompt because they did not fit (lowest rank first)."""
    raw: str
    reasoning: str = ""
    parse: Literal["ok", "repaired", "failed"] = "ok"
    parse_note: str = ""
    finish_reason: str = "stop"
    usage: Usage = Usage()
    first_token_s: float | None = None
    seconds: float = 0.0
    model: str = ""
    adapter: str | None = None


class Verdict(BaseEvent):
    """A judge's verdict on the evidence of a round. A shadow judge is recorded and decides nothing."""

    type: Literal["verdict"] = "verdict"
    round: int
    label: VerdictLabel
    p_sufficient: float | None = None
    p_method: str = "none"
    mass: float | None = None
    p_raw: float | None = Field(default=None, exclude_if=absent)
    """The model's own P(sufficient) where a calibrated head gave `p_sufficient`."""
    signals: dict[str, float] | None = Field(default=None, exclude_if=absent)
    """What the head read, by feature."""
    threshold: float = 0.5
    judged_by: str = ""
    """Judge version, for example `zero-shot` or `judge-3`."""
    deciding: bool = True
    item: JudgeItem
    note: str = ""


class Corrected(BaseEvent):
    """A fork: from here on a person's verdict on the round stands in place of the judge's."""

    type: Literal["corrected"] = "corrected"
    round: int
    label: Literal["sufficient", "insufficient"]
    by: str = ""
    note: str = ""


class Knowledge(BaseEvent):
    """What the round distilled, or what came of one of its branches.

    `overlap` lists sub-queries found word for word in MAPS's summary (forbidden).
    """

    type: Literal["knowledge"] = "knowledge"
    round: int
    notes: tuple[str, ...] = ()
    summary: str = ""
    overlap: tuple[str, ...] = ()
    branch: str | None = Field(default=None, exclude_if=absent)
    score: float | None = Field(default=None, exclude_if=absent)
    """Of a branch, on the method's own scale."""
    chosen: bool | None = Field(default=None, exclude_if=absent)
    """Of a branch: whether the run went on with it; null = not decided yet."""


class StateSaved(BaseEvent):
    """The immutable state after a round: all that the next round starts from."""

    type: Literal["state_saved"] = "state_saved"
    round: int
    state: dict[str, Any]
    tokens: int
    """Size of what is carried on, in tokens of the serving model."""
    hidden: tuple[Hidden, ...] = ()


class Answered(BaseEvent):
    """The answer; `scores` by metric name when gold is known. An empty answer has a `note` that says why."""

    type: Literal["answered"] = "answered"
    answer: str
    scores: dict[str, float] | None = None
    note: str = ""


class Cost(Value):
    """What something took: a run, a question, a whole evaluation."""

    calls: int = 0
    retrievals: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


class Totals(Cost):
    """Sums over a run."""

    rounds: int = 0
    engine_seconds: float = 0.0
    retriever_seconds: float = 0.0


class RunFinished(BaseEvent):
    """The run ended by itself; `reason` is one of the method's stop reasons (`judge`, `round_limit`, `repeat`, …)."""

    type: Literal["run_finished"] = "run_finished"
    reason: str
    totals: Totals


class RunFailed(BaseEvent):
    """The run ended by a fault, a stop or an interruption. `acts` says whose turn it is: user, server, developer."""

    type: Literal["run_failed"] = "run_failed"
    status: Literal["failed", "stopped", "interrupted"]
    error: str
    """Name of the error class, or `Stopped`."""
    message: str
    where: str = ""
    acts: str = "user"
    partial: str = ""
    totals: Totals = Totals()


class TextDelta(BaseEvent):
    """Live only: text of a call as it is written."""

    type: Literal["text_delta"] = "text_delta"
    round: int
    role: str
    text: str


StoredEvent = Union[
    RunStarted, RoundStarted, Directions, SubQueries, Retrieved, LLMCalled, Verdict, Corrected, Knowledge, StateSaved, Answered,
    RunFinished, RunFailed,
]
Event = Annotated[Union[StoredEvent, TextDelta], Field(discriminator="type")]

_ADAPTER: TypeAdapter[Any] = TypeAdapter(Event)


def event_from_json(text: str | bytes) -> StoredEvent | TextDelta:
    """Reads one event back. Raises pydantic.ValidationError on an unknown tag or field."""
    return _ADAPTER.validate_json(text)


def event_to_json(event: BaseEvent) -> str:
    """One line of JSON; `type` names the event."""
    return event.model_dump_json()


def is_end(event: BaseEvent) -> bool:
    """True for the event after which a run has nothing more to say."""
    return isinstance(event, (RunFinished, RunFailed))
