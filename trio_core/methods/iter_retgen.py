"""Iter-RetGen: each output makes the next query; the writer sees only the newest passages (METHODS section 8).

No stop rule: so many rounds as the setting says. A query that repeats an earlier one ends the run, since nothing could change.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import ClassVar, Literal

from pydantic import Field

from trio_core.events import BaseEvent, RoundStarted
from trio_core.methods.base import Carried, MethodSettings, PageText, State
from trio_core.methods.machine import (
    Machine,
    PresetSettings,
    answered,
    sub_queries,
    under_question,
    unseen,
    unseen_texts,
)
from trio_core.methods.reading import thought_answer
from trio_core.methods.records import RoundRecord
from trio_core.methods.trio import answer_of
from trio_core.parsing import Parsed, visible_text


class IterRetgenSettings(PresetSettings):
    """Iter-RetGen's settings; defaults are the paper's."""

    presets: ClassVar = {
        "paper": {"iterations": 2, "outputs": "reasoned", "query": "output first", "top_k": 5},
        "flashrag": {"iterations": 3, "outputs": "short", "query": "question first", "top_k": 5},
        "small": {"iterations": 2, "outputs": "reasoned", "query": "output first", "top_k": 3},
    }
    preset: Literal["paper", "flashrag", "small"] = "paper"
    """Fills the settings that you leave as they are."""
    iterations: int = Field(default=2, ge=1, le=10)
    """Rounds of search and answer."""
    outputs: Literal["reasoned", "short"] = "reasoned"
    """A reasoned answer makes a richer next query than the bare answer of FlashRAG."""
    query: Literal["output first", "question first"] = "output first"
    """What is searched from the second round on: the last output with the question before or after it."""
    top_k: int = Field(default=5, ge=1, le=100)
    """Passages a search."""


class IterRetgenState(State):
    """Outputs so far (the newest makes the next query) and the hidden passages."""

    thoughts: tuple[str, ...] = ()
    history: tuple[RoundRecord, ...] = ()
    answer: str = ""
    note: str = "no call made"
    """Why there is no answer."""


class IterRetgen(Machine[IterRetgenState]):
    """Iter-RetGen as a state machine."""

    name: ClassVar[str] = "iter_retgen"
    title: ClassVar[str] = "Iter-RetGen"
    about: ClassVar[str] = "Answers, searches with the answer, answers again from the new passages alone."
    page: ClassVar[PageText] = PageText(
        needs="Any chat engine.",
        differs="There is no authors' repository; preset paper follows the paper (two rounds, reasoned outputs), preset flashrag FlashRAG "
        "(three rounds, bare answers appended to the question). Instructions stand in place of the paper's worked examples. A query"
        " that repeats an earlier one ends the run.",
    )
    roles: ClassVar[tuple[str, ...]] = ("generate", "generate_short")
    settings_type: ClassVar[type[MethodSettings]] = IterRetgenSettings
    state_type = IterRetgenState
    limit = "iterations"
    settings: IterRetgenSettings

    def max_calls(self) -> tuple[int, int]:
        """One call and one search a round; the last output is the answer."""
        return self.settings.iterations, self.settings.iterations

    def carried(self, state: IterRetgenState) -> Carried:
        """The newest output, which goes into the next query; passages and older outputs are hidden."""
        return Carried("\n".join(state.thoughts[-1:]), unseen(state.history, unseen_texts("earlier outputs", state.thoughts[:-1])))

    async def round(self, state: IterRetgenState) -> AsyncIterator[BaseEvent | State]:
        """One search, one output."""
        number = state.round + 1
        yield RoundStarted(round=number)
        queries = sub_queries([self._query(state)], [r.query for r in state.history], "" if state.round else "the question")
        found = self.find(number, queries, self.settings.top_k, state.history)
        async for event in found:
            yield event
        if not found.records:
            yield state.model_copy(update={"round": number, "stop": "fixed_point"})
            return
        reasoned = self.settings.outputs == "reasoned"
        hidden = unseen(state.history, unseen_texts("earlier outputs", state.thoughts))
        asked = self.ask(
            "generate" if reasoned else "generate_short",
            number,
            thought_answer if reasoned else answer_of,
            pool=under_question(state.question, found.records),
            hidden=hidden,
            question=state.question,
        )
        async for event in asked:
            yield event
        output = " ".join(visible_text(asked.completion.text).value.split())
        yield state.model_copy(
            update={
                "round": number,
                "thoughts": (*state.thoughts, output),
                "history": (*state.history, *found.records),
                "answer": asked.value,
                "note": asked.parsed.note,
            }
        )

    def _query(self, state: IterRetgenState) -> str:
        if not state.thoughts:
            return state.question
        parts = [state.thoughts[-1], state.question]
        return " ".join(parts if self.settings.query == "output first" else reversed(parts)).strip()

    async def answer(self, state: IterRetgenState) -> AsyncIterator[BaseEvent]:
        """The last output; no call."""
        yield answered(Parsed(state.answer, "ok" if state.answer else "failed", state.note))
