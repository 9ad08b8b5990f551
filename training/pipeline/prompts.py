"""Prompts of the pipeline: the debate's own, and those of the agents as they are asked live."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import resources

import yaml

from trio_core.pool import pool_text
from trio_core.prompting import RolePrompt, load_prompts
from trio_core.values import Message, PoolEntry


@lru_cache
def debate_prompts() -> dict[str, RolePrompt]:
    """Proponent, opponent, moderator."""
    text = resources.files("training.pipeline").joinpath("prompts", "debate.yaml").read_text(encoding="utf-8")
    data = yaml.safe_load(text)
    return {role: RolePrompt.model_validate({"system": data["system"], **entry, "source": f"debate.yaml:{role}"})
            for role, entry in data["roles"].items()}


@lru_cache
def agent_prompts() -> dict[str, RolePrompt]:
    """TRIO's query agent, judge and answer agent."""
    return load_prompts("trio").roles


def answer_messages(question: str, pool: Sequence[PoolEntry]) -> tuple[Message, ...]:
    """The answer agent's prompt for a pool."""
    return agent_prompts()["answer"].render(question=question, pool=pool_text(pool))


def query_messages(question: str, pool: Sequence[PoolEntry]) -> tuple[Message, ...]:
    """The query agent's prompt for a pool, as in a run's first extension."""
    used = "; ".join(f'"{entry.query}"' for entry in pool)
    return agent_prompts()["query"].render(question=question, pool=pool_text(pool), used=used, hint="")


def judge_messages(question: str, pool: Sequence[PoolEntry]) -> tuple[Message, ...]:
    """The judge's prompt for a pool."""
    return agent_prompts()["judge"].render(question=question, pool=pool_text(pool))
