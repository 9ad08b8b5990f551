"""Values that travel between engines, retrievers, methods and events. Frozen, and without ids of the store."""

from __future__ import annotations

import hashlib
import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Value(BaseModel):
    """A frozen value; unknown fields are refused so that a renamed field cannot vanish silently."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def absent(value: object) -> bool:
    """Fields of later versions are left out where they say nothing, so that older events keep their bytes."""
    return value is None


class Passage(Value):
    """One retrievable passage of a corpus (about 100 words)."""

    id: str
    title: str = ""
    text: str


class Hit(Value):
    """A passage found by a search. `score` is null where the retriever gives none; `rank` counts from 1."""

    passage: Passage
    score: float | None
    rank: int
    from_rank: int | None = Field(default=None, exclude_if=absent)
    """The rank that the search itself gave it, where a reranker or noise moved it."""
    noise: bool | None = Field(default=None, exclude_if=absent)
    """Stress test: stands here in place of a better passage."""


class Message(Value):
    """One chat message exactly as sent to a server."""

    role: Literal["system", "user", "assistant"]
    content: str


class Usage(Value):
    """Tokens of one call. `cached_tokens` is null where the server does not tell."""

    prompt_tokens: int = 0
    cached_tokens: int | None = None
    completion_tokens: int = 0


class SubQuery(Value):
    """A search query of a method, with the direction it serves (MAPS) and whether it repeats an earlier one."""

    text: str
    direction: str | None = None
    repeated: bool = False
    note: str = ""


class PoolEntry(Value):
    """One query of TRIO's query pool with its own passages, in retrieval order (TRIO section 3.1)."""

    query: str
    hits: tuple[Hit, ...] = ()


class Gold(Value):
    """What is known to be right for a question: answers, and the ids of the passages that hold the evidence."""

    answers: tuple[str, ...] = ()
    passage_ids: tuple[str, ...] = ()
    answerable: bool = True


class JudgeItem(Value):
    """The judge's input: what a label is about. Its hash is the identity of a label item over all runs.

    `messages` is the prompt word for word as the judge saw it, `pool` the same content as data (for display and to
    check gold evidence).
    """

    question: str
    pool: tuple[PoolEntry, ...]
    messages: tuple[Message, ...]

    @property
    def content_hash(self) -> str:
        """sha256 over question, queries and passage texts (not over the wording of the prompt)."""
        body = [self.question, [[e.query, [[h.passage.title, h.passage.text] for h in e.hits]] for e in self.pool]]
        return hashlib.sha256(json.dumps(body, ensure_ascii=False).encode()).hexdigest()

    @property
    def passage_ids(self) -> frozenset[str]:
        """Ids of all passages in the pool."""
        return frozenset(h.passage.id for e in self.pool for h in e.hits)


VerdictLabel = Literal["sufficient", "insufficient", "unparsed"]


class ForkPoint(Value):
    """Where a run leaves another: after `round`, with a person's verdict in place of the judge's.

    `sufficient` = stop here and answer from that state; `insufficient` = go on with the next round.
    """

    run_id: str
    round: int = Field(ge=1)
    verdict: Literal["sufficient", "insufficient"]
    by: str = ""
    note: str = ""


LABEL_TEXT: dict[str, str] = {
    "sufficient": "Sufficient Information",
    "insufficient": "Insufficient Information",
}
"""The two completions of TRIO's judge (format of the paper, section 3.1)."""


class ChatCall(Value):
    """A request to an engine."""

    role: str
    """Which agent asks (`query`, `judge`, `answer`, `plan`, `refine`, …): selects model and adapter."""
    messages: tuple[Message, ...]
    max_tokens: int = 64
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    seed: int | None = None
    own_temperature: bool = False
    """True = this call's temperature holds, whatever the settings say for the role (sampling)."""
    bare: bool = False
    """Without the role's own model and adapter: the server's default model answers (ablation)."""
    logprobs: bool = False
    """Ask for the tokens' log-probabilities, where the server shows them."""
    raw: bool = False
    """The messages are one raw text that the model continues, without any chat template (`/v1/completions`)."""
    alternatives: int = Field(default=0, ge=0, le=100)
    """Of a raw call: so many likeliest tokens at each place."""


class TokenReading(Value):
    """One written token and the likeliest tokens in its place, with their log-probabilities."""

    text: str
    logprob: float
    top: dict[str, float] = Field(default_factory=dict)


class Completion(Value):
    """The end of a call: the whole text and what the call cost. Seconds count from sending the request."""

    text: str
    reasoning: str = ""
    finish_reason: str = "stop"
    usage: Usage = Usage()
    first_token_s: float | None = None
    seconds: float = 0.0
    model: str = ""
    adapter: str | None = None
    mean_logprob: float | None = None
    """Mean log-probability of the written tokens under the unconstrained model; null where it was not asked for or not shown."""
    tokens: tuple[TokenReading, ...] = ()
    """Of a raw call that asked for `alternatives`."""


class VerdictReading(Value):
    """A constrained verdict. `p_sufficient` is null where the server shows no usable log-probabilities.

    `p_method` says how it was computed; `mass` is the share of probability that the unconstrained model puts on the two
    labels (null where unknown); below 0.5 the verdict says little.
    """

    completion: Completion
    p_sufficient: float | None = None
    p_method: str = "none"
    mass: float | None = None


class Capabilities(Value):
    """What the start-up probe found out about a server."""

    model: str
    context_tokens: int | None = None
    streams: bool = True
    cached_tokens: bool = False
    verdict: Literal["grammar", "choice", "free", "none"] = "none"
    logprobs: bool = False
    raw: bool = False
    """Continues a raw text without a chat template."""
    system_role: bool = True
    adapters: tuple[str, ...] = ()
    prompt_tokens_per_s: float | None = None
    completion_tokens_per_s: float | None = None
    notes: tuple[str, ...] = Field(default=())
