"""No retrieval: one call from the model's own knowledge (METHODS section 5)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

from trio_core.errors import InputError
from trio_core.events import Answered, BaseEvent
from trio_core.evidence import VoteLabel
from trio_core.methods.base import Carried, MethodSettings, PageText, Reply, State, Tools, ask
from trio_core.methods.trio import answer_of
from trio_core.parsing import Parsed


class NoRetrievalSettings(MethodSettings):
    """Nothing to set."""


class NoRetrieval:
    """No rounds: straight to the answer."""

    name: ClassVar[str] = "no_retrieval"
    title: ClassVar[str] = "No retrieval"
    about: ClassVar[str] = "One answer from the model's own knowledge: the floor for every other method."
    page: ClassVar[PageText] = PageText(needs="Any chat engine.", differs="FlashRAG's zero-shot run, in words of our own.")
    roles: ClassVar[tuple[str, ...]] = ("answer",)
    settings_type: ClassVar[type[MethodSettings]] = NoRetrievalSettings

    def __init__(self, settings: NoRetrievalSettings, tools: Tools) -> None:
        self.settings = settings
        self.tools = tools

    def begin(self, question: str) -> State:
        """The question alone."""
        return State(question=question, stop="no_rounds")

    def load(self, data: Mapping[str, Any]) -> State:
        """Reads a stored state."""
        return State.model_validate(data)

    def max_calls(self) -> tuple[int, int]:
        """One call, no retrieval."""
        return 1, 0

    def finished(self, state: State) -> str | None:
        """Always."""
        return state.stop

    def forked(self, state: State, verdict: VoteLabel) -> State:
        """Never: there is no round to leave."""
        raise InputError("no_retrieval has no rounds, so there is nothing to fork")

    def carried(self, state: State) -> Carried:
        """Nothing."""
        return Carried("")

    async def round(self, state: State) -> AsyncIterator[BaseEvent | State]:
        """Never called; a round changes nothing."""
        yield state

    async def answer(self, state: State) -> AsyncIterator[BaseEvent]:
        """One call."""
        messages = self.tools.prompts["answer"].render(question=state.question)
        parsed: Parsed[str] = Parsed("", "failed", "no call made")
        async for item in ask(self.tools, "answer", 0, messages, answer_of):
            if isinstance(item, Reply):
                parsed = item.parsed
            else:
                yield item
        yield Answered(answer=parsed.value, note=parsed.note if parsed.status == "failed" else "")
