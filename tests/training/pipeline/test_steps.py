"""The steps' rules without a model: grading, splitting, actions of a debate, valid queries, rows of the judge, plans, records."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from training.pipeline import records
from training.pipeline.debate import decide, moderator_action, opponent_action
from training.pipeline.judge import training_rows
from training.pipeline.plan import make_plan
from training.pipeline.profile import QuestionSettings, load_profile, profile_names
from training.pipeline.prompts import judge_messages
from training.pipeline.query_check import check_query
from training.pipeline.questions import difficulty, split
from training.pipeline.records import GradedQuestion, PoolSample, Turn, VotedPool
from trio_core.errors import SettingsError, TrainingError
from trio_core.settings import load_settings
from trio_core.values import Hit, JudgeItem, Passage, PoolEntry


def graded(n: int, kind: str) -> GradedQuestion:
    return GradedQuestion(id=f"{kind}{n}", question=f"{kind} {n}?", answers=("x",), dataset="d", rollouts=20, right=0, difficulty=kind)


def pool(*queries: str) -> tuple[PoolEntry, ...]:
    return tuple(PoolEntry(query=q, hits=(Hit(passage=Passage(id=q, text=f"about {q}"), score=1.0, rank=1),)) for q in queries)


def sample(name: str, *queries: str) -> PoolSample:
    return PoolSample(id=name, question=f"question {name}", answers=("x",), source="debate", round=1, pool=pool(*queries))


@pytest.mark.parametrize(("right", "kind"), [(0, "hard"), (1, "medium"), (2, "easy"), (20, "easy")])
def test_difficulty_follows_the_thresholds(right: int, kind: str) -> None:
    assert difficulty(right, 20, QuestionSettings()) == kind


@pytest.mark.parametrize("how", ["difficulty", "random"])
def test_no_question_is_in_both_sets_and_easy_ones_are_in_none(how: str) -> None:
    found = split([graded(n, kind) for kind in ("easy", "medium", "hard") for n in range(10)], QuestionSettings(split=how), 1)
    sets = {name: {q.id for q in found if q.set == name} for name in ("q1", "q2", "dropped")}
    assert sets["dropped"] == {f"easy{n}" for n in range(10)} and len(sets["q1"]) == len(sets["q2"]) == 10
    if how == "difficulty":
        assert all(i.startswith("hard") for i in sets["q1"])
    assert found == split(list(found), QuestionSettings(split=how), 1)


@pytest.mark.parametrize(("text", "kind", "query"), [
    ("A date lacks.\nQuery Expansion: [Marie Curie birth]", "expand", "Marie Curie birth"),
    ("**Query Expansion:** Marie Curie birth", "expand", "Marie Curie birth"),
    ("<think>Query Expansion: [no]</think>Concede", "concede", ""),
    ("All is there. Concede.", "concede", ""),
    ("I will not concede", "malformed", ""),
    ("Query Expansion: []", "malformed", ""),
    ("A fact is missing.", "malformed", ""),
    ("", "malformed", ""),
])
def test_what_the_opponent_does(text: str, kind: str, query: str) -> None:
    assert opponent_action(text) == (kind, query)


def test_the_moderator_names_one_side() -> None:
    assert moderator_action("**Opponent**") == "opponent" and moderator_action("The proponent.") == "proponent"
    assert moderator_action("Proponent or Opponent?") == moderator_action("neither") == "malformed"


@pytest.mark.parametrize(("opponent", "query", "moderator", "expected"), [
    ("expand", "new one", "opponent", ("", "new one")),
    ("expand", "First!", "opponent", ("repeat", "")),
    ("expand", "new one", "proponent", ("proponent", "")),
    ("concede", "", "opponent", ("concede", "")),
    ("malformed", "", "opponent", ("malformed", "")),
    ("expand", "new one", "malformed", ("malformed", "")),
])
def test_when_a_debate_ends(opponent: str, query: str, moderator: str, expected: tuple[str, str]) -> None:
    turns = [Turn(round=1, role="proponent", text="t", action="argue"),
             Turn(round=1, role="opponent", text="t", action=opponent, value=query),
             Turn(round=1, role="moderator", text="t", action=moderator)]
    assert decide(turns, pool("first")) == expected


@pytest.mark.parametrize(("output", "problem"), [
    ("Marie Curie birthplace", ""),
    ('"Marie Curie birthplace"', ""), ("The Lord of the Rings director", ""), ("", "empty"), ("?!", "empty"),
    ("one two three four five six seven eight nine", "too_long"), ("marie  CURIE", "repeated"), ("Who was Marie Curie", "not_keywords"),
    ("Marie Curie born?", "not_keywords"), ("it is in the city of Paris", "not_keywords"),
    ("Marie Curie\nPierre Curie", "not_keywords"),
    ("<think>cut", "empty"),
])
def test_valid_queries(output: str, problem: str) -> None:
    assert check_query(output, ["Marie Curie"], 8).problem == problem


def snapshot_row(item: JudgeItem, label: str, side: str = "train", source: str = "human") -> SimpleNamespace:
    return SimpleNamespace(item=item, label=label, split=side, source=source, created=datetime.now(UTC))


def test_people_overrule_votes_and_mixed_votes_are_dropped() -> None:
    samples = [sample(name, "q") for name in "abcde"]
    voted = [VotedPool(id=s.id, right=r, votes=4, label=label) for s, (r, label) in zip(samples, [
        (4, "sufficient"), (0, "insufficient"), (2, "mixed"), (0, "insufficient"), (2, "mixed")], strict=True)]
    items = [JudgeItem(question=s.question, pool=s.pool, messages=judge_messages(s.question, s.pool)) for s in samples]
    other = JudgeItem(question="another", pool=pool("z"), messages=judge_messages("another", pool("z")))
    rows, counts = training_rows(samples, voted, [  # type: ignore[list-item]
        snapshot_row(items[1], "sufficient"), snapshot_row(items[2], "insufficient"), snapshot_row(items[3], "sufficient", "held_out"),
        snapshot_row(other, "insufficient"), snapshot_row(items[0], "insufficient", source="gold")])
    assert [(r.question[-1], r.label, r.source) for r in rows] == [
        ("a", "sufficient", "votes"), ("b", "sufficient", "human"), ("c", "insufficient", "human"), ("r", "insufficient", "human")]
    assert counts == {"candidates": 5, "sufficient": 1, "insufficient": 2, "mixed": 2, "overruled_by_people": 2, "held_out_question": 1,
                      "added_by_people": 1, "rows": 4}


def test_a_line_cut_by_a_kill_is_dropped_and_a_broken_one_is_named(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    records.append(path, [graded(1, "hard"), graded(2, "hard")])
    path.write_text(path.read_text() + '{"id": "cut')
    assert [q.id for q in records.read(path, GradedQuestion)] == ["hard1", "hard2"] and path.read_text().endswith("}\n")
    path.write_text('{"id": 1}\n')
    with pytest.raises(TrainingError, match="no GradedQuestion"):
        records.read(path, GradedQuestion)


def test_the_profiles_hold_the_papers_values() -> None:
    assert profile_names() == ("cpu-smoke", "trio-4b", "trio-8b")
    for name, hours in (("trio-4b", (30.67, 20.60, 6.83)), ("trio-8b", (46.44, 33.96, 12.60))):
        found = load_profile(name)
        grpo = found.answer.stage1.grpo
        assert grpo.prompts_per_step * grpo.num_generations == 512 and (grpo.learning_rate, grpo.beta) == (1e-6, 1e-4)
        answer = found.answer
        assert (answer.stage1.top_k, answer.stage2.top_k, found.judge.votes, found.debate.rounds) == (3, 5, 16, 3)
        cost = found.cost
        assert (18380 * (cost.answer_stage1_s + cost.answer_stage2_s) / 3600, 10000 * cost.query_s / 3600,
                44473 * cost.judge_s / 3600) == pytest.approx(hours, rel=0.01)


def test_a_wrong_profile_says_what_to_do() -> None:
    with pytest.raises(SettingsError, match="trio-9b.*cpu-smoke, trio-4b, trio-8b"):
        load_profile("trio-9b")
    with pytest.raises(SettingsError, match="judge.votes = 1"):
        load_profile("cpu-smoke", {"judge.votes": 1})


def test_a_plan_counts_and_writes_nothing(tmp_path) -> None:
    settings = load_settings("scripted", flags=[f"data_dir={tmp_path / 'data'}"])
    plan = make_plan(load_profile("cpu-smoke"), settings, tmp_path / "run")
    steps = {step.name: step for step in plan.steps}
    assert (steps["questions"].samples, steps["questions"].calls, steps["answer"].steps) == (24, 96, 6)
    assert (steps["debate"].samples, steps["debate"].calls) == (12, 72)
    assert all(step.state == "to do" for step in plan.steps) and not (tmp_path / "run").exists()
    paper = {s.name: s for s in make_plan(load_profile("trio-4b"), settings, tmp_path / "run").steps}
    assert (paper["answer"].samples, paper["answer"].steps) == (18380, 1150) and paper["answer"].gpu_hours == pytest.approx(30.67, rel=0.01)
    assert paper["questions"].samples is None
