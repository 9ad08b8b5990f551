"""Search-o1, training-free: reasons, searches by tags, and lets a second call read the passages (METHODS section 12).

That call sees the question at hand, the passages and the reasoning so far, abridged; only what it extracts enters the
reasoning. The passages themselves stay hidden from it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from trio_core.events import BaseEvent, Hidden, Knowledge, RoundStarted
from trio_core.methods.base import Carried, MethodSettings, PageText, State
from trio_core.methods.chain import ChainState, chain_text, final_answer
from trio_core.methods.machine import Machine, PresetSettings, answered, sub_queries, unseen
from trio_core.methods.reading import STOPS, read_action
from trio_core.methods.trio import answer_of
from trio_core.parsing import Parsed, visible_text
from trio_core.values import Completion, Message

NOTHING = "No helpful information found."
SPENT = "No more searches are possible. Answer from what you know."
AGAIN = "This was searched before; see the result above."


class SearchO1Settings(PresetSettings):
    """Search-o1's settings; defaults are the authors' for multi-hop questions."""

    presets: ClassVar = {
        "author": {"max_turns": 15, "max_searches": 10, "top_k": 10},
        "maps": {"max_turns": 11, "max_searches": 10, "top_k": 5},
        "small": {"max_turns": 4, "max_searches": 3, "top_k": 3},
    }
    preset: Literal["author", "maps", "small"] = "author"
    """maps: as the MAPS paper ran it as a baseline."""
    max_turns: int = Field(default=15, ge=1, le=30)
    """Turns of the model at most."""
    max_searches: int = Field(default=10, ge=0, le=30)
    """Searches at most."""
    top_k: int = Field(default=10, ge=1, le=100)
    """Passages a search."""
    backoff: bool = True
    """A run without an answer asks once more without any passages, as the paper's tables do."""


class SearchO1(Machine[ChainState]):
    """Search-o1 as a state machine: a round for each step of reasoning."""

    name: ClassVar[str] = "search_o1"
    title: ClassVar[str] = "Search-o1"
    about: ClassVar[str] = "Reasons step by step and searches when it lacks a fact; a second call reads the passages for it."
    page: ClassVar[PageText] = PageText(
        needs="A chat engine with a model that keeps to search tags; without raw completions each step is an assistant turn and each "
        "result a user turn. A small model often never searches.",
        differs="The authors continue one raw text of QwQ-32B and search the web with Bing; here chat turns continue it and passages of the"
        ' corpus stand in for pages. The search tag is <search> (theirs is read too), and "the answer is" counts where the box is '
        "missing.",
    )
    roles: ClassVar[tuple[str, ...]] = ("reason", "extract", "answer")
    settings_type: ClassVar[type[MethodSettings]] = SearchO1Settings
    state_type = ChainState
    limit = "max_turns"
    settings: SearchO1Settings

    def max_calls(self) -> tuple[int, int]:
        """A step a turn, an extract a search, and the back-off."""
        searches = min(self.settings.max_searches, self.settings.max_turns)
        return self.settings.max_turns + searches + self.settings.backoff, searches

    def carried(self, state: ChainState) -> Carried:
        """Steps and extracts; the passages are hidden."""
        return chain_text(state, hide_passages=True)

    async def round(self, state: ChainState) -> AsyncIterator[BaseEvent | State]:
        """One step of reasoning and, where it searches, one extract."""
        number = state.round + 1
        yield RoundStarted(round=number)
        step = self.ask(
            "reason", number, read_action, turns=state.prompted(), hidden=unseen(state.history), stop=STOPS, question=state.question
        )
        async for event in step:
            yield event
        action = step.value
        if action.kind != "search":
            answer = final_answer(action)
            yield state.then(action.step, stop="answered" if answer.value else "no_output", answer=answer.value, note=answer.note)
            return
        spent = len(state.history) >= self.settings.max_searches
        query = sub_queries([action.text], [r.query for r in state.history])[0]
        if spent:
            query = query.model_copy(update={"repeated": True, "note": "the limit of searches was reached"})
        found = self.find(number, (query,), self.settings.top_k, state.history)
        async for event in found:
            yield event
        if not found.records:
            yield state.then(action.step, result_turn(SPENT if spent else AGAIN))
            return
        reasoning = "\n".join(t.content for t in (*state.turns, Message(role="assistant", content=action.step)))
        text, left_out = abridged(reasoning)
        hidden = (Hidden(what="lines of reasoning", count=left_out, tokens=(len(reasoning) - len(text)) // 4),) if left_out else ()
        read = self.ask(
            "extract", number, parse_extract, pool=found.records, hidden=hidden, question=state.question, reasoning=text, query=action.text
        )
        async for event in read:
            yield event
        yield Knowledge(round=number, notes=(read.value,) if read.value != NOTHING else ())
        yield state.then(action.step, result_turn(read.value), history=(*state.history, *found.records))

    async def answer(self, state: ChainState) -> AsyncIterator[BaseEvent]:
        """The boxed answer, or one call without passages where there is none."""
        if state.answer or not self.settings.backoff:
            yield answered(
                Parsed(state.answer, "ok" if state.answer else "failed", state.note or "the limit of turns came before an answer")
            )
            return
        asked = self.ask("answer", state.round, answer_of, hidden=unseen(state.history), question=state.question)
        async for event in asked:
            yield event
        yield answered(asked.parsed)


def result_turn(text: str) -> str:
    """How a result enters the reasoning."""
    return f"<result>{text}</result>\nGo on with the reasoning."


def abridged(reasoning: str, last: int = 4) -> tuple[str, int]:
    """Numbered lines: the first, the last four, and those with a search or result; how many were left out."""
    lines = [line for line in reasoning.splitlines() if line.strip()]
    kept: list[str] = []
    left_out = 0
    for n, line in enumerate(lines):
        if n == 0 or n >= len(lines) - last or re.search(r"</?(?:search|result)>", line):
            kept.append(f"{n + 1}. {line}")
            continue
        left_out += 1
        if kept[-1] != "...":
            kept.append("...")
    return "\n".join(kept), left_out


_HEADER = re.compile(r"\**\s*final information\s*\**\s*:?\s*\**", re.IGNORECASE)


def parse_extract(completion: Completion) -> Parsed[str]:
    """What follows the last "Final Information" in one line; without it nothing helpful was found."""
    shown = visible_text(completion.text)
    parts: Sequence[str] = _HEADER.split(shown.value)
    text = " ".join(parts[-1].split()) if len(parts) > 1 else ""
    if not text:
        return Parsed(NOTHING, "failed", shown.note or ("no Final Information in the output" if shown.value else "empty output"))
    return Parsed(NOTHING if re.match(r"\W*no helpful information", text, re.IGNORECASE) else text)
