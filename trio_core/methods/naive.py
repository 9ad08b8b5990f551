"""Naive RAG: search the question once, answer from what was found (METHODS section 4)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import ClassVar, Literal

from pydantic import Field

from trio_core.events import BaseEvent, RoundStarted
from trio_core.methods.base import Carried, MethodSettings, PageText, State
from trio_core.methods.machine import Machine, PoolState, PresetSettings, answered
from trio_core.methods.trio import answer_of
from trio_core.pool import pool_text
from trio_core.values import SubQuery


class NaiveSettings(PresetSettings):
    """Naive RAG's settings."""

    presets: ClassVar = {"flashrag": {"top_k": 5}, "search_o1": {"top_k": 10}, "small": {"top_k": 3}}
    preset: Literal["flashrag", "search_o1", "small"] = "flashrag"
    """Fills the settings that you leave as they are."""
    top_k: int = Field(default=5, ge=1, le=100)
    """Passages a search."""


class Naive(Machine[PoolState]):
    """Naive RAG as a state machine: one round."""

    name: ClassVar[str] = "naive"
    title: ClassVar[str] = "Naive RAG"
    about: ClassVar[str] = "One search with the question itself, one answer: what every round after it must beat."
    page: ClassVar[PageText] = PageText(
        needs="Any chat engine.",
        differs="FlashRAG puts the passages into the system message; here they come first in the user message, so that the prefix is "
        "cached. FlashRAG cuts a prompt that is too long in its middle; here the lowest-ranked passages are left out whole.",
    )
    roles: ClassVar[tuple[str, ...]] = ("answer",)
    settings_type: ClassVar[type[MethodSettings]] = NaiveSettings
    settings: NaiveSettings

    def max_calls(self) -> tuple[int, int]:
        """One call, one search."""
        return 1, 1

    def carried(self, state: PoolState) -> Carried:
        """The passages."""
        return Carried(pool_text(state.pool))

    async def round(self, state: PoolState) -> AsyncIterator[BaseEvent | State]:
        """The search."""
        yield RoundStarted(round=1)
        found = self.find(1, (SubQuery(text=state.question, note="the question"),), self.settings.top_k)
        async for event in found:
            yield event
        yield state.model_copy(update={"round": 1, "stop": "one_round", "pool": found.records})

    async def answer(self, state: PoolState) -> AsyncIterator[BaseEvent]:
        """One call with all passages."""
        asked = self.ask("answer", state.round, answer_of, pool=state.pool, question=state.question)
        async for event in asked:
            yield event
        yield answered(asked.parsed)
