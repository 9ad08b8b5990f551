"""The start-up probe: what a server can do, found out by asking it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trio_core.engines.verdict import LABELS, Constraint
from trio_core.errors import EngineBroken, EngineError, EngineTimeout, EngineUnreachable
from trio_core.values import Capabilities, ChatCall, Completion, Message

if TYPE_CHECKING:
    from trio_core.engines.client import OpenAIEngine

STRAY = "Say hello."
"""Nothing that a free model would answer with one of the labels: only a real constraint yields one."""
WARM_UP_WORDS = 64
"""Enough to measure reading by; a CPU reads it in about a second."""


async def probe_server(engine: OpenAIEngine) -> Capabilities:
    """Asks for models, context and abilities. Three or more short calls. Raises EngineError where nothing answers."""
    model = await engine.model_for("")
    listed = await engine.routes.models()
    props = await engine.routes.json("GET", "/props")
    kind, logprobs = await _constraint(engine, llama=isinstance(props, dict))
    done = await _short_call(engine)
    raw = await _continues(engine, model)
    return Capabilities(
        model=model, context_tokens=engine.settings.context_tokens or _context(listed, props, model),
        cached_tokens=done.usage.cached_tokens is not None, verdict=kind, logprobs=logprobs, raw=raw,
        system_role=not engine.without_system(model), adapters=_adapters(listed), notes=_notes(kind, logprobs, done),
        prompt_tokens_per_s=_prompt_speed(done), completion_tokens_per_s=_writing_speed(done))


async def _constraint(engine: OpenAIEngine, *, llama: bool) -> tuple[Constraint, bool]:
    order: tuple[Constraint, ...] = ("grammar", "choice") if llama else ("choice", "grammar")
    for kind in (*order, "free"):
        answer = await _try(engine, kind)
        if answer is not None and (kind == "free" or answer[0].text.strip() in LABELS):
            return kind, bool(answer[1])
    return "none", False


async def _try(engine: OpenAIEngine, kind: Constraint) -> tuple[Completion, list[Any]] | None:
    call = ChatCall(role="judge", messages=(Message(role="user", content=STRAY),), max_tokens=8)
    try:
        return await engine.labelled(call, kind)
    except (EngineUnreachable, EngineTimeout):
        raise
    except EngineError:
        return None  # the server refuses the fields of this constraint


async def _continues(engine: OpenAIEngine, model: str) -> bool:
    """True where the server continues a raw text."""
    try:
        reply = await engine.routes.json("POST", "/v1/completions", {"model": model, "prompt": "Paris is", "max_tokens": 1})
    except EngineBroken:
        return False
    choices = reply.get("choices") if isinstance(reply, dict) else None
    return bool(choices) and isinstance(choices, list) and isinstance(choices[0].get("text"), str)


async def _short_call(engine: OpenAIEngine) -> Completion:
    words = " ".join(["river"] * WARM_UP_WORDS)
    messages = (Message(role="system", content="You are brief."), Message(role="user", content=f"{words}\nCount to ten."))
    async for part in engine.stream(ChatCall(role="probe", messages=messages, max_tokens=8)):
        if isinstance(part, Completion):
            return part
    raise EngineError("the engine ended a call without a completion")


def _context(listed: list[dict[str, Any]], props: Any, model: str) -> int | None:
    """llama.cpp tells the context of one slot, vLLM that of the model."""
    slot = props.get("default_generation_settings", {}).get("n_ctx") if isinstance(props, dict) else None
    entry = next((m for m in listed if m["id"] == model), listed[0] if listed else {})
    found = slot or entry.get("max_model_len") or (entry.get("meta") or {}).get("n_ctx")
    return int(found) if found else None


def _adapters(listed: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(str(m["id"]) for m in listed if m.get("parent"))


def _prompt_speed(done: Completion) -> float | None:
    read = done.usage.prompt_tokens - (done.usage.cached_tokens or 0)
    return round(read / done.first_token_s, 1) if done.first_token_s and read > 0 else None


def _writing_speed(done: Completion) -> float | None:
    spent = done.seconds - (done.first_token_s or done.seconds)
    return round((done.usage.completion_tokens - 1) / spent, 1) if spent > 0 and done.usage.completion_tokens > 1 else None


def _notes(kind: Constraint, logprobs: bool, done: Completion) -> tuple[str, ...]:
    notes = []
    if kind in ("free", "none"):
        notes.append("the server does not constrain replies: verdicts are read from free text")
    if not logprobs:
        notes.append("the server sends no log-probabilities: P(sufficient) is not available")
    if done.usage.cached_tokens is None:
        notes.append("the server does not report cached prompt tokens")
    if not done.usage.prompt_tokens:
        notes.append("the server reports no token usage")
    return tuple(notes)
