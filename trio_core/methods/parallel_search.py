"""ParallelSearch: several sub-questions in one search, split at `##`, in a loop of steps (METHODS section 13).

Training-free here: the prompt asks for what the authors' models were trained to do. All that is written and found stays visible.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from trio_core.events import BaseEvent, RoundStarted
from trio_core.methods.base import Carried, MethodSettings, PageText, State
from trio_core.methods.chain import ChainState, chain_text, final_answer
from trio_core.methods.machine import Machine, PresetSettings, answered, sub_queries
from trio_core.methods.reading import STOPS, read_action
from trio_core.methods.records import RoundRecord
from trio_core.parsing import Parsed, clean_query
from trio_core.pool import fit_pool
from trio_core.values import Message

CORRECTION = "This was neither a search nor an answer. Write <search>…</search> to search, or <answer>…</answer> to answer."
LAST = "No more searches are possible. Write the answer now between <answer> and </answer>."
AGAIN = "All of this was searched before; see the results above."


class ParallelSearchSettings(PresetSettings):
    """ParallelSearch's settings; defaults are the authors'."""

    presets: ClassVar = {
        "author": {"max_turns": 4, "top_k": 3, "max_parts": 5, "observation_tokens": 1000},
        "maps": {"max_turns": 10, "top_k": 5, "max_parts": 5, "observation_tokens": 2000},
        "small": {"max_turns": 2, "top_k": 2, "max_parts": 3, "observation_tokens": 900},
    }
    preset: Literal["author", "maps", "small"] = "author"
    """maps: as the MAPS paper ran it as a baseline, prompt only."""
    max_turns: int = Field(default=4, ge=1, le=20)
    """Turns that may search; one more only answers."""
    top_k: int = Field(default=3, ge=1, le=100)
    """Passages a search."""
    max_parts: int = Field(default=5, ge=1, le=10)
    """Sub-questions of one search; further ones are left out."""
    observation_tokens: int = Field(default=1000, ge=100)
    """A result is at most so long; passages are left out whole, lowest rank first."""


class ParallelSearch(Machine[ChainState]):
    """ParallelSearch as a state machine: a round for each step."""

    name: ClassVar[str] = "parallel_search"
    title: ClassVar[str] = "ParallelSearch"
    about: ClassVar[str] = "Splits a question into parts, searches all parts at once, and goes on until it can answer."
    page: ClassVar[PageText] = PageText(
        needs="A chat engine with a model that keeps to tags; without raw completions each step is an assistant turn and each result a "
        "user turn. Of the authors' models (hub TreezzZ/ParallelSearch-7b-base) the base one wants raw completions, so chat turns "
        "are not what it was trained on.",
        differs="Run by a prompt, not by training. The authors put no sub-question above its passages and cut a result in mid-passage; here"
        " each part is named, passages are left out whole, parts are stripped and capped, and a part that was searched before is "
        "not searched again.",
    )
    roles: ClassVar[tuple[str, ...]] = ("step",)
    settings_type: ClassVar[type[MethodSettings]] = ParallelSearchSettings
    state_type = ChainState
    limit = "max_turns"
    settings: ParallelSearchSettings

    def rounds(self) -> int:
        """The searching turns and the last one."""
        return self.settings.max_turns + 1

    def max_calls(self) -> tuple[int, int]:
        """A step a turn; each searching turn searches all its parts."""
        return self.rounds(), self.settings.max_turns * self.settings.max_parts

    def carried(self, state: ChainState) -> Carried:
        """The whole conversation."""
        return chain_text(state, hide_passages=False)

    async def round(self, state: ChainState) -> AsyncIterator[BaseEvent | State]:
        """One step; where it searches, all its parts."""
        number = state.round + 1
        last = number == self.rounds()
        yield RoundStarted(round=number)
        turns = (*state.prompted(), *([Message(role="user", content=LAST)] if last else []))
        step = self.ask("step", number, read_action, turns=turns, stop=() if last else STOPS, question=state.question)
        async for event in step:
            yield event
        action, answer = step.value, final_answer(step.value)
        if action.kind != "search" and answer.value:
            yield state.then(action.step, stop="answered", answer=answer.value)
            return
        if last or action.kind == "none":
            yield state.then(action.step, "" if last else CORRECTION, note="the last turn held no answer" if last else step.parsed.note)
            return
        queries = sub_queries(self._parts(action.text), [r.query for r in state.history])
        found = self.find(number, queries, self.settings.top_k, state.history)
        async for event in found:
            yield event
        result = await self._result(found.records)
        yield state.then(action.step, result, history=(*state.history, *found.records))

    def _parts(self, text: str) -> list[str]:
        parts = [part for piece in text.split("##") if (part := clean_query(piece))]
        return parts[: self.settings.max_parts]

    async def _result(self, records: Sequence[RoundRecord]) -> str:
        if not records:
            return f"<information>{AGAIN}</information>"
        fitted = await fit_pool(records, self.settings.observation_tokens, self.tools.engine.count_tokens)
        return f"<information>\n{fitted.text}\n</information>"

    async def answer(self, state: ChainState) -> AsyncIterator[BaseEvent]:
        """What the last step answered; no call."""
        yield answered(Parsed(state.answer, "ok" if state.answer else "failed", state.note or "the turns ended before an answer"))
