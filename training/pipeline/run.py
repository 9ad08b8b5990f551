"""A run of the pipeline: six steps in order, each once. Run again with the same folder it goes on where it stopped."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from training.base_model import pick_device
from training.pipeline import answer, debate, judge, manifest, query, questions, records, serving
from training.pipeline.card import write_card
from training.pipeline.context import Context, needs_tiny
from training.pipeline.manifest import StepManifest
from training.pipeline.profile import PipelineProfile
from training.progress import ProgressLog
from training.stop import StopRequest
from trio_core.errors import TrainingError
from trio_core.settings import Settings

PROFILE = "profile.json"
logger = logging.getLogger(__name__)


class Step(NamedTuple):
    """A step: what it hangs on, and what does it."""

    name: str
    sections: tuple[str, ...]
    """Sections of the profile."""
    needs: tuple[str, ...]
    work: Callable[[Context], Awaitable[dict[str, Any]]]
    agent: str = ""
    """Where its adapter lies in its folder, if it makes one."""


STEPS = (
    Step("questions", ("questions", "corpus"), (), questions.run),
    Step("debate", ("debate", "corpus"), ("questions",), debate.run),
    Step("answer", ("answer",), ("debate",), answer.run, serving.AGENTS["answer"]),
    Step("query", ("query", "corpus"), ("debate", "answer"), query.run, serving.AGENTS["query"]),
    Step("judge", ("judge",), ("debate", "answer"), judge.run, serving.AGENTS["judge"]),
    Step("serving", ("serving",), tuple(serving.AGENTS), serving.run),
)


def step_settings(step: Step, profile: PipelineProfile, snapshot_id: int | None) -> dict[str, Any]:
    """What a step's result hangs on."""
    whole = profile.model_dump(mode="json")
    found = {name: whole[name] for name in (*step.sections, "base", "rollouts", "seed")}
    found["rollouts"].pop("parallel")
    return found | ({"snapshot": snapshot_id} if step.name == "judge" else {})


def finished(folder: Path) -> dict[str, StepManifest]:
    """The manifests that a folder holds, by step."""
    return {step.name: found for step in STEPS if (found := manifest.read(folder / step.name)) is not None}


def run_pipeline(profile: PipelineProfile, settings: Settings, folder: Path, stop: StopRequest, *, snapshot_id: int | None = None,
                 again: str = "", until: str = "", began: Callable[[], None] | None = None) -> dict[str, StepManifest]:
    """Runs the missing steps; all manifests. `again` names the first step to make anew, `until` the last to run; `began` is called
    whenever a step begins, after its settings were found to fit the folder.

    Raises Stopped, TrainingError, EngineError and what else a person can mend.
    """
    names = [step.name for step in STEPS]
    for given in filter(None, (again, until)):
        if given not in names:
            raise TrainingError(f"there is no step {given!r}; the steps are {', '.join(names)}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names[names.index(again):] if again else ():
        shutil.rmtree(folder / name, ignore_errors=True)
    context = _context(profile, settings, folder, stop, snapshot_id)
    done: dict[str, StepManifest] = {}
    for step in STEPS[: names.index(until) + 1] if until else STEPS:
        stop.check()
        done[step.name] = _one(step, context, done, began)
    if len(done) == len(STEPS):
        serving.write_settings(context)
    return done


def _context(profile: PipelineProfile, settings: Settings, folder: Path, stop: StopRequest, snapshot_id: int | None) -> Context:
    device = pick_device(profile.base.device)
    base = profile.base.model
    if needs_tiny(profile):
        from training.pipeline.tiny_base import make_tiny_base

        base = make_tiny_base(folder / "base", profile.seed)
    return Context(profile, settings, folder, device, base, ProgressLog(folder), stop, snapshot_id)


def _one(step: Step, context: Context, done: dict[str, StepManifest], told: Callable[[], None] | None) -> StepManifest:
    folder = context.step(step.name)
    wanted = step_settings(step, context.profile, context.snapshot_id)
    inputs = {name: done[name].outputs_hash for name in step.needs}
    if (found := manifest.read(folder)) is not None:
        manifest.check(found, wanted, inputs, folder)
        logger.info("step %s is done already", step.name)
        return found
    # What a stopped step left may only be continued with the settings it began with.
    begun = folder / "begun.json"
    if begun.exists() and records.read_json(begun) != {"settings": wanted, "inputs": inputs}:
        raise TrainingError(f"step {step.name} in {folder} was begun with other settings; use another --out, or give --again {step.name}")
    folder.mkdir(exist_ok=True)
    records.write_json(begun, {"settings": wanted, "inputs": inputs})
    records.write_json(context.folder / PROFILE, context.profile.model_dump(mode="json"))
    if told is not None:
        told()
    logger.info("step %s begins", step.name)
    began = time.monotonic()
    report = asyncio.run(step.work(context))  # type: ignore[arg-type]
    made = manifest.make(step.name, folder, wanted, inputs, report, context.base, context.device, time.monotonic() - began)
    if step.agent:
        write_card(folder / step.agent, step.name, made, context)
    logger.info("step %s: %s", step.name, report)
    return made
