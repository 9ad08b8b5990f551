"""A server that the app starts: a child process with its log kept, its end noticed, and a quick stop."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

import trio_core

LOG_LINES = 400
LINE_LIMIT = 1 << 20
STOP_S = 10.0


class ServerProcess:
    """One run of a server program. What it writes goes to `log_file` (if any); the last lines stay in memory.

    `announced` gets the rest of the first line on its stdout that begins with `announcement`.
    """

    def __init__(self, process: asyncio.subprocess.Process, announcement: str, log_file: Path | None) -> None:
        self._process = process
        self._announcement = announcement
        self._log_file = log_file
        self._lines: deque[str] = deque(maxlen=LOG_LINES)
        self.stopped = False
        self.announced: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        streams = (process.stdout, process.stderr)
        self._readers = {asyncio.create_task(self._read(stream)) for stream in streams if stream is not None}
        self._waiter = asyncio.create_task(process.wait())

    @classmethod
    async def spawn(cls, command: Sequence[str], env: Mapping[str, str], *, announcement: str = "address ",
                    log_file: Path | None = None) -> ServerProcess:
        """Starts the program with pipes on all three streams. Raises OSError.

        Call it on the event loop's thread: on Linux a tied child ends with the *thread* that made it.
        """
        if log_file is not None:
            log_file.parent.mkdir(parents=True, exist_ok=True)
        process = await asyncio.create_subprocess_exec(
            *command, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, limit=LINE_LIMIT)
        return cls(process, announcement, log_file)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Exit status, negative for a signal; null while it runs."""
        return self._process.returncode

    async def ended(self, timeout_s: float | None = None) -> bool:
        """Waits for the end; False if it still runs after `timeout_s` seconds (null = no limit)."""
        done, _ = await asyncio.wait({self._waiter}, timeout=timeout_s)
        if done:
            await asyncio.wait(self._readers, timeout=1.0)
        return bool(done)

    def last_words(self, mark: str = " E ", count: int = 3) -> str:
        """The last lines of its log that hold `mark` (llama.cpp marks errors so), or the last lines of all."""
        marked = [line for line in self._lines if mark in line]
        return " | ".join((marked or list(self._lines))[-count:]) or "it wrote nothing to its log"

    async def stop(self) -> None:
        """Ends it: politely, and after some seconds by force. `stopped` tells this from a crash."""
        self.stopped = True
        for end in (self._process.terminate, self._process.kill):
            if self._process.returncode is None:
                end()
                await self.ended(STOP_S)
        for reader in self._readers:
            reader.cancel()

    async def _read(self, stream: asyncio.StreamReader) -> None:
        sink = self._log_file.open("a", encoding="utf-8") if self._log_file else None
        try:
            async for raw in stream:
                line = raw.decode(errors="replace").rstrip()
                if line.startswith(self._announcement) and not self.announced.done():
                    self.announced.set_result(line.removeprefix(self._announcement))
                self._lines.append(line)
                if sink:
                    sink.write(line + "\n")
                    sink.flush()
        finally:
            if sink:
                sink.close()


def child_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Our environment and `extra`, so that `python -m trio_core…` is found from any working folder."""
    home = str(Path(trio_core.__file__).parent.parent)
    paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **extra}
