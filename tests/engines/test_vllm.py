"""vLLM's adapters and start-up, against the stub and small programs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.engines.conftest import ask, collect
from tests.engines.stub_server import StubServer, says
from trio_core.engine_settings import EngineSettings, VllmSettings
from trio_core.engines.base import JudgeAdapter
from trio_core.engines.vllm import VllmEngine
from trio_core.engines.vllm_command import serve_command
from trio_core.errors import EngineError, SettingsError
from trio_core.settings import Settings


@pytest.fixture
async def stub() -> AsyncIterator[StubServer]:
    async with StubServer(says("ok")) as server:
        server.routes["/v1/load_lora_adapter"] = (200, "ok")
        yield server


def engine(stub: StubServer, data: Path, **vllm: object) -> VllmEngine:
    served = EngineSettings(kind="vllm", base_url=stub.base_url, model="base", retries=0, vllm=VllmSettings(**vllm))  # type: ignore[arg-type]
    return VllmEngine(Settings(data_dir=data, engine=served))


def adapter(data: Path, name: str = "judge-3", **config: object) -> JudgeAdapter:
    folder = data / "adapters" / name
    folder.mkdir(parents=True)
    (folder / "adapter_config.json").write_text(json.dumps({"r": 8, **config}))
    return JudgeAdapter(name=name, peft_dir=folder)


async def test_each_judge_version_answers_under_its_own_name(stub: StubServer, tmp_path: Path) -> None:
    # B4.15: a name or folder used again would mix cache blocks of two versions
    e = engine(stub, tmp_path)
    names = []
    for version in ("judge-1", "judge-2"):
        await e.use_judge(adapter(tmp_path, version))
        done = (await collect(e, ask(role="judge")))[1]
        names.append((done.adapter, stub.bodies[-1]["model"]))
    await collect(e, ask(role="answer"))
    assert names == [("judge-1", "judge-1"), ("judge-2", "judge-2")]
    assert stub.bodies[-1]["model"] == "base"
    await e.close()


async def test_a_rank_above_the_servers_is_refused_before_it_is_asked(stub: StubServer, tmp_path: Path) -> None:
    # B4.16
    e = engine(stub, tmp_path, args=("--max-lora-rank", "16"))
    with pytest.raises(EngineError, match="rank 32.*at most 16.*--max-lora-rank 32"):
        await e.use_judge(adapter(tmp_path, r=32))
    assert stub.paths == [] and e.judge.name == "zero-shot"


async def test_saved_modules_are_refused(stub: StubServer, tmp_path: Path) -> None:
    # B4.16
    with pytest.raises(EngineError, match="lm_head"):
        await engine(stub, tmp_path).use_judge(adapter(tmp_path, modules_to_save=["lm_head"]))


@pytest.mark.parametrize("path", ["../../etc", "/etc"])
async def test_a_folder_outside_the_data_folder_is_refused(stub: StubServer, tmp_path: Path, path: str) -> None:
    # B4.17
    with pytest.raises(EngineError, match="outside"):
        await engine(stub, tmp_path).use_judge(JudgeAdapter(name="x", peft_dir=tmp_path / path))
    assert stub.paths == []


async def test_a_failed_load_keeps_the_judge_from_before(stub: StubServer, tmp_path: Path) -> None:
    e = engine(stub, tmp_path)
    stub.routes["/v1/load_lora_adapter"] = (404, {"message": "No adapter found for x"})
    with pytest.raises(EngineError, match="No adapter found"):
        await e.use_judge(adapter(tmp_path))
    assert e.judge.name == "zero-shot" and e.describe("judge") == ("base", None)


async def test_a_version_that_the_server_holds_already_goes_live(stub: StubServer, tmp_path: Path) -> None:
    stub.routes["/v1/load_lora_adapter"] = (400, {"message": "The lora adapter 'judge-3' has already been loaded"})
    e = engine(stub, tmp_path)
    await e.use_judge(adapter(tmp_path))
    assert e.judge.name == "judge-3"


async def test_role_adapters_are_loaded_at_start(stub: StubServer, tmp_path: Path) -> None:
    e = engine(stub, tmp_path, adapters={"query": "/on/the/server"})
    await e.start()
    await collect(e, ask(role="query"))
    assert stub.bodies[-1]["model"] == "query"


async def test_a_server_that_dies_at_start_shows_its_last_words(stub: StubServer, tmp_path: Path) -> None:
    program = tmp_path / "vllm"
    program.write_text("#!/bin/sh\necho 'RuntimeError: no GPU' >&2\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(EngineError, match="exit status 3.*no GPU"):
        await engine(stub, tmp_path, start=True, command=str(program)).start()


async def test_starting_needs_a_model_name(stub: StubServer, tmp_path: Path) -> None:
    settings = EngineSettings(kind="vllm", base_url=stub.base_url, vllm=VllmSettings(start=True))
    with pytest.raises(SettingsError, match="engine.model"):
        await VllmEngine(Settings(data_dir=tmp_path, engine=settings)).start()


PLAIN = ["vllm", "serve", "m", "--host", "127.0.0.1", "--port", "8000"]


@pytest.mark.parametrize(("vllm", "flags"), [
    ({}, []),
    ({"args": ("--enable-lora",)}, ["--enable-lora"]),
    ({"tensor_parallel_size": 2}, ["--tensor-parallel-size", "2"]),
    ({"data_parallel_size": 4}, ["--data-parallel-size", "4", "--api-server-count", "1"]),
    ({"distributed_executor_backend": "mp"}, ["--distributed-executor-backend", "mp"]),
    ({"tensor_parallel_size": 16, "distributed_executor_backend": "ray"},
     ["--tensor-parallel-size", "16", "--distributed-executor-backend", "ray"]),
    ({"data_parallel_size": 2, "distributed_executor_backend": "ray", "args": ("--api-server-count", "2")},
     ["--distributed-executor-backend", "ray", "--data-parallel-size", "2", "--api-server-count", "1", "--data-parallel-backend", "ray",
      "--api-server-count", "2"]),
])
def test_the_command_names_copies_gpus_and_who_runs_them(vllm: dict[str, object], flags: list[str]) -> None:
    assert serve_command(EngineSettings(kind="vllm", model="m", vllm=VllmSettings(**vllm))) == [*PLAIN, *flags]  # type: ignore[arg-type]
