"""Step 6: serving. Settings that serve one base with the three adapters, the footprint of that and of separate checkpoints."""

from __future__ import annotations

import asyncio
import logging
import shutil
from pathlib import Path
from typing import Any

import yaml

from training.footprint import Footprint, footprint
from training.local_model import local_folder
from training.pipeline import manifest, records
from training.pipeline.context import Context
from trio_core.errors import TrainingError

AGENTS = {"answer": "stage2/adapter", "query": "adapter", "judge": "adapter"}
"""Step -> where its adapter lies in its folder."""
SETTINGS = "serving.yaml"
FOOTPRINT = "footprint.json"
MERGED = "merged"
RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
"""Values that vLLM takes for --max-lora-rank."""
logger = logging.getLogger(__name__)


def adapters_of(folder: Path) -> dict[str, Path]:
    """The adapters of a run."""
    return {step: folder / step / place for step, place in AGENTS.items()}


def agents_of(folder: Path) -> tuple[str, dict[str, Path]]:
    """(base model, adapters) of a finished run. Raises TrainingError where an agent is missing."""
    missing = [step for step in AGENTS if manifest.read(folder / step) is None]
    if missing:
        raise TrainingError(f"{folder} holds no finished step {', '.join(missing)}; run the pipeline to its end first")
    found = manifest.read(folder / next(iter(AGENTS)))
    own = folder / "base"  # made on the spot; it moves with its run
    return str(own) if own.is_dir() or found is None else found.base, adapters_of(folder)


def write_settings(context: Context) -> None:
    """Settings of the app that serve one base model with the three adapters (`--settings FILE`)."""
    rank = next(r for r in RANKS if r >= context.profile.base.lora_rank)
    args = ["--enable-lora", "--max-lora-rank", str(rank), "--max-loras", str(len(AGENTS) + 1)]
    adapters = {name: str(place.resolve()) for name, place in adapters_of(context.folder).items()}
    served = {"engine": {"kind": "vllm", "model": context.base, "vllm": {"args": args, "adapters": adapters}}}
    (context.folder / SETTINGS).write_text(yaml.safe_dump(served, sort_keys=False), encoding="utf-8")


async def run(context: Context) -> dict[str, Any]:
    """Writes the footprint, and merged checkpoints where the profile wants them."""
    adapters = adapters_of(context.folder)
    report = await asyncio.to_thread(_measured, context, adapters)
    if context.profile.serving.merge:
        report["merged"] = await asyncio.to_thread(_merged, context, adapters)
    return report


def _measured(context: Context, adapters: dict[str, Path]) -> dict[str, Any]:
    try:
        found: Footprint = footprint(local_folder(context.base), adapters)
    except TrainingError as error:  # the agents are made; that their base has other files is no reason to end here
        logger.warning("no footprint: %s", error)
        return {"no_footprint": str(error)}
    records.write_json(context.step("serving") / FOOTPRINT, found.model_dump(mode="json"))
    return {"adapters": len(adapters), "shared": found.shared.model_dump(), "separate": found.separate.model_dump()}


def _merged(context: Context, adapters: dict[str, Path]) -> dict[str, Any]:
    from training.merge import merge

    report = {}
    shutil.rmtree(context.step("serving") / MERGED, ignore_errors=True)
    for name, adapter in adapters.items():
        context.stop.check()
        out = context.step("serving") / MERGED / name
        out.parent.mkdir(exist_ok=True)
        report[name] = merge(context.base, adapter, out, context.device).model_dump()
    return report
