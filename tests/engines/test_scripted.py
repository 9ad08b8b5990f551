"""The scripted engine and its built-in rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.conftest import ask, collect
from trio_core.engines.base import JudgeAdapter
from trio_core.engines.build import build_engine
from trio_core.engines.rule_script import rule
from trio_core.engines.scripted import Reply, ScriptedEngine
from trio_core.errors import EngineBroken, ScriptExhausted, SettingsError
from trio_core.settings import load_settings
from trio_core.values import ChatCall


async def test_replies_come_by_role_and_word_by_word() -> None:
    engine = ScriptedEngine({"query": ["first query", "second"], "*": ["other"]})
    words = [part async for part in engine.stream(ask(role="query")) if isinstance(part, str)]
    assert words == ["first", " query"]
    assert (await collect(engine, ask(role="answer")))[1].text == "other"


async def test_an_empty_script_fails_loudly_with_role_and_count() -> None:
    engine = ScriptedEngine({"query": ["only one"]})
    await collect(engine, ask(role="query"))
    with pytest.raises(ScriptExhausted, match=r"'query' \(call number 2"):
        await collect(engine, ask(role="query"))


async def test_a_reply_may_break_off_with_an_error() -> None:
    engine = ScriptedEngine([Reply(text="half an", error="EngineBroken", message="cut")])
    with pytest.raises(EngineBroken, match="cut") as caught:
        await collect(engine, ask())
    assert caught.value.partial == "half an"


async def test_a_verdict_carries_its_probability() -> None:
    engine = ScriptedEngine({"judge": [{"text": "Sufficient Information", "p_sufficient": 0.9}, "Insufficient Information"]})
    first, second = [await engine.verdict(ask(role="judge")) for _ in range(2)]
    assert (first.p_sufficient, second.p_sufficient) == (0.9, None)


async def test_a_yaml_script_is_read_and_unknown_fields_refused(tmp_path: Path) -> None:
    file = tmp_path / "script.yaml"
    file.write_text("answer:\n- Paris\n- {text: Rome, finish_reason: length}\n")
    engine = ScriptedEngine.from_file(file)
    assert [(await collect(engine, ask()))[1].finish_reason for _ in range(2)] == ["stop", "length"]
    file.write_text("- {txt: Paris}\n")
    with pytest.raises(SettingsError, match="txt"):
        ScriptedEngine.from_file(file)


async def test_the_live_judge_is_named_for_its_role_only() -> None:
    engine = ScriptedEngine(rule)
    await engine.use_judge(JudgeAdapter(name="judge-3", threshold=0.4))
    assert (engine.describe("judge")[1], engine.describe("answer")[1], engine.judge.threshold) == ("judge-3", None, 0.4)


def pool(size: int) -> ChatCall:
    blocks = "\n\n".join(f"Query {n}: q{n}\nDoc 1 (Title: City {n}): text" for n in range(1, size + 1))
    return ask(f"{blocks}\n\nQuestion: Who founded the city of Rome?", role="judge")


def test_the_rule_judges_by_the_size_of_the_pool() -> None:
    assert [rule(pool(n)).text for n in (1, 2, 3)] == ["Insufficient Information", "Sufficient Information", "Sufficient Information"]


def test_the_rule_answers_every_role() -> None:
    made = {role: rule(pool(1).model_copy(update={"role": role})).text for role in ("query", "answer", "plan", "refine", "else")}
    assert made["query"] == "founded city Rome detail 1"
    assert made["answer"] == "City 1"
    assert made["plan"].splitlines()[0] == "background -> founded city Rome background"
    assert made["refine"].startswith("Knowledge:\n- ") and "\nSummary: " in made["refine"]
    assert "else" in made["else"]


async def test_the_scripted_profile_builds_an_engine_that_never_runs_out() -> None:
    engine = build_engine(load_settings("scripted", env={}))
    assert [(await engine.verdict(pool(1))).p_sufficient for _ in range(3)] == [0.22] * 3
