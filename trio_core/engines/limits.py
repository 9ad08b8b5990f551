"""Our own time limits on a call. The HTTP library's limits are per read, so a slow drip would never trip them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import TypeVar

from trio_core.engine_settings import EngineSettings
from trio_core.errors import EngineBroken, EngineTimeout

T = TypeVar("T")

_WHAT = {
    "first_token_s": "did not write a first token",
    "idle_s": "stopped writing in mid-reply",
    "total_s": "did not finish its reply",
}


class CutShort(EngineTimeout, EngineBroken):
    """A limit ran out in mid-reply: a timeout whose `partial` keeps the text that had arrived."""


class CallClock:
    """Watches one call: a first token in time, no long pause afterwards, and an end in time."""

    def __init__(self, limits: EngineSettings, address: str) -> None:
        self._limits = limits
        self._address = address
        self._started = time.monotonic()

    async def wait(self, step: Awaitable[T], *, begun: bool) -> T:
        """The step's result. Raises EngineTimeout naming the limit and its setting."""
        spent = time.monotonic() - self._started
        total = self._limits.total_s - spent
        step_limit = self._limits.idle_s if begun else self._limits.first_token_s - spent
        name = ("idle_s" if begun else "first_token_s") if step_limit <= total else "total_s"
        try:
            async with asyncio.timeout(max(0.0, min(step_limit, total))):
                return await step
        except TimeoutError as error:
            raise EngineTimeout(self._text(name)) from error

    def _text(self, name: str) -> str:
        seconds = getattr(self._limits, name)
        return (f"the model server at {self._address} {_WHAT[name]} within {seconds:g} s; it may be busy or reading a "
                f"long prompt. Try again, or raise the setting engine.{name}")
