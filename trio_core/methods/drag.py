"""DRAG: two agents debate what to retrieve, then two debate the answer; a moderator decides each time (METHODS section 14).

A round is a search and a debate about it. The search that the last debate asks for is a round of its own, without a debate.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from difflib import SequenceMatcher
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field

from trio_core.errors import InputError
from trio_core.events import BaseEvent, RoundStarted
from trio_core.evidence import VoteLabel
from trio_core.methods.base import Carried, MethodSettings, PageText, State
from trio_core.methods.machine import Machine, PoolState, PresetSettings, answered, sub_queries, unseen, unseen_texts
from trio_core.methods.records import RoundRecord
from trio_core.methods.trio import answer_of
from trio_core.parsing import Parsed, parse_query, visible_text
from trio_core.pool import pool_text
from trio_core.values import Completion, Message


class DragSettings(PresetSettings):
    """DRAG's settings; defaults are the authors'."""

    presets: ClassVar = {
        "author": {"retrieval_rounds": 3, "answer_rounds": 3, "top_k": 3},
        "small": {"retrieval_rounds": 1, "answer_rounds": 1, "top_k": 3},
    }
    preset: Literal["author", "small"] = "author"
    """Fills the settings that you leave as they are."""
    retrieval_rounds: int = Field(default=3, ge=1, le=10)
    """Debates about the pool at most."""
    answer_rounds: int = Field(default=3, ge=1, le=10)
    """Debates about the answer, always all of them."""
    top_k: int = Field(default=3, ge=1, le=100)
    """Passages a search."""


class DragState(PoolState):
    """The pool, and the query that the opponent asks for next."""

    pending: str = ""
    replaces: str = ""
    """A query of the pool that the pending one takes the place of."""


class Request(NamedTuple):
    """What the opponent asks for."""

    query: str = ""
    replaces: str = ""


class Drag(Machine[DragState]):
    """DRAG as a state machine."""

    name: ClassVar[str] = "drag"
    title: ClassVar[str] = "DRAG"
    about: ClassVar[str] = "Agents debate whether the passages suffice, then debate the answer; a moderator decides."
    page: ClassVar[PageText] = PageText(
        needs="Any chat engine; many calls, so it is the slowest method.",
        differs="The authors give the moderator one system message and no question turn; here all is a user message. They end a run whose "
        "action text they cannot read; here it goes to the answer. They keep an explanation behind the query in the query; here it "
        "is cut off.",
    )
    roles: ClassVar[tuple[str, ...]] = ("proponent", "opponent", "moderator", "answer_proponent", "answer_opponent", "answer")
    settings_type: ClassVar[type[MethodSettings]] = DragSettings
    state_type = DragState
    limit = "retrieval_rounds"
    settings: DragSettings

    def rounds(self) -> int:
        """The debates, and the search that the last one asks for."""
        return self.settings.retrieval_rounds + 1

    def max_calls(self) -> tuple[int, int]:
        """Three calls for each debate."""
        return 3 * (self.settings.retrieval_rounds + self.settings.answer_rounds), self.rounds()

    def carried(self, state: DragState) -> Carried:
        """The pool; arguments are not carried on."""
        return Carried(pool_text(state.pool))

    def forked(self, state: DragState, verdict: VoteLabel) -> DragState:
        """Goes on with what the opponent asked for."""
        if verdict == "insufficient" and state.stop and not state.pending:
            raise InputError(f"round {state.round} left no query to go on with; fork from an earlier round")
        return super().forked(state, verdict)

    async def round(self, state: DragState) -> AsyncIterator[BaseEvent | State]:
        """One search and, but for the last, one debate."""
        number = state.round + 1
        yield RoundStarted(round=number)
        note = f'in place of "{state.replaces}"' if state.replaces else "" if state.round else "the question"
        found = self.find(number, sub_queries([state.pending or state.question], note=note), self.settings.top_k, state.pool)
        async for event in found:
            yield event
        kept = tuple(r for r in state.pool if r.query != state.replaces)
        state = state.model_copy(update={"round": number, "pool": (*kept, *found.records), "pending": "", "replaces": ""})
        if number == self.rounds():
            yield state
            return
        async for item in self._debate(state):
            yield item

    async def _debate(self, state: DragState) -> AsyncIterator[BaseEvent | State]:
        """Two arguments that do not see each other, and the moderator's choice."""
        pro = self.ask("proponent", state.round, _argument, pool=state.pool, question=state.question)
        async for event in pro:
            yield event
        hidden = unseen([], unseen_texts("arguments of the other side", [pro.value]))
        con = self.ask(
            "opponent", state.round, lambda c: parse_request(c, state.pool), pool=state.pool, hidden=hidden, question=state.question
        )
        async for event in con:
            yield event
        choice = self.ask(
            "moderator",
            state.round,
            _winner,
            pool=state.pool,
            question=state.question,
            proponent=pro.value or "(nothing)",
            opponent=visible_text(con.completion.text).value or "(nothing)",
        )
        async for event in choice:
            yield event
        request = con.value
        repeated = bool(request.query) and sub_queries([request.query], [r.query for r in state.pool])[0].repeated
        stop = "proponent" if choice.value == "proponent" else "no_query" if not request.query else "repeat" if repeated else ""
        pending = Request() if repeated else request
        yield state.model_copy(update={"stop": stop, "pending": pending.query, "replaces": pending.replaces})

    async def answer(self, state: DragState) -> AsyncIterator[BaseEvent]:
        """The proponent answers from the pool, the opponent from its own knowledge; each sees the other's last answer."""
        sides: dict[str, list[Message]] = {"answer_proponent": [], "answer_opponent": []}
        final: Parsed[str] = Parsed("", "failed", "no call made")
        for _ in range(self.settings.answer_rounds):
            said = {}
            for role, turns in sides.items():
                reads = role == "answer_proponent"
                asked = self.ask(
                    role,
                    state.round,
                    answer_of,
                    pool=state.pool if reads else None,
                    turns=tuple(turns),
                    question=state.question,
                    hidden=() if reads else unseen(state.pool),
                )
                async for event in asked:
                    yield event
                said[role] = visible_text(asked.completion.text).value or "(no answer)"
            decided = self.ask(
                "answer",
                state.round,
                answer_of,
                pool=state.pool,
                question=state.question,
                proponent=said["answer_proponent"],
                opponent=said["answer_opponent"],
            )
            async for event in decided:
                yield event
            final = decided.parsed
            for role, other in (("answer_proponent", "answer_opponent"), ("answer_opponent", "answer_proponent")):
                sides[role] += [Message(role="assistant", content=said[role]), Message(role="user", content=rejoinder(said[other]))]
        yield answered(final)


def rejoinder(other: str) -> str:
    """What a side is told before it answers again."""
    return f"The other side answered: {other}\nThink again and write your answer in the same form, changed or not."


def _argument(completion: Completion) -> Parsed[str]:
    shown = visible_text(completion.text)
    return Parsed(shown.value) if shown.value else Parsed("", "failed", shown.note or "empty output")


def _winner(completion: Completion) -> Parsed[str]:
    """The side that was named last; without a name the debate goes on, as if for the opponent."""
    found = re.findall(r"\b(proponent|opponent)\b", visible_text(completion.text).value.lower())
    return Parsed(found[-1]) if found else Parsed("opponent", "failed", "names neither side")


_REQUEST = re.compile(r"query(?:\W+(optimi[sz]ation|expansion))?\W*?:[\s*]*(.+)", re.IGNORECASE)
_ARROW = re.compile(r"\s*(?:->|=>|→|⇒)\s*")


def parse_request(completion: Completion, pool: Sequence[RoundRecord]) -> Parsed[Request]:
    """`Query Optimization: old -> new` (old = the closest query of the pool) or `Query Expansion: new`, the last one written."""
    shown = visible_text(completion.text)
    found = _REQUEST.findall(shown.value)
    if not found:
        return Parsed(Request(), "failed", shown.note or ("names no query" if shown.value else "empty output"))
    kind, body = found[-1]
    old, *new = _ARROW.split(body, maxsplit=1)
    query = parse_query(re.split(r"\s+(?:because|since|as this)\b|[(;]", new[0] if new else old)[0])
    if not query.value:
        return Parsed(Request(), "failed", "names no query")
    if kind.lower() == "expansion" or not new:
        note = "" if kind.lower() == "expansion" else "no arrow; taken as an expansion" if kind else "taken as an expansion"
        return Parsed(Request(query.value), "repaired" if note else query.status, note or query.note)
    closest = max(pool, key=lambda r: SequenceMatcher(None, r.query.lower(), old.lower()).ratio())
    return Parsed(Request(query.value, closest.query), query.status, query.note)
