"""What every step of a run is given, and how it asks: engines, retriever, progress, the wish to stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from training.pipeline.model_engine import ModelEngine
from training.pipeline.profile import TINY, EngineKind, PipelineProfile
from training.pipeline.records import file_hash
from training.progress import ProgressLog
from training.scoring import attached
from training.stop import StopRequest
from trio_core.engine_settings import RoleSettings
from trio_core.engines.base import Engine
from trio_core.engines.build import build_engine
from trio_core.engines.rule_script import rule
from trio_core.engines.scripted import ScriptedEngine
from trio_core.retrieval.base import Retriever
from trio_core.retrieval.build import build_retriever
from trio_core.settings import RetrieverSettings, Settings
from trio_core.values import ChatCall, Completion, Hit, Message

T = TypeVar("T")
R = TypeVar("R")


class Context(NamedTuple):
    """A run. `folder` holds a folder a step."""

    profile: PipelineProfile
    settings: Settings
    folder: Path
    device: str
    base: str
    """Folder or name of the base model."""
    log: ProgressLog
    stop: StopRequest
    snapshot_id: int | None = None

    def step(self, name: str) -> Path:
        """The folder of a step."""
        return self.folder / name


@asynccontextmanager
async def engine(context: Context, kind: EngineKind, adapter: Path | None = None) -> AsyncIterator[Engine]:
    """An engine that is up; `adapter` = the answer agent's. Raises EngineError, TrainingError."""
    found = _engine(context, kind, adapter)
    try:
        await found.start()
        yield found
    finally:
        await found.close()


def _engine(context: Context, kind: EngineKind, adapter: Path | None) -> Engine:
    if kind == "scripted":
        return ScriptedEngine(rule)
    if kind == "model":
        return ModelEngine(context.base, context.device, adapter, context.profile.rollouts.parallel)
    settings = attached(context.settings)
    if adapter is None:
        return build_engine(settings)
    # Named by its content: a server goes on with an adapter that it has under a name, and with its prefix cache.
    name = f"answer-{file_hash(adapter)[:12]}"
    roles = {**settings.engine.roles, "answer": RoleSettings(adapter=name)}
    vllm = settings.engine.vllm.model_copy(update={"adapters": {name: str(adapter.resolve())}})
    return build_engine(settings.model_copy(update={"engine": settings.engine.model_copy(update={"roles": roles, "vllm": vllm})}))


@asynccontextmanager
async def retriever(context: Context) -> AsyncIterator[Retriever]:
    """The retriever of the profile: words over its corpus, or that of the app's settings."""
    settings = context.settings
    if corpus := context.profile.corpus:
        chosen = RetrieverSettings(kind="bm25", corpus=corpus)
        settings = settings.model_copy(update={"retriever": chosen, "data_dir": context.folder})
    found = await asyncio.to_thread(build_retriever, settings)
    try:
        yield found
    finally:
        await found.close()


async def search(found: Retriever, query: str, k: int) -> tuple[Hit, ...]:
    """Hits of one query."""
    return (await found.search([query], k))[0].hits


async def ask(found: Engine, role: str, messages: tuple[Message, ...], max_tokens: int, temperature: float, seed: int) -> Completion:
    """One call, whole. Raises EngineError."""
    call = ChatCall(role=role, messages=messages, max_tokens=max_tokens, temperature=temperature, seed=seed, own_temperature=True)
    completion = Completion(text="")
    async for piece in found.stream(call):
        if isinstance(piece, Completion):
            completion = piece
    return completion


async def gathered(work: Callable[[T], Awaitable[R]], given: Sequence[T], parallel: int) -> list[R]:
    """Results in order, at most `parallel` at once; the first error ends all."""
    gate = asyncio.Semaphore(parallel)

    async def one(item: T) -> R:
        async with gate:
            return await work(item)

    tasks = [asyncio.create_task(one(item)) for item in given]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


def needs_tiny(profile: PipelineProfile) -> bool:
    """Whether the base model is to be made on the spot."""
    return profile.base.model == TINY
