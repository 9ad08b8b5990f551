"""The HTTP client against a stub: odd streams, limits, broken connections, errors in plain words."""

from __future__ import annotations

import asyncio

import pytest

from tests.engines.conftest import Served, ask, collect
from tests.engines.stub_server import Behaviour, delta, says, usage
from trio_core.engine_settings import EngineSettings
from trio_core.engines.client import OpenAIEngine
from trio_core.errors import EngineBroken, EngineError, EngineTimeout, EngineUnreachable, PromptTooLong
from trio_core.values import Capabilities, Message


async def test_odd_chunks_make_one_text_and_keep_the_usage(served: Served) -> None:
    # B4.07: role only, null content, comment lines, empty choices
    events = [delta(role="assistant"), delta("Par"), ": ping", delta(None), delta("is"), delta(finish="stop"), usage(7, 2, 3)]
    engine, _ = await served(Behaviour(events))
    text, done = await collect(engine, ask())
    assert (text, done.text, done.finish_reason) == ("Paris", "Paris", "stop")
    assert (done.usage.prompt_tokens, done.usage.cached_tokens, done.usage.completion_tokens) == (7, 3, 2)


async def test_cached_tokens_are_read_from_llama_timings(served: Served) -> None:
    engine, _ = await served(Behaviour([delta("x", finish="stop"), {**usage(9), "timings": {"cache_n": 5, "prompt_n": 4}}]))
    assert (await collect(engine, ask()))[1].usage.cached_tokens == 5


async def test_a_sampling_call_asks_for_logprobs_and_keeps_its_temperature(served: Served) -> None:
    words = [delta(word, logprobs={"content": [{"token": word, "logprob": p, "top_logprobs": []}]}) for word, p in (("Par", -1.0), ("is", -3.0))]
    engine, stub = await served(Behaviour([*words, delta(finish="stop"), usage()]), roles={"answer": {"temperature": 0.0}})
    engine.capabilities = Capabilities(model="stub", logprobs=True)
    sampled = (await collect(engine, ask(temperature=0.7, own_temperature=True, logprobs=True)))[1]
    assert (sampled.mean_logprob, stub.bodies[-1]["temperature"], stub.bodies[-1]["logprobs"]) == (-2.0, 0.7, True)
    await collect(engine, ask(temperature=0.7))
    assert stub.bodies[-1]["temperature"] == 0.0 and "logprobs" not in stub.bodies[-1]


async def test_unreported_cached_tokens_are_null_not_zero(served: Served) -> None:
    engine, _ = await served(says("x"))
    assert (await collect(engine, ask()))[1].usage.cached_tokens is None


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
async def test_reasoning_fields_are_kept_apart_from_the_answer(served: Served, field: str) -> None:
    # B2.05
    engine, _ = await served(Behaviour([delta(**{field: "so "}), delta(**{field: "it is"}), delta("Paris"), delta(finish="stop")]))
    text, done = await collect(engine, ask())
    assert (text, done.text, done.reasoning) == ("Paris", "Paris", "so it is")


async def test_a_closing_think_tag_without_an_opening_one_parts_the_text(served: Served) -> None:
    # B2.05
    engine, _ = await served(says("so it is Paris", "</think>", "\n\nParis"))
    assert (await collect(engine, ask()))[1].text == "Paris"


async def test_thinking_that_was_cut_is_no_answer(served: Served) -> None:
    # B2.04
    engine, _ = await served(says("<think>", "The capital of Fra", finish="length"))
    text, done = await collect(engine, ask())
    assert (text, done.text, done.finish_reason, done.reasoning) == ("", "", "length", "The capital of Fra")


async def test_nothing_written_at_finish_length_is_a_prompt_too_long(served: Served) -> None:
    # B4.02
    engine, _ = await served(Behaviour([delta(""), delta(finish="length"), usage(5000, 0)]))
    with pytest.raises(PromptTooLong, match="5000 tokens"):
        await collect(engine, ask())


async def test_a_server_that_never_answers_is_named_with_limit_and_setting(served: Served) -> None:
    # B4.03: one limit of ours, no retries behind our back
    engine, stub = await served(says("x", delay_s=3600), first_token_s=0.2)
    with pytest.raises(EngineTimeout, match=r"0\.2 s.*engine\.first_token_s"):
        await collect(engine, ask())
    assert len(stub.bodies) == 1


async def test_a_stalled_stream_ends_with_its_partial_text(served: Served) -> None:
    # B4.04
    engine, _ = await served(Behaviour([delta("a "), delta("b ")], after="stall"), idle_s=0.2)
    with pytest.raises(EngineTimeout, match="idle_s") as caught:
        await collect(engine, ask())
    assert caught.value.partial == "a b "


async def test_a_slow_drip_meets_the_total_limit(served: Served) -> None:
    engine, _ = await served(Behaviour([delta("x")] * 1000, gap_s=0.05), total_s=0.4)
    with pytest.raises(EngineTimeout, match="total_s"):
        await collect(engine, ask())


@pytest.mark.parametrize("after", ["cut", "end"])
async def test_a_stream_cut_in_the_middle_keeps_what_arrived(served: Served, after: str) -> None:
    # B4.05: without a finish reason the reply is not whole
    engine, stub = await served(Behaviour([delta("half an ans")], after=after), retries=2)
    with pytest.raises(EngineBroken) as caught:
        await collect(engine, ask())
    assert caught.value.partial == "half an ans"
    assert len(stub.bodies) == 1, "nothing is retried once text has been written"


async def test_a_failure_before_the_first_word_is_retried(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trio_core.engines.client.RETRY_PAUSE_S", 0)
    engine, stub = await served(Behaviour(status=503, error={"error": {"message": "busy"}}), says("Paris"), retries=1)
    assert (await collect(engine, ask()))[1].text == "Paris"
    assert len(stub.bodies) == 2


async def test_nobody_at_the_address_says_which_address_and_what_to_do() -> None:
    engine = OpenAIEngine(EngineSettings(base_url="http://127.0.0.1:1/v1", model="m", retries=0))
    with pytest.raises(EngineUnreachable, match=r"127\.0\.0\.1:1.*engine\.base_url"):
        await collect(engine, ask())
    await engine.close()


@pytest.mark.parametrize(("message", "numbers"), [
    ("This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens.", ("9000", "8192")),
    ("This model's maximum context length is 1024 tokens. However, you requested 1300 tokens (1044 in the messages, 256 in "
     "the completion).", ("1044", "1024")),
    ("request (3030 tokens) exceeds the available context size (1024 tokens), try increasing it", ("3030", "1024")),
])
async def test_a_prompt_too_long_is_told_with_its_numbers(served: Served, message: str, numbers: tuple[str, str]) -> None:
    # B4.01, wordings of vLLM and llama.cpp
    engine, _ = await served(Behaviour(status=400, error={"error": {"message": message, "code": 400}}))
    with pytest.raises(PromptTooLong) as caught:
        await collect(engine, ask())
    assert f"{numbers[0]} tokens, the server takes {numbers[1]}" in str(caught.value)


@pytest.mark.parametrize("raw", [b"<html>hello</html>", b"data: {not json\n\n", b"", b"\xff\xfe\xfd"])
async def test_nonsense_is_named_as_no_chat_reply(served: Served, raw: bytes) -> None:
    engine, _ = await served(Behaviour(raw=raw))
    with pytest.raises(EngineBroken):
        await collect(engine, ask())


async def test_a_refused_key_names_the_environment_variable(served: Served) -> None:
    engine, _ = await served(Behaviour(status=401, error={"error": {"message": "no"}}))
    with pytest.raises(EngineError, match="TRIOSCOPE_API_KEY"):
        await collect(engine, ask())


async def test_a_model_without_system_role_gets_the_system_text_in_its_first_user_turn(served: Served) -> None:
    # B2.11, and remembered: the third request is the second call
    engine, stub = await served(Behaviour(status=400, error={"error": {"message": "System role not supported"}}), says("ok"))
    call = ask(messages=(Message(role="system", content="Be brief."), Message(role="user", content="Hi")))
    await collect(engine, call)
    await collect(engine, call)
    assert [len(body["messages"]) for body in stub.bodies] == [2, 1, 1]
    assert stub.bodies[1]["messages"] == [{"role": "user", "content": "Be brief.\n\nHi"}]


async def test_closing_the_iterator_closes_the_servers_stream(served: Served) -> None:
    engine, stub = await served(Behaviour([delta("x ")] * 10000, gap_s=0.01))
    stream = engine.stream(ask())
    assert await anext(stream) == "x "
    await stream.aclose()
    await _until(lambda: stub.open_chats == 0)


async def test_cancelling_before_the_first_word_closes_the_servers_stream(served: Served) -> None:
    # B4.03: a cancel works while the server has not said a word
    engine, stub = await served(says("x", delay_s=3600))
    task = asyncio.create_task(collect(engine, ask()))
    await _until(lambda: stub.open_chats == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await _until(lambda: stub.open_chats == 0)


async def test_role_settings_choose_model_temperature_and_length(served: Served) -> None:
    engine, stub = await served(model="big", roles={"query": {"model": "small", "temperature": 0.7, "max_tokens": 9}})
    await collect(engine, ask(role="query", max_tokens=64))
    await collect(engine, ask(role="answer", max_tokens=64))
    sent = [(body["model"], body["temperature"], body["max_tokens"]) for body in stub.bodies]
    assert sent == [("small", 0.7, 9), ("big", 0.0, 64)]
    assert engine.describe("query") == ("small", None)


async def test_a_role_with_an_adapter_asks_for_it_by_name(served: Served) -> None:
    engine, stub = await served(model="base", roles={"query": {"adapter": "query-lora"}})
    done = (await collect(engine, ask(role="query")))[1]
    assert stub.bodies[0]["model"] == "query-lora"
    assert (done.model, done.adapter) == ("base", "query-lora")


async def test_a_bare_call_goes_to_the_default_model_without_adapter(served: Served) -> None:
    engine, stub = await served(model="base", roles={"query": {"adapter": "query-lora", "max_tokens": 9}})
    done = (await collect(engine, ask(role="query", bare=True)))[1]
    assert (stub.bodies[0]["model"], stub.bodies[0]["max_tokens"]) == ("base", 9)
    assert (done.model, done.adapter) == ("base", None)


async def test_stop_strings_are_kept_from_a_model_that_thinks(served: Served) -> None:
    # B2.06: servers look for them in the reasoning too
    thought = says("<think>", "maybe <search>x</search>", "</think>", "<search>q", "</search>", " made up", finish="length")
    engine, stub = await served(says("<think>", "hm", "</think>", "yes"), thought)
    await collect(engine, ask(stop=("</search>",)))
    done = (await collect(engine, ask(stop=("</search>", "</answer>"))))[1]
    assert "stop" in stub.bodies[0] and "stop" not in stub.bodies[1], "known from the first reply on (the probe makes one)"
    assert (done.text, done.finish_reason) == ("<search>q", "stop"), "cut as the server would have cut the answer"


@pytest.mark.parametrize(("thinks", "sent"), [(True, False), (False, True), (None, True)])
async def test_whether_a_model_thinks_can_be_said(served: Served, thinks: bool | None, sent: bool) -> None:
    engine, stub = await served(says("a"), thinks=thinks)
    await collect(engine, ask(stop=("x",)))
    assert ("stop" in stub.bodies[0]) is sent


@pytest.mark.parametrize("tokenizer", ["llama.cpp", "vllm"])
async def test_tokens_are_counted_by_the_server_and_remembered(served: Served, tokenizer: str) -> None:
    engine, stub = await served(model="m")
    stub.tokenizer = tokenizer
    assert [await engine.count_tokens("one two three") for _ in range(3)] == [3, 3, 3]
    assert stub.paths.count("POST /tokenize") == (1 if tokenizer == "llama.cpp" else 2)


async def test_a_connection_closed_while_idle_is_opened_anew(served: Served) -> None:
    engine, stub = await served()
    stub.drops = 1
    assert await engine.count_tokens("one two") > 0
    stub.drops = 2
    with pytest.raises(EngineBroken, match="broke off POST /tokenize"):
        await engine.count_tokens("three four")


async def test_tokens_are_estimated_where_the_server_has_no_tokenizer(served: Served) -> None:
    engine, stub = await served(model="m")
    stub.tokenizer = None
    assert await engine.count_tokens("x" * 40) == 10


async def _until(condition: object) -> None:
    async with asyncio.timeout(20):
        while not condition():  # type: ignore[operator]
            await asyncio.sleep(0.01)
