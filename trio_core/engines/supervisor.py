"""Keeps a server process of ours up: starts it, notices its crash, restarts it and keeps a record for people."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from trio_core.engines.process import ServerProcess
from trio_core.errors import EngineBroken, EngineError, EngineUnreachable

STARTUP_S = 180.0
CRASHES_ALLOWED = 3
CRASH_WINDOW_S = 120.0
CRASH_SEEN_S = 2.0
"""How long after a broken reply the end of its server may be noticed."""
NOTICES_KEPT = 100


class Supervisor:
    """One server. `spawn` makes its process, `on_up` gets the address that it announces.

    `notices` are dated sentences about crashes, `status` says what the server does now.
    """

    def __init__(self, spawn: Callable[[], Awaitable[ServerProcess]], on_up: Callable[[str], Awaitable[None]]) -> None:
        self.notices: list[str] = []
        self.status = "not started"
        self.process: ServerProcess | None = None
        self._spawn, self._on_up = spawn, on_up
        self._down_because = "the model server is not started"
        self._settled = asyncio.Event()
        self._settled.set()
        self._stopping = False
        self._crashes: list[float] = []
        self._watchers: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Starts the server and waits until it answers. Raises EngineError with the last words of its log.

        A server that a signal ends while it loads (too little memory, a kill) is started again, as after any crash.
        """
        while (process := await self._load()) is None:
            pass
        self.process, self.status = process, "ready"
        watcher = asyncio.create_task(self._watch(process))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)

    async def stop(self, reason: str) -> None:
        """Ends the server; calls from now on get `reason`."""
        process, self.process = self.process, None
        self._down_because = reason
        # A restart under way is let finish, since half-started processes could not be found again; its server then
        # ends here too.
        self._stopping = True
        try:
            await self._settled.wait()
            restarted, self.process = self.process, None
            for running in filter(None, (process, restarted)):
                await running.stop()
        finally:
            self._stopping = False
            self.status = "stopped"

    async def available(self) -> ServerProcess:
        """The running process, after a restart if one is under way. Raises EngineUnreachable with the reason."""
        await self._settled.wait()
        if self.process is None:
            raise EngineUnreachable(self._down_because)
        return self.process

    async def explained(self, error: EngineError, process: ServerProcess, partial: str) -> EngineError:
        """`error`, or what to say instead if the process has ended meanwhile."""
        if not await process.ended(CRASH_SEEN_S):
            return error
        if process.stopped:
            return EngineBroken("the model server was stopped while it was answering; run it again", partial)
        return EngineBroken(f"the model server crashed ({_how(process)}) while it was answering and is being restarted; run "
                            f"it again. Its last words: {process.last_words()}", partial)

    async def _load(self) -> ServerProcess | None:
        """A server that answers; null after a crash that another try may mend."""
        self.status = "loading the model"
        process = await self._spawn()
        try:
            await self._on_up(await self._address_of(process))
            return process
        except BaseException as error:
            killed = process.returncode is not None and process.returncode < 0
            self.status = "stopped"
            await process.stop()
            if not isinstance(error, EngineError) or not killed or self._crashed_too_often():
                raise
            self._note(f"The model server crashed while it was loading ({_how(process)}: {process.last_words()}) and is started again.")
            return None

    async def _address_of(self, process: ServerProcess) -> str:
        end = asyncio.ensure_future(process.ended())
        either: set[asyncio.Future[Any]] = {process.announced, end}
        await asyncio.wait(either, timeout=STARTUP_S, return_when=asyncio.FIRST_COMPLETED)
        end.cancel()
        if process.announced.done():
            return process.announced.result()
        if process.returncode is None:
            raise EngineError(f"the model server did not come up within {STARTUP_S:g} s; is the machine short of memory?")
        raise EngineError(f"the model server did not come up ({_how(process)}): {process.last_words()}. Its log is in the "
                          "data folder (logs/llama.log); check engine.embedded (model, port, context) and free memory")

    async def _watch(self, process: ServerProcess) -> None:
        await process.ended()
        if process is not self.process:
            return  # stopped by us
        self.process = None
        self._settled.clear()
        try:
            await self._restart(process)
        finally:
            self._settled.set()

    async def _restart(self, process: ServerProcess) -> None:
        if self._stopping:
            return
        what = f"The model server crashed ({_how(process)}: {process.last_words()})"
        if self._crashed_too_often():
            self._give_up(f"{what} for time {len(self._crashes)} within {CRASH_WINDOW_S:g} s and stays down; restart the app")
            return
        try:
            await self.start()
            self._note(f"{what} and was restarted. Calls that were under way have failed; run them again.")
        except (EngineError, OSError) as error:
            self._give_up(f"{what} and could not be restarted: {error}")

    def _crashed_too_often(self) -> bool:
        """Counts one more crash."""
        now = time.monotonic()
        self._crashes = [t for t in self._crashes if now - t < CRASH_WINDOW_S] + [now]
        return len(self._crashes) > CRASHES_ALLOWED

    def _give_up(self, reason: str) -> None:
        self._down_because, self.status = reason, "stopped"
        self._note(reason)

    def _note(self, text: str) -> None:
        self.notices.append(f"{datetime.now():%Y-%m-%d %H:%M:%S} {text}")
        del self.notices[:-NOTICES_KEPT]


def _how(process: ServerProcess) -> str:
    code = process.returncode
    return f"signal {-code}" if code is not None and code < 0 else f"exit status {code}"
