"""An engine whose calls all carry a seed, so that the runs of an evaluation sample the same way when they are repeated."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from trio_core.engines.base import Engine, JudgeAdapter
from trio_core.values import Capabilities, ChatCall, Completion, VerdictReading


class SeededEngine:
    """Passes everything on; a call with a seed of its own keeps it."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self._engine = engine
        self.seed = seed

    @property
    def judge(self) -> JudgeAdapter:
        """The judge that is live."""
        return self._engine.judge

    @judge.setter
    def judge(self, judge: JudgeAdapter) -> None:
        self._engine.judge = judge

    async def start(self) -> None:
        """See `Engine`."""
        await self._engine.start()

    async def probe(self) -> Capabilities:
        """See `Engine`."""
        return await self._engine.probe()

    def stream(self, call: ChatCall) -> AsyncGenerator[str | Completion, None]:
        """See `Engine`."""
        return self._engine.stream(self._seeded(call))

    async def verdict(self, call: ChatCall) -> VerdictReading:
        """See `Engine`."""
        return await self._engine.verdict(self._seeded(call))

    async def count_tokens(self, text: str) -> int:
        """See `Engine`."""
        return await self._engine.count_tokens(text)

    def describe(self, role: str) -> tuple[str, str | None]:
        """See `Engine`."""
        return self._engine.describe(role)

    async def use_judge(self, adapter: JudgeAdapter) -> None:
        """See `Engine`."""
        await self._engine.use_judge(adapter)

    async def close(self) -> None:
        """See `Engine`."""
        await self._engine.close()

    def _seeded(self, call: ChatCall) -> ChatCall:
        return call if call.seed is not None else call.model_copy(update={"seed": self.seed})
