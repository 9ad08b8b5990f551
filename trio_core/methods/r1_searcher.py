"""R1-Searcher: a base model trained by reinforcement to search by its own tags, without a chat template (METHODS section 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from trio_core.methods.base import MethodSettings, PageText
from trio_core.methods.machine import PresetSettings
from trio_core.methods.raw import RawSearch, Template
from trio_core.values import Hit


class R1SearcherSettings(PresetSettings):
    """R1-Searcher's settings; defaults are the authors'."""

    presets: ClassVar = {
        "author": {"max_turns": 9, "top_k": 5, "observation_tokens": 4000},
        "flashrag": {"max_turns": 5, "top_k": 5, "observation_tokens": 4000},
        "small": {"max_turns": 2, "top_k": 2, "observation_tokens": 400},
    }
    preset: Literal["author", "flashrag", "small"] = "author"
    """Fills the settings that you leave as they are."""
    max_turns: int = Field(default=9, ge=1, le=20)
    """Turns that may search; one more only answers (the authors' tenth step)."""
    top_k: int = Field(default=5, ge=1, le=100)
    """Passages a search."""
    observation_tokens: int = Field(default=4000, ge=50)
    """Passages of a search are cut to so many tokens."""
    template: Template = "none"
    """Chat template that the raw text is written in."""


class R1Searcher(RawSearch):
    """R1-Searcher as a state machine."""

    name: ClassVar[str] = "r1_searcher"
    title: ClassVar[str] = "R1-Searcher"
    about: ClassVar[str] = "A base model trained to search: keywords between its own tags, documents back, then an answer."
    page: ClassVar[PageText] = PageText(
        needs="A server that continues a raw text, best vLLM with XXsongLALA/Qwen-2.5-7B-base-RAG-RL or XXsongLALA/Llama-3.1-8B-instruct-"
        "RAG-RL. Untrained models seldom keep to the tags.",
        differs="The prompt is in words of our own; point engine.roles.step.prompt_file at the prompt that the checkpoint was trained on. "
        "The authors write \"I don't know.\" where a run ends without an answer; here it has none and says why. Their figures come "
        "from another corpus (KILT 2019) and encoder (bge-large).",
    )
    roles: ClassVar[tuple[str, ...]] = ("step",)
    settings_type: ClassVar[type[MethodSettings]] = R1SearcherSettings
    settings: R1SearcherSettings
    close = "<|end_of_query|>"
    information = ("\n\n<|begin_of_documents|>\n", "<|end_of_documents|>\n\n")

    def query(self, text: str) -> str:
        """Without quotes and dots of omission."""
        return " ".join(text.replace('"', "").replace("...", " ").split()) or text

    def shown(self, hits: Sequence[Hit]) -> list[str]:
        """`(1) title text`, one a line."""
        return [f"({n}) {' '.join(f'{h.passage.title} {h.passage.text}'.split())}" for n, h in enumerate(hits, 1)]
