"""The dry run: what each step would do, with how many samples, and what it would cost."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from training.pipeline import records
from training.pipeline.debate import POOLS, SINGLE
from training.pipeline.profile import GrpoSettings, PipelineProfile
from training.pipeline.questions import FILE, read_sources
from training.pipeline.records import GradedQuestion, PoolSample
from training.pipeline.run import STEPS, finished
from trio_core.errors import DatasetError
from trio_core.settings import Settings
from trio_core.values import Value

SNAPSHOTS_A_QUESTION = 2.26
"""18,380 samples of 8,148 questions (appendix E)."""
KEPT_VOTES = 0.893
"""44,473 of 49,785 pools were unanimous (appendix B.3)."""


class PlannedStep(Value):
    """One step. `gpu_hours` is null where nothing is known to estimate it from."""

    name: str
    state: str
    does: str
    samples: int | None = None
    steps: int | None = None
    calls: int | None = None
    gpu_hours: float | None = None
    based_on: str = ""


class Plan(Value):
    """A dry run."""

    profile: str
    base: str
    steps: tuple[PlannedStep, ...]
    notes: tuple[str, ...] = ()


def optimiser_steps(samples: int, settings: GrpoSettings) -> int:
    """Steps of a GRPO training."""
    return settings.max_steps or math.ceil(samples / settings.prompts_per_step * settings.epochs)


def make_plan(profile: PipelineProfile, settings: Settings, folder: Path) -> Plan:
    """Counts what is there and estimates what is not. Runs nothing, writes nothing."""
    done, notes = finished(folder), []
    asked: int | None = None
    try:
        asked = len(read_sources(profile.questions, settings, profile.seed))
    except DatasetError as error:
        notes.append(f"The questions are not at hand: {error}")
    q1, q2 = _sets(folder, asked, profile)
    if asked and "questions" not in done:
        notes.append("Sets are estimated as if no question were easy.")
    t1 = _count(folder, POOLS) or (round(q1 * min(SNAPSHOTS_A_QUESTION, profile.debate.rounds)) if q1 else None)
    t2 = _count(folder, SINGLE) or q2
    q, cost, votes = profile.questions, profile.cost, profile.judge.votes
    pools = {"debate": t1, "single": t2, "both": None if t1 is None or t2 is None else t1 + t2}[profile.judge.pools]
    one, two, ask = profile.answer.stage1, profile.answer.stage2, profile.query
    planned = {
        "questions": _step("grade and split the questions", samples=asked, calls=asked and asked * q.rollouts),
        "debate": _step(f"debate of {profile.debate.rounds} rounds at most on Q1, one search on Q2", samples=q1,
                        calls=q1 and 3 * q1 * profile.debate.rounds),
        "answer": _grpo("two stages of GRPO", [(t1, one.samples, one.grpo, cost.answer_stage1_s),
                                               (t1, two.samples, two.grpo, cost.answer_stage2_s)]),
        "query": _grpo("GRPO", [(t2, ask.samples, ask.grpo, cost.query_s)]),
        "judge": _step(f"{votes} votes a pool, then SFT", samples=pools, calls=pools and pools * votes,
                       steps=pools and math.ceil(pools * KEPT_VOTES / profile.judge.batch_size * profile.judge.epochs),
                       seconds=pools and pools * KEPT_VOTES * cost.judge_s),
        "serving": _step("settings of the server, footprint" + (", merged checkpoints" if profile.serving.merge else "")),
    }
    steps = []
    for step in STEPS:
        found = {**planned[step.name]}
        seconds = found.pop("seconds", None)
        if step.name in done:
            measured = done[step.name]
            steps.append(PlannedStep(name=step.name, state="done", **found, gpu_hours=round(measured.seconds / 3600, 3),
                                     based_on=f"measured here on {measured.device}"))
        else:
            steps.append(PlannedStep(name=step.name, state="to do", **found, gpu_hours=round(seconds / 3600, 3) if seconds else None,
                                     based_on=f"{cost.source} ({cost.gpu})" if seconds else ""))
    return Plan(profile=profile.name, base=profile.base.model, steps=tuple(steps), notes=tuple(notes))


def _sets(folder: Path, asked: int | None, profile: PipelineProfile) -> tuple[int | None, int | None]:
    graded = records.read(folder / "questions" / FILE, GradedQuestion)
    if graded:
        return sum(q.set == "q1" for q in graded), sum(q.set == "q2" for q in graded)
    if asked is None:
        return None, None
    first = round(asked * profile.questions.q1_share)
    return first, asked - first


def _count(folder: Path, name: str) -> int:
    return len(records.read(folder / "debate" / name, PoolSample))


def _step(does: str, **found: Any) -> dict[str, Any]:
    return {"does": does, **found}


def _grpo(does: str, stages: list[tuple[int | None, int | None, GrpoSettings, float]]) -> dict[str, Any]:
    """Samples, steps and seconds over the stages. Without counts the profile's own limit of samples is taken."""
    used = [limit if there is None else min(there, limit or there) for there, limit, _, _ in stages]
    if any(n is None for n in used):
        return _step(does)
    return _step(does, samples=used[0], steps=sum(optimiser_steps(n or 0, g) for n, (_, _, g, _) in zip(used, stages, strict=True)),
                 seconds=sum((n or 0) * s for n, (_, _, _, s) in zip(used, stages, strict=True)))
