"""Builds the engine that the settings name."""

from __future__ import annotations

from trio_core.engines.base import Engine
from trio_core.settings import Settings

RULE_WORD_DELAY_S = 0.02
"""Seconds a word of the built-in script, so that the pages show their live states."""


def build_engine(settings: Settings) -> Engine:
    """The engine of `engine.kind`, not yet started. Raises SettingsError. Imports only what that kind needs."""
    engine = settings.engine
    if engine.kind == "scripted":
        from trio_core.engines.rule_script import rule
        from trio_core.engines.scripted import ScriptedEngine

        if engine.script is not None:
            return ScriptedEngine.from_file(engine.script)
        return ScriptedEngine(rule, word_delay_s=RULE_WORD_DELAY_S)
    if engine.kind == "embedded":
        from trio_core.engines.embedded import EmbeddedEngine

        return EmbeddedEngine(settings)
    if engine.kind == "vllm":
        from trio_core.engines.vllm import VllmEngine

        return VllmEngine(settings)
    from trio_core.engines.client import OpenAIEngine

    return OpenAIEngine(engine)
