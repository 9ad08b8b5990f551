"""Search-R1: a model trained by reinforcement to think, search and answer between tags (METHODS section 10)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from trio_core.methods.base import MethodSettings, PageText
from trio_core.methods.machine import PresetSettings
from trio_core.methods.raw import RawSearch, Template


class SearchR1Settings(PresetSettings):
    """Search-R1's settings; defaults are the authors'."""

    presets: ClassVar = {
        "author": {"max_turns": 4, "top_k": 3, "observation_tokens": 500, "template": "chatml"},
        "flashrag": {"max_turns": 5, "top_k": 5, "observation_tokens": 2000, "template": "none"},
        "small": {"max_turns": 2, "top_k": 2, "observation_tokens": 400, "template": "chatml"},
    }
    preset: Literal["author", "flashrag", "small"] = "author"
    """Fills the settings that you leave as they are."""
    max_turns: int = Field(default=4, ge=1, le=20)
    """Turns that may search; one more only answers."""
    top_k: int = Field(default=3, ge=1, le=100)
    """Passages a search."""
    observation_tokens: int = Field(default=500, ge=50)
    """Passages of a search are cut to so many tokens."""
    template: Template = "chatml"
    """chatml for the Qwen checkpoints; FlashRAG sends the bare prompt, which costs points."""


class SearchR1(RawSearch):
    """Search-R1 as a state machine."""

    name: ClassVar[str] = "search_r1"
    title: ClassVar[str] = "Search-R1"
    about: ClassVar[str] = "A model trained to search: it thinks, searches and answers in one growing text."
    page: ClassVar[PageText] = PageText(
        needs="A server that continues a raw text, best vLLM with a checkpoint of the hub such as PeterJinGo/SearchR1-nq_hotpotqa_train-"
        "qwen2.5-7b-em-ppo. Untrained models seldom keep to the tags.",
        differs="The prompt is in words of our own; point engine.roles.step.prompt_file at the prompt that the checkpoint was trained on. "
        "Answers are read from the model's own turns, so that one answer tag is enough; passages that do not fit are left out "
        "whole.",
    )
    roles: ClassVar[tuple[str, ...]] = ("step",)
    settings_type: ClassVar[type[MethodSettings]] = SearchR1Settings
    settings: SearchR1Settings
    close = "</search>"
    information = ("\n\n<information>", "</information>\n\n")
    correction = (
        "\nThat was no valid action. To search, I put the query between <search> and </search>. To answer, I put the answer between "
        "<answer> and </answer>. I try again.\n"
    )

    def opening(self, question: str) -> str:
        """As the authors do, a question mark is added where it is missing."""
        asked = question.strip()
        return super().opening(asked if asked.endswith("?") else f"{asked}?")
