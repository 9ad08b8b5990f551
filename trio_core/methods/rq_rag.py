"""RQ-RAG: a tree of refined queries, an answer at every node, and the most confident answer wins (METHODS section 15).

A round is a level of the tree: each node of the level before is rewritten, decomposed and disambiguated, each into one query.
A node sees the queries and passages of its own path alone.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from trio_core.errors import SettingsError
from trio_core.events import BaseEvent, Hidden, Knowledge, RoundStarted
from trio_core.methods.base import Carried, MethodSettings, PageText, State
from trio_core.methods.machine import Asked, Machine, PresetSettings, answered, sub_queries, unseen
from trio_core.methods.records import RoundRecord
from trio_core.methods.trio import answer_of
from trio_core.metrics import normalize
from trio_core.parsing import Parsed, parse_query, same_query
from trio_core.pool import pool_text
from trio_core.values import Completion, SubQuery, Value

KINDS = ("rewrite", "decompose", "disambiguate")
ROOT = "no search"


class RqRagSettings(PresetSettings):
    """RQ-RAG's settings; defaults are the authors'."""

    presets: ClassVar = {"author": {"depth": 2, "top_k": 3}, "flashrag": {"depth": 3, "top_k": 5}, "small": {"depth": 1, "top_k": 2}}
    preset: Literal["author", "flashrag", "small"] = "author"
    """Fills the settings that you leave as they are."""
    depth: int = Field(default=2, ge=1, le=4)
    """Levels of the tree of queries."""
    top_k: int = Field(default=3, ge=1, le=100)
    """Passages a search."""
    select: Literal["confidence", "ensemble", "vote"] = "confidence"
    """The likeliest answer, the largest sum of likelihoods, or (without log-probabilities) the most frequent answer."""


class Node(Value):
    """A node of the tree. `path` names the steps from the root."""

    path: str
    records: tuple[RoundRecord, ...] = ()
    """Queries and passages of the whole path."""
    answer: str = ""
    confidence: float | None = None
    """Geometric mean of the tokens' probabilities; null where the server shows none."""

    @property
    def depth(self) -> int:
        """0 = the root, which has not searched."""
        return len(self.records)


class RqRagState(State):
    """The tree so far."""

    nodes: tuple[Node, ...] = ()
    history: tuple[RoundRecord, ...] = ()


class RqRag(Machine[RqRagState]):
    """RQ-RAG as a state machine: a round for each level of the tree."""

    name: ClassVar[str] = "rq_rag"
    title: ClassVar[str] = "RQ-RAG"
    about: ClassVar[str] = "Refines the question in three ways, again and again, and takes the most confident of all answers."
    page: ClassVar[PageText] = PageText(
        needs="A chat engine that shows log-probabilities; without them set select = vote.",
        differs="The authors' model (hub zorowin123/rq_rag_llama2_7B) writes queries after special tokens by raw completion; here three "
        "prompts ask any chat model for the three kinds of query, greedily. Confidence is the geometric mean of the token "
        "probabilities, so the authors' perplexity and confidence choose alike. A branch without a new query ends; theirs goes on "
        "with a dummy.",
    )
    roles: ClassVar[tuple[str, ...]] = (*KINDS, "respond")
    settings_type: ClassVar[type[MethodSettings]] = RqRagSettings
    state_type = RqRagState
    limit = "depth"
    settings: RqRagSettings

    def max_calls(self) -> tuple[int, int]:
        """A query and an answer for each node, and the root's answer; a search for each query."""
        nodes = sum(len(KINDS) ** level for level in range(1, self.settings.depth + 1))
        return 2 * nodes + 1, nodes

    def carried(self, state: RqRagState) -> Carried:
        """All nodes; each sees its own path only."""
        text = "\n".join(f"{n.path}: {n.answer}\n{pool_text(n.records[-1:])}" for n in state.nodes)
        return Carried(text, tuple(h.model_copy(update={"what": "passages, each from the other branches"}) for h in unseen(state.history)))

    async def round(self, state: RqRagState) -> AsyncIterator[BaseEvent | State]:
        """One level: queries of all nodes, one batch of searches, an answer for each new node."""
        number = state.round + 1
        if number == 1:
            await self._check_engine()
        yield RoundStarted(round=number)
        parents = [n for n in state.nodes if n.depth == state.round] if state.nodes else [Node(path=ROOT)]
        wanted: list[tuple[Node, str, str]] = []
        for parent in parents:
            for kind in KINDS:
                asked = self._query(state, parent, kind, number)
                async for event in asked:
                    yield event
                if asked.value:
                    wanted.append((parent, kind, asked.value))
        queries = tuple(_marked(parent, _path(parent, kind), text) for parent, kind, text in wanted)
        found = self.find(number, queries, self.settings.top_k, state.history)
        async for event in found:
            yield event
        alive = [(p, k) for (p, k, _), q in zip(wanted, queries, strict=True) if not q.repeated]
        nodes = [Node(path=_path(p, k), records=(*p.records, r)) for (p, k), r in zip(alive, found.records, strict=True)]
        grown = [] if state.nodes else [Node(path=ROOT)]
        grown += nodes
        history = (*state.history, *found.records)
        for i, node in enumerate(grown):
            responded = self.ask(
                "respond",
                number,
                answer_of,
                pool=node.records,
                branch=node.path,
                hidden=_others(history, node),
                logprobs=True,
                question=state.question,
            )
            async for event in responded:
                yield event
            logprob = responded.completion.mean_logprob
            grown[i] = node.model_copy(update={"answer": responded.value, "confidence": None if logprob is None else math.exp(logprob)})
        everything = (*state.nodes, *grown)
        best = choose(everything, self.settings.select)
        for node in everything:
            if node in grown or node == best:
                query = (node.records[-1].query,) if node.records else ()
                yield Knowledge(
                    round=number, branch=node.path, summary=node.answer, notes=query, score=node.confidence, chosen=node == best
                )
        yield state.model_copy(update={"round": number, "nodes": everything, "history": history, "stop": "" if nodes else "no_query"})

    async def _check_engine(self) -> None:
        """Raises SettingsError where the choice needs what the server does not show."""
        known = await self.tools.engine.probe()
        if self.settings.select != "vote" and not known.logprobs:
            raise SettingsError(
                f"rq_rag chooses its answer by {self.settings.select}, but the server of model {known.model!r} shows no log-probabilities; "
                "set select = vote, or use an engine that shows them (embedded, vllm)"
            )

    def _query(self, state: RqRagState, parent: Node, kind: str, number: int) -> Asked[str]:
        return self.ask(
            kind,
            number,
            _one_query,
            pool=parent.records,
            branch=_path(parent, kind),
            hidden=_others(state.history, parent),
            question=state.question,
        )

    async def answer(self, state: RqRagState) -> AsyncIterator[BaseEvent]:
        """The chosen node's answer; no call."""
        best = choose(state.nodes, self.settings.select)
        yield answered(Parsed(best.answer, "ok") if best else Parsed("", "failed", "no node of the tree has an answer"))


def choose(nodes: Sequence[Node], rule: str) -> Node | None:
    """The node whose answer wins; of equals the first. None where no node has an answer."""
    able = [n for n in nodes if n.answer]
    if rule == "confidence" or not able:
        return max(able, key=lambda n: n.confidence or 0.0, default=None)
    sums: dict[str, float] = {}
    for node in able:
        key = normalize(node.answer)
        sums[key] = sums.get(key, 0.0) + (1.0 if rule == "vote" else node.confidence or 0.0)
    return max(able, key=lambda n: sums[normalize(n.answer)])


def _one_query(completion: Completion) -> Parsed[str]:
    return parse_query(completion.text)


def _path(parent: Node, kind: str) -> str:
    return kind if parent.path == ROOT else f"{parent.path} / {kind}"


def _marked(parent: Node, path: str, text: str) -> SubQuery:
    """A query that repeats one of its own path ends its branch; other branches may ask the same."""
    repeated = any(same_query(text, r.query) for r in parent.records)
    return sub_queries([text], [text] if repeated else [])[0].model_copy(update={"direction": path})


def _others(history: Sequence[RoundRecord], node: Node) -> tuple[Hidden, ...]:
    """The passages of other branches."""
    return unseen([r for r in history if r not in node.records])
