"""TRIO's answer agent as runs use it, whichever method or job asks."""

from __future__ import annotations

from trio_core.engines.base import Engine
from trio_core.evidence import AnswerAgent
from trio_core.methods.base import check_settings
from trio_core.methods.trio import TrioSettings
from trio_core.prompting import load_prompts
from trio_core.settings import Settings
from trio_core.values import Capabilities

PARALLEL_ANSWERS = 8
"""Sampled answers at once on servers that batch (vLLM)."""


def context_tokens(settings: Settings, capabilities: Capabilities | None) -> int | None:
    """Context of the serving model: the setting, else what the probe found."""
    return settings.engine.context_tokens or (capabilities.context_tokens if capabilities else None)


def answer_agent(settings: Settings, engine: Engine, capabilities: Capabilities | None) -> AnswerAgent:
    """With the settings' prompt, context and way of repeating passages. Raises SettingsError."""
    prompt = load_prompts("trio", settings.engine.roles)["answer"]
    repeats = check_settings(TrioSettings, settings.methods.get("trio", {}), "trio").repeats
    parallel = 1 if settings.engine.kind == "embedded" else PARALLEL_ANSWERS
    return AnswerAgent(engine, prompt, context_tokens(settings, capabilities), repeats, parallel)
