"""vLLM: a server that runs already, or one that the app starts; LoRA adapters by role, judges loaded while it runs."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from trio_core.engines.base import JudgeAdapter
from trio_core.engines.client import OpenAIEngine
from trio_core.engines.process import ServerProcess, child_environment
from trio_core.engines.vllm_command import serve_command
from trio_core.errors import EngineError, EngineUnreachable
from trio_core.settings import Settings

DEFAULT_MAX_RANK = 16
"""vLLM's own default of --max-lora-rank."""
POLL_S = 1.0


class VllmEngine(OpenAIEngine):
    """Every adapter is a model name of the server. `status` tells about start-up.

    A judge version is loaded under its own name from its own folder: vLLM keeps prefix-cache blocks by name, so a
    name or folder that is used again would mix two versions.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.engine)
        self.status = "not started"
        self.process: ServerProcess | None = None
        self._data_dir = settings.data_dir
        self._role_adapters: set[str] = set()

    async def start(self) -> None:
        """Starts or finds the server and loads the roles' adapters. Raises SettingsError, EngineError."""
        vllm = self.settings.vllm
        if vllm.start:
            self.process = await self._spawn()
            try:
                await self._healthy(vllm.startup_s)
            except BaseException:
                await self.close()
                raise
        for role, folder in vllm.adapters.items():
            self.status = f"loading the adapter of role {role}"
            await self._load(role, folder)
            self._role_adapters.add(role)
        self.status = "ready"

    async def close(self) -> None:
        """Ends the server if the app started it."""
        self.status = "stopped"
        if self.process is not None:
            await self.process.stop()
            self.process = None
        await super().close()

    async def use_judge(self, adapter: JudgeAdapter) -> None:
        """Loads a judge version beside the old one, then sends the judge's calls to it.

        Raises EngineError where the adapter lies outside the data folder, or vLLM could not load it.
        """
        if adapter.peft_dir is not None:
            folder = self._registered(adapter)
            check_adapter(folder, self.max_rank)
            await self._load(adapter.name, str(folder))
        elif adapter.gguf is not None:
            raise EngineError(f"judge version {adapter.name!r} has no PEFT folder, which vLLM needs")
        self.judge = adapter

    @property
    def max_rank(self) -> int:
        """The highest LoRA rank that the server takes, read from engine.vllm.args (vLLM's default where not stated)."""
        for i, arg in enumerate(self.settings.vllm.args):
            name, _, value = arg.partition("=")
            if name == "--max-lora-rank":
                following = self.settings.vllm.args[i + 1 : i + 2]
                return int(value or (following[0] if following else DEFAULT_MAX_RANK))
        return DEFAULT_MAX_RANK

    def _adapter(self, role: str) -> str | None:
        if role == "judge" and self.judge.peft_dir:
            return self.judge.name
        return self._role(role).adapter or (role if role in self._role_adapters else None)

    def _registered(self, adapter: JudgeAdapter) -> Path:
        folder = (adapter.peft_dir or Path()).resolve()
        if not folder.is_relative_to(self._data_dir.resolve()):
            raise EngineError(f"the adapter folder {folder} lies outside the app's data folder; only judge versions that the app "
                              "has registered can go live")
        return folder

    async def _load(self, name: str, folder: str) -> None:
        response = await self.routes.request("POST", "/v1/load_lora_adapter", {"lora_name": name, "lora_path": folder})
        if response.status_code == 200 or "already been loaded" in response.text:
            return
        text = " ".join(response.text.split())[:300]
        hint = ("start vLLM with VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 and --enable-lora" if response.status_code == 404
                and "adapter" not in text.lower() else "the path is read on the server's machine")
        raise EngineError(f"vLLM did not load the adapter {name!r} from {folder} (HTTP {response.status_code}: {text}); {hint}")

    async def _spawn(self) -> ServerProcess:
        command = [sys.executable, "-m", "trio_core.engines.tether", str(os.getpid()), *serve_command(self.settings)]
        key = {"VLLM_API_KEY": self._api_key} if self._api_key else {}
        env = child_environment({"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1", **key})
        return await ServerProcess.spawn(command, env, log_file=self._data_dir / "logs" / "vllm.log")

    async def _healthy(self, limit_s: float) -> None:
        assert self.process is not None
        started = time.monotonic()
        while (spent := time.monotonic() - started) < limit_s:
            self.status = f"vLLM is starting ({spent:.0f} of at most {limit_s:g} s)"
            if await self.process.ended(POLL_S):
                raise EngineError(f"vLLM did not come up (exit status {self.process.returncode}): "
                                  f"{self.process.last_words('rror')}. Its log is logs/vllm.log in the data folder")
            try:
                if (await self.routes.request("GET", "/health")).status_code == 200:
                    return
            except EngineUnreachable:
                continue  # not listening yet
        raise EngineError(f"vLLM did not answer within {limit_s:g} s (setting engine.vllm.startup_s); its last words: "
                          f"{self.process.last_words('rror')}")


def check_adapter(folder: Path, max_rank: int) -> None:
    """Refuses what vLLM would refuse, before the server is asked. Raises EngineError."""
    path = folder / "adapter_config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        rank = int(config["r"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineError(f"{path} is no PEFT adapter configuration ({type(error).__name__}: {error})") from error
    if rank > max_rank:
        raise EngineError(f"the adapter has rank {rank}, the server takes at most {max_rank}; start vLLM with --max-lora-rank {rank} "
                          "(setting engine.vllm.args), or train with a lower training.lora_rank")
    if config.get("modules_to_save"):
        raise EngineError(f"the adapter saves whole modules {config['modules_to_save']}, which vLLM cannot load")
