"""One event loop in a thread of its own, where engine, retriever and hub live, whatever the web server does with its loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines from any thread in its loop."""

    def __init__(self, name: str = "trioscope") -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Begins the work and returns at once."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def call(self, work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Waits for the result; raises what the work raised. Not from the loop's own thread."""
        return self.submit(work).result(timeout)

    async def from_async(self, work: Coroutine[Any, Any, T]) -> T:
        """The same for a caller inside another event loop."""
        return await asyncio.wrap_future(self.submit(work))

    def close(self) -> None:
        """Stops the loop; call after everything in it is closed."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(timeout=5)
