"""Lets calls through side by side, and a change of the server only when none is under way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gate:
    """Many calls or one change. A waiting change holds back new calls, so that it comes to its turn."""

    def __init__(self) -> None:
        self._open, self._idle = asyncio.Event(), asyncio.Event()
        self._open.set()
        self._idle.set()
        self._changing = asyncio.Lock()
        self._calls = 0

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Goes through with one call. Leaving never waits, so that a cancelled call is out at once."""
        while not self._open.is_set():
            await self._open.wait()
        self._calls += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._idle.set()

    @asynccontextmanager
    async def change(self) -> AsyncIterator[None]:
        """Waits for the calls under way and keeps new ones out meanwhile."""
        async with self._changing:
            self._open.clear()
            try:
                await self._idle.wait()
                yield
            finally:
                self._open.set()
