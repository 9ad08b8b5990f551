"""The embedded engine: llama.cpp in a child process that is watched, restarted and never outlives the app."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from trio_core.engines.base import JudgeAdapter
from trio_core.engines.client import OpenAIEngine
from trio_core.engines.gate import Gate
from trio_core.engines.llama_child import ADDRESS, KEY_VARIABLE, ChildConfig
from trio_core.engines.model_file import MAGIC, find_model
from trio_core.engines.process import ServerProcess, child_environment
from trio_core.engines.reply import ReplyReader
from trio_core.engines.supervisor import CRASH_SEEN_S, Supervisor
from trio_core.engines.verdict import LabelTokens
from trio_core.errors import EngineBroken, EngineError, EngineTimeout, EngineUnreachable
from trio_core.settings import Settings
from trio_core.values import Capabilities, ChatCall

T = TypeVar("T")
NOWHERE = "http://127.0.0.1:1/v1"


class EmbeddedEngine(OpenAIEngine):
    """A small GGUF model inside the app.

    `notices` are dated sentences about crashes and restarts; `status` says what the server does now.
    """

    def __init__(self, settings: Settings) -> None:
        # No retries: a call that meets a crash is told so, since its prompt may be what brought the server down.
        super().__init__(settings.engine.model_copy(update={"retries": 0}), address=NOWHERE, api_key=secrets.token_urlsafe(24))
        self.model_path: Path | None = settings.engine.embedded.model_path
        self.supervisor = Supervisor(self._spawn, self._on_up)
        self._data_dir = settings.data_dir
        self._finding = ""
        self._gate = Gate()
        self._loaded: list[Path] = []

    @property
    def notices(self) -> list[str]:
        """What happened to the server, oldest first."""
        return self.supervisor.notices

    @property
    def status(self) -> str:
        """`ready`, or what is going on."""
        return self._finding or self.supervisor.status

    async def start(self) -> None:
        """Finds the model file and starts the server. Raises ModelFileError, EngineError."""
        try:
            self.model_path = await asyncio.to_thread(find_model, self.settings.embedded, self._data_dir, self._progress)
        finally:
            self._finding = ""
        for role in self.settings.roles.values():
            if role.adapter:
                _check_adapter(Path(role.adapter))
        await self.supervisor.start()

    async def close(self) -> None:
        """Ends the server at once; calls under way break off."""
        await self.supervisor.stop("the model server was shut down with the app")
        await super().close()

    async def run(self, call: ChatCall, extra: dict[str, Any], reply: ReplyReader) -> AsyncGenerator[str, None]:
        """As in the base class; a crash of the server is named as such."""
        async with self._gate.call():
            process = await self.supervisor.available()
            try:
                async with aclosing(super().run(call, extra, reply)) as texts:
                    async for text in texts:
                        yield text
            except EngineTimeout:
                raise
            except (EngineBroken, EngineUnreachable) as error:
                raise await self.supervisor.explained(error, process, reply.raw) from error

    async def probe(self) -> Capabilities:
        """As in the base class; anew where the server crashed meanwhile, whose broken replies look like things that it cannot do."""
        while self.capabilities is None:
            process = await self.supervisor.available()
            try:
                await super().probe()
            except (EngineBroken, EngineUnreachable):
                if not await process.ended(CRASH_SEEN_S):
                    raise
            if await process.ended(0.1):
                self.capabilities = None
        return self.capabilities

    async def count_tokens(self, text: str) -> int:
        """Tokens of `text` with the model's tokenizer (kept)."""
        return await self._asked(partial(super().count_tokens, text))

    async def label_tokens(self) -> LabelTokens:
        """The tokens that begin the labels."""
        return await self._asked(super().label_tokens)

    async def _asked(self, ask: Callable[[], Awaitable[T]]) -> T:
        """What the server's tokenizer says; a server that crashed meanwhile is asked again once it is back."""
        async with self._gate.call():
            while True:
                process = await self.supervisor.available()
                try:
                    return await ask()
                except (EngineBroken, EngineUnreachable):
                    if not await process.ended(CRASH_SEEN_S):
                        raise

    async def model_for(self, role: str) -> str:
        """The same model serves all roles; adapters are named in each request."""
        return self.describe(role)[0]

    def describe(self, role: str) -> tuple[str, str | None]:
        """The model file's name, and the adapter of the role."""
        return Path(self.model_path or self.settings.embedded.hub_file).stem, self._adapter(role)

    async def use_judge(self, adapter: JudgeAdapter) -> None:
        """Makes a judge version live: llama.cpp loads adapters only at its start, so the server is restarted.

        Raises EngineError, and then the judge from before is live again.
        """
        # Shielded: a cancelled caller (a closed browser tab) must not leave the app without a server.
        await asyncio.shield(asyncio.create_task(self._switch(adapter)))

    async def _switch(self, adapter: JudgeAdapter) -> None:
        if adapter.gguf is not None:
            _check_adapter(adapter.gguf)
        elif adapter.peft_dir is not None:
            raise EngineError(f"judge version {adapter.name!r} has no GGUF file, which the embedded server needs; convert it first")
        async with self._gate.change():
            before, self.judge = self.judge, adapter
            running = self.supervisor.process is not None
            if not running or adapter.gguf is None or adapter.gguf in self._loaded:
                return
            try:
                await self._relaunch(f"judge {adapter.name} is being loaded")
            except EngineError as error:
                self.judge = before
                await self._relaunch(f"judge {before.name} is being loaded")
                raise EngineError(f"judge version {adapter.name!r} did not load, {before.name!r} stays live: {error}") from error

    async def _relaunch(self, reason: str) -> None:
        await self.supervisor.stop(reason)
        await self.supervisor.start()

    async def _spawn(self) -> ServerProcess:
        given, by_role = self.settings.embedded, [Path(r.adapter) for r in self.settings.roles.values() if r.adapter]
        live = [self.judge.gguf] if self.judge.gguf else []
        self._loaded = list(dict.fromkeys([*by_role, *live]))
        if self.model_path is None:
            raise EngineError("the embedded engine was not started; call start() first")
        config = ChildConfig(
            model=self.model_path, parent=os.getpid(), alias=self.describe("")[0], adapters=tuple(self._loaded),
            threads=given.threads, slots=given.slots, context_tokens=given.context_tokens,
            cache_ram_mib=given.cache_ram_mib, port=given.port)
        command = [sys.executable, "-m", "trio_core.engines.llama_child", config.model_dump_json()]
        return await ServerProcess.spawn(command, child_environment({KEY_VARIABLE: self._api_key}), announcement=ADDRESS,
                                         log_file=self._data_dir / "logs" / "llama.log")

    async def _on_up(self, address: str) -> None:
        await super().close()
        self._connect(address + "/v1")

    def _progress(self, what: str, share: float) -> None:
        self._finding = f"{what} ({share:.0%})"

    def _file_for(self, role: str) -> Path | None:
        if role == "judge" and self.judge.gguf:
            return self.judge.gguf
        chosen = self._role(role).adapter
        return Path(chosen) if chosen else None

    def _adapter(self, role: str) -> str | None:
        if role == "judge" and self.judge.gguf:
            return self.judge.name
        file = self._file_for(role)
        return file.stem if file else None

    def _extra(self, role: str) -> dict[str, Any]:
        """Adapters always by request: the server's own default would apply all that are loaded.

        Base and adapter keep to slots of their own, since a slot forgets its cache when its adapter changes.
        """
        if not self._loaded:
            return {}
        file, slots = self._file_for(role), self.settings.embedded.slots
        scales = [{"id": i, "scale": 1.0 if path == file else 0.0} for i, path in enumerate(self._loaded)]
        if file is not None and slots > 1:
            return {"lora": scales, "id_slot": 1}
        return {"lora": scales, "id_slot": 0} if slots == 2 else {"lora": scales}


def _check_adapter(path: Path) -> None:
    """llama.cpp would only say `Failed to init server`; so look first."""
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except OSError as error:
        raise EngineError(f"the adapter file {path} cannot be read: {error.strerror or error}") from error
    if start != MAGIC:
        raise EngineError(f"the adapter file {path} is no GGUF file (it begins with {start!r})")
