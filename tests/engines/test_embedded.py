"""The embedded engine: what it sends for adapters (fast), and the real model in its child process (slow)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import gguf as gguf_format
import numpy as np
import pytest
import pytest_asyncio

from tests.engines.conftest import ask, collect
from tests.engines.stub_server import Behaviour, StubServer, delta, says, verdict_says
from tests.engines.test_supervisor import alive
from trio_core.engine_settings import EmbeddedSettings, EngineSettings
from trio_core.engines.base import JudgeAdapter
from trio_core.engines.embedded import EmbeddedEngine
from trio_core.engines.process import ServerProcess, child_environment
from trio_core.errors import EngineBroken, EngineError, ModelFileError, PromptTooLong
from trio_core.settings import PROJECT_ROOT, Settings
from trio_core.values import LABEL_TEXT, Completion

MODELS = PROJECT_ROOT / "var"
"""The joined model file is kept between test runs; it is the one that the app itself uses."""
NAME = EmbeddedSettings().hub_file


def embedded(data: Path = Path("unused"), **given: object) -> EmbeddedEngine:
    # Patient limits: the tests say what happens, not how fast a shared machine is.
    limits = {"first_token_s": 600, "idle_s": 600, "total_s": 900}
    return EmbeddedEngine(Settings(data_dir=data, engine=EngineSettings(embedded=EmbeddedSettings(**given), **limits)))  # type: ignore[arg-type]


def gguf(folder: Path, name: str) -> Path:
    file = folder / name
    file.write_bytes(b"GGUF but no adapter")
    return file


async def test_base_and_adapter_requests_name_their_scales_and_slots(tmp_path: Path) -> None:
    engine = embedded()
    engine._loaded = [gguf(tmp_path, "a.gguf"), gguf(tmp_path, "b.gguf")]
    engine.judge = JudgeAdapter(name="judge-2", gguf=tmp_path / "b.gguf")
    assert engine._extra("answer") == {"lora": [{"id": 0, "scale": 0.0}, {"id": 1, "scale": 0.0}], "id_slot": 0}
    assert engine._extra("judge") == {"lora": [{"id": 0, "scale": 0.0}, {"id": 1, "scale": 1.0}], "id_slot": 1}
    assert (engine.describe("judge")[1], engine.describe("answer")[1]) == ("judge-2", None)


async def test_an_adapter_that_is_no_gguf_file_is_refused_before_any_restart(tmp_path: Path) -> None:
    engine = embedded()
    (tmp_path / "a.gguf").write_bytes(b"zip")
    for adapter in (tmp_path / "a.gguf", tmp_path / "missing.gguf"):
        with pytest.raises(EngineError, match="adapter file"):
            await engine.use_judge(JudgeAdapter(name="judge-2", gguf=adapter))
    assert engine.judge.name == "zero-shot"


async def test_a_judge_without_gguf_cannot_go_live(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no GGUF file"):
        await embedded().use_judge(JudgeAdapter(name="judge-2", peft_dir=tmp_path))


async def test_a_missing_model_is_told_at_start(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"nowhere\.gguf"):
        await embedded(tmp_path, model_path=tmp_path / "nowhere.gguf").start()


SERVE = "import time; print('address {}', flush=True); time.sleep(600)"


@pytest.fixture
async def stubbed(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[EmbeddedEngine, StubServer]]:
    """An engine whose child process only names the address of a stub."""
    async with StubServer() as stub:
        engine = embedded(model_path=Path("stub.gguf"))
        program = SERVE.format(stub.base_url.removesuffix("/v1"))
        monkeypatch.setattr(engine.supervisor, "_spawn", lambda: ServerProcess.spawn([sys.executable, "-c", program], child_environment({})))
        await engine.supervisor.start()
        yield engine, stub
        await engine.close()


async def kill(engine: EmbeddedEngine) -> None:
    os.kill((await engine.supervisor.available()).pid, signal.SIGKILL)


async def test_a_crash_in_the_probe_is_not_taken_for_what_the_server_cannot_do(stubbed: tuple[EmbeddedEngine, StubServer]) -> None:
    engine, stub = stubbed
    cut = Behaviour([delta("Suff")], after="cut")
    stub.replies = [cut, cut, says("Hello"), says("one"), verdict_says("Insufficient Information", None), says("one")]
    stub.routes["/props"] = 200, {}
    await kill(engine)
    assert (await engine.probe()).verdict == "grammar" and len(engine.notices) == 1


async def test_what_the_tokenizer_was_asked_in_a_crash_is_asked_again(stubbed: tuple[EmbeddedEngine, StubServer]) -> None:
    engine, stub = stubbed
    await kill(engine)
    stub.drops = 2
    assert await engine.count_tokens("three words here") == 3 and (await engine.label_tokens()).known
    assert len(engine.notices) == 1


@pytest.mark.slow
async def test_a_damaged_model_is_told_with_llama_cpps_words(tmp_path: Path) -> None:
    engine = embedded(tmp_path, model_path=gguf(tmp_path, "bad.gguf"), sha256="")
    with pytest.raises(EngineError, match="did not come up.*load model"):
        await engine.start()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def real() -> AsyncIterator[EmbeddedEngine]:
    """One server for the tests below; each leaves it running."""
    engine = embedded(MODELS, context_tokens=2048)
    await engine.start()
    yield engine
    await engine.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.asyncio(loop_scope="module")
class TestRealModel:
    async def test_it_streams_and_reuses_the_prompt(self, real: EmbeddedEngine) -> None:
        call = ask("List the numbers from one to five, separated by commas. Then name the capital of France.", max_tokens=12)
        text, done = await collect(real, call)
        again = (await collect(real, call))[1]
        assert text == done.text and text.strip()
        assert done.usage.completion_tokens > 0 and done.first_token_s is not None
        assert again.usage.cached_tokens and again.usage.cached_tokens > 10

    async def test_a_verdict_is_a_label_with_a_probability(self, real: EmbeddedEngine) -> None:
        text = f'Say hello. Reply only "{LABEL_TEXT["sufficient"]}" or "{LABEL_TEXT["insufficient"]}".'
        reading = await real.read_verdict(ask(text, role="judge", max_tokens=8), "grammar")
        assert reading.completion.text in LABEL_TEXT.values()
        assert reading.p_sufficient is not None and 0 <= reading.p_sufficient <= 1
        assert reading.mass is not None and 0.5 < reading.mass <= 1

    async def test_the_probe_finds_grammar_context_and_cache(self, real: EmbeddedEngine) -> None:
        found = await real.probe()
        assert (found.verdict, found.logprobs, found.cached_tokens, found.context_tokens) == ("grammar", True, True, 1024)

    async def test_a_prompt_over_the_context_is_told_with_numbers(self, real: EmbeddedEngine) -> None:
        with pytest.raises(PromptTooLong, match=r"\d+ tokens, the server takes 1024"):
            await collect(real, ask("word " * 3000))

    async def test_tokens_are_the_models(self, real: EmbeddedEngine) -> None:
        assert await real.count_tokens("hello world") == 2
        assert (await real.label_tokens()).known

    async def test_a_closed_stream_frees_its_slot(self, real: EmbeddedEngine) -> None:
        stream = real.stream(ask("Write a very long story about a river.", max_tokens=500))
        await anext(stream)
        assert await busy_slots(real) == 1
        await stream.aclose()
        async with asyncio.timeout(300):
            while await busy_slots(real):
                await asyncio.sleep(0.1)

    async def test_an_adapter_that_does_not_load_leaves_the_old_judge_live(self, real: EmbeddedEngine, tmp_path: Path) -> None:
        with pytest.raises(EngineError, match="'zero-shot' stays live"):
            await real.use_judge(JudgeAdapter(name="judge-2", gguf=gguf(tmp_path, "a.gguf")))
        assert real.judge.name == "zero-shot"
        assert (await collect(real, ask("Hi", max_tokens=2)))[1].adapter is None

    async def test_a_judge_goes_live_for_its_role_alone(self, real: EmbeddedEngine, tmp_path: Path) -> None:
        question = ask(f'Say hello. Reply only "{LABEL_TEXT["sufficient"]}" or "{LABEL_TEXT["insufficient"]}".', role="judge")
        before = await real.read_verdict(question, "grammar")
        await real.use_judge(JudgeAdapter(name="judge-2", gguf=noisy_adapter(tmp_path / "noise.gguf")))
        live = await real.read_verdict(question, "grammar")
        base = await real.read_verdict(question.model_copy(update={"role": "answer"}), "grammar")
        await real.use_judge(JudgeAdapter())
        assert (live.completion.adapter, base.completion.adapter) == ("judge-2", None)
        assert live.p_sufficient is not None and base.p_sufficient is not None and before.p_sufficient is not None
        # .06 is how far the same prompt may differ between cold and cached (MEASURED.md section 2).
        assert abs(base.p_sufficient - before.p_sufficient) < 0.06
        assert abs(live.p_sufficient - before.p_sufficient) > 1e-4 or live.mass != before.mass

    async def test_after_a_crash_the_call_is_told_and_the_next_one_works(self, real: EmbeddedEngine) -> None:
        stream = real.stream(ask("Write a very long story about a river.", max_tokens=500))
        first = await anext(stream)
        os.kill((await real.supervisor.available()).pid, signal.SIGKILL)
        with pytest.raises(EngineBroken, match=r"crashed \(signal 9\)") as caught:
            async for part in stream:
                assert not isinstance(part, Completion)
        assert caught.value.partial.startswith(str(first))
        assert (await collect(real, ask("Hi", max_tokens=2)))[1].usage.completion_tokens > 0
        assert "restarted" in real.notices[-1]


def noisy_adapter(path: Path) -> Path:
    """A LoRA of rank 1 on the last block with random weights: it changes answers, and nothing was learned."""
    random = np.random.default_rng(0)
    writer = gguf_format.GGUFWriter(path, "qwen2")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 1.0)
    for part, shape in (("a", (1, 8960)), ("b", (1536, 1))):
        writer.add_tensor(f"blk.27.ffn_down.weight.lora_{part}", random.normal(size=shape).astype(np.float32) * 0.3)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


async def busy_slots(engine: EmbeddedEngine) -> int:
    slots = await engine.routes.json("GET", "/slots")
    return sum(slot["is_processing"] for slot in slots)


ORPHAN = """
import asyncio, time
from tests.engines.test_embedded import MODELS, embedded
async def main():
    engine = embedded(MODELS, context_tokens=1024, slots=1)
    await engine.start()
    print("address", (await engine.supervisor.available()).pid, flush=True)
    await asyncio.sleep(3600)
asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_the_server_dies_with_a_killed_app() -> None:
    app = await ServerProcess.spawn([sys.executable, "-c", ORPHAN], child_environment({}))
    child = int(await app.announced)
    assert alive(child)
    os.kill(app.pid, signal.SIGKILL)
    async with asyncio.timeout(300):
        while alive(child):
            await asyncio.sleep(0.1)
    await app.stop()
