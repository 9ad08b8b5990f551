"""Sampling as pages see it: who may ask, what is shown, what is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from storage import open_store
from tests.ui.judging_helpers import EVIL, judge_item
from trio_core.errors import InputError
from trio_core.evidence import AnswerSample, SampleSettings
from trio_core.evidence_task import EvidenceTask
from trio_core.settings import load_settings
from trio_core.values import Completion, JudgeItem
from ui.context import UiContext
from ui.evidence import Evidences


class Sampler:
    """A workbench whose samples come when the test says so."""

    def __init__(self) -> None:
        self.tasks: list[EvidenceTask] = []

    def sample_evidence(self, item: JudgeItem, settings: SampleSettings, gold: Sequence[str] = ()) -> EvidenceTask:
        task = EvidenceTask(item, settings, gold)
        task.future = Future()
        self.tasks.append(task)
        return task

    def give(self, task: EvidenceTask, answers: Sequence[tuple[str, bool | None]]) -> None:
        for n, (answer, right) in enumerate(answers):
            done = Completion(text=answer, model="small-model")
            task._samples.append(AnswerSample(index=n, answer=answer, key=answer, right=right, completion=done))
        if len(task.samples) == task.settings.samples and task.future is not None:
            task.future.set_result(None)


@pytest.fixture
def sampler() -> Sampler:
    return Sampler()


@pytest.fixture
def evidences(tmp_path: Path, sampler: Sampler) -> Iterator[Evidences]:
    settings = load_settings("scripted", env={}, flags=[f"data_dir={tmp_path}"])
    store = open_store(settings.database_url)
    store.add_item(judge_item(), "test")
    yield Evidences(UiContext(settings, store, sampler, None))  # type: ignore[arg-type]
    store.close()


def item(evidences: Evidences) -> Any:
    return evidences._ctx.store.item(1)


def test_answers_with_counts_and_the_vote(evidences: Evidences, sampler: Sampler) -> None:
    token = evidences.start("ann", item(evidences), 4)
    assert not evidences.look({"token": token})["done"]
    sampler.give(sampler.tasks[0], [(EVIL, True), (EVIL, True)])
    half = evidences.look({"token": token})
    assert "2 of 4 answers" in half["html"] and "cancel" in half["html"] and "<img" not in half["html"]
    with pytest.raises(InputError, match="all samples"):
        evidences.keep({"token": token})
    sampler.give(sampler.tasks[0], [("No", False), (EVIL, True)])
    whole = evidences.look({"token": token})
    assert whole["done"] and whole["item"] == 1 and "3 of 4 right" in whole["html"] and "Mixed" in whole["html"]
    vote, _ = evidences.keep({"token": token})
    assert (vote.label, vote.n_right, vote.answer_model) == ("mixed", 3, "small-model")


def test_without_gold_nothing_is_right_or_kept(evidences: Evidences, sampler: Sampler) -> None:
    token = evidences.start("ann", item(evidences), 1)
    sampler.give(sampler.tasks[0], [("A", None)])
    assert "No gold answer is known" in evidences.look({"token": token})["html"]
    with pytest.raises(InputError):
        evidences.keep({"token": token})


def test_the_same_question_again_finds_the_samples(evidences: Evidences, sampler: Sampler) -> None:
    first = evidences.start("ann", item(evidences), 2)
    assert evidences.start("ann", item(evidences), 2) == first and len(sampler.tasks) == 1
    other = evidences.start("ann", item(evidences), 3)
    assert other != first and sampler.tasks[0].done, "one sampling at a time for each person"
    assert evidences.start("ben", item(evidences), 3) != other and not sampler.tasks[1].done


def test_cancel_stops_and_what_has_come_stays(evidences: Evidences, sampler: Sampler) -> None:
    token = evidences.start("ann", item(evidences), 4)
    sampler.give(sampler.tasks[0], [("A", True)])
    evidences.cancel({"token": token})
    assert "Stopped after 1 of 4" in evidences.look({"token": token})["html"]


@pytest.mark.parametrize("n", [-1, 65, 10**9])
def test_too_many_samples_are_refused(evidences: Evidences, n: int) -> None:
    with pytest.raises(InputError, match="choose 1 to 64"):
        evidences.start("ann", item(evidences), n)


@pytest.mark.parametrize("data", [None, {}, {"token": 7}, {"token": "guessed"}, "x"])
def test_a_guessed_token_shows_nothing(evidences: Evidences, data: object) -> None:
    assert "ask again" in evidences.look(data)["html"]
    evidences.cancel(data)
    with pytest.raises(InputError):
        evidences.keep(data)


def test_usual_numbers(evidences: Evidences) -> None:
    assert evidences.usual == 4
    remote: Any = SimpleNamespace(settings=load_settings("vllm", env={}))
    assert Evidences(remote).usual == 16
