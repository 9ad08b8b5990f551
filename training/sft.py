"""Trains a judge: supervised fine-tuning of a LoRA adapter on label items, with the held-out figures before and after.

    python -m training train --snapshot 3             makes the config and starts this as a child process
    python -m training.sft --config FILE              the child process itself; the same line goes on after a stop or a crash

The folder of the config file is the job's folder. Read: `config.json`, `train.jsonl`, `held_out.jsonl`, `calibration.jsonl`. Written, in this order:
`progress.jsonl` (as it goes), `p_before.jsonl`, `checkpoints/`, `p_after.jsonl`, `adapter/` (PEFT, float32, with `training.json`: what
made it), `adapter.gguf` (the same for llama.cpp), and last `result.json`, so that its presence means the job has ended.
SIGTERM stops after the checkpoint of the last full step. Exit status: 0 done, 1 failed, 3 stopped.
"""

from __future__ import annotations

import json
import logging
import os
import platform
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from training import metrics
from training.base_model import ensure_base, load_model, load_tokenizer, pick_device
from training.child import run_job, serve
from training.lower_layers import LowerLayers
from training.progress import ProgressLog
from training.rows import TrainingRow, balanced_sample, data_hash, read_rows
from training.stop import Stopped, StopRequest
from training.values import Evaluation, JobSettings
from trio_core.engine_settings import EmbeddedSettings
from trio_core.values import Value

LIBRARIES = ("torch", "transformers", "trl", "peft", "accelerate", "datasets")
logger = logging.getLogger("training.sft")


class SftConfig(Value):
    """All that a training process needs besides its rows."""

    settings: JobSettings
    embedded: EmbeddedSettings
    data_dir: Path
    snapshot_id: int | None = None
    base_name: str = ""
    held_out_rows: int = 0
    """Rows on the snapshot's held-out side, of which `held_out.jsonl` may be a sample."""


class SftResult(Value):
    """How a job ended. Paths are inside the job's folder."""

    state: Literal["done", "stopped", "failed"]
    error: str = ""
    step: int = 0
    threshold: float = 0.5
    evaluation: Evaluation | None = None
    data_hash: str = ""
    gguf_note: str = ""
    """Why there is no `adapter.gguf`, where there is none."""


def main(config: SftConfig, folder: Path) -> SftResult:
    """Before, training, after, conversion; ends early as `stopped`. Raises TrioscopeError."""
    from training import trainer as t  # torch and trl: seconds to import

    stop, log = StopRequest(), ProgressLog(folder)
    stop.listen()
    settings = config.settings
    train, held_out = read_rows(folder / "train.jsonl"), read_rows(folder / "held_out.jsonl")
    kept = read_rows(folder / "calibration.jsonl") if (folder / "calibration.jsonl").exists() else []
    tuning = balanced_sample(kept or train, settings.threshold_rows, settings.seed)
    log.stage("loading", "")
    device = pick_device(settings.device)
    t.torch.set_num_threads(os.cpu_count() or 1)
    base = ensure_base(settings.base_model, config.embedded, config.data_dir, lambda what, share: log.stage("loading", what))
    tokenizer = load_tokenizer(base)
    model = t.with_adapter(load_model(base, device), settings)
    rows = [*tuning, *held_out]
    lower = LowerLayers(t.first_adapted(model, settings) if device == "cpu" else 0)  # a GPU computes faster than it copies
    try:
        with model.disable_adapter():
            before = _judge("before", model, tokenizer, rows, lower, folder, log, stop)
        log.held_out(0, metrics.scores([r.label for r in held_out], [before[r.item_id] for r in held_out], 0.5))
        step = _train(t, model, tokenizer, train, settings, folder, device, log, stop)
        after = _judge("after", model, tokenizer, rows, lower, folder, log, stop)
    except Stopped:
        return SftResult(state="stopped", data_hash=data_hash(train))
    evaluation = _evaluate(held_out, tuning, before, after, max(config.held_out_rows, len(held_out)))
    log.held_out(step, evaluation.after)
    log.stage("converting", "")
    note = _save(model, config, train, folder, step)
    return SftResult(state="done", step=step, threshold=evaluation.after.threshold, evaluation=evaluation,
                     data_hash=data_hash(train), gguf_note=note)


def _judge(
    stage: Literal["before", "after"], model: Any, tokenizer: Any, rows: list[TrainingRow], lower: LowerLayers, folder: Path,
    log: ProgressLog, stop: Any,
) -> dict[int, float]:
    from training.evaluate import judge_rows

    def on_row(done: int, of: int, seconds_left: float) -> None:
        log.stage(stage, "", done, of, seconds_left)
        if stop.wanted and done < of:
            raise Stopped

    logger.info("judging %d rows %s training", len(rows), stage)
    return judge_rows(model, tokenizer, rows, folder / f"p_{stage}.jsonl", on_row, lower)


def _train(
    t: Any, model: Any, tokenizer: Any, rows: list[TrainingRow], settings: JobSettings, folder: Path, device: str,
    log: ProgressLog, stop: Any,
) -> int:
    """Trains from the newest checkpoint; the step reached."""
    checkpoint = t.newest_checkpoint(folder)
    logger.info("training on %d rows %s", len(rows), f"from {checkpoint.name}" if checkpoint else "from the beginning")
    log.stage("training", "")
    trainer = t.build_trainer(model, tokenizer, rows, settings, folder, device, log, stop)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if trainer.state.global_step < trainer.state.max_steps:
        raise Stopped
    return int(trainer.state.global_step)


def _evaluate(
    held_out: list[TrainingRow], tuning: list[TrainingRow], before: dict[int, float], after: dict[int, float],
    held_out_rows: int,
) -> Evaluation:
    """Both judges on the held-out rows, each at the threshold that suits it best on the training rows."""
    labels = [row.label for row in tuning]
    thresholds = [metrics.tune_threshold(labels, [p[row.item_id] for row in tuning]) for p in (before, after)]
    p_before, p_after = ([p[row.item_id] for row in held_out] for p in (before, after))
    named = [(row.item_id, row.label, row.question) for row in held_out]
    return metrics.evaluation(named, (p_before, thresholds[0]), (p_after, thresholds[1]), held_out_rows, len(tuning))


def _save(model: Any, config: SftConfig, rows: list[TrainingRow], folder: Path, step: int) -> str:
    """Writes `adapter/`, what made it, and `adapter.gguf`; why the last is missing, if it is."""
    from training.gguf_adapter import write_gguf_adapter
    from trio_core.errors import TrainingError

    adapter = folder / "adapter"
    model.save_pretrained(str(adapter))
    made = {"config": config.model_dump(mode="json"), "step": step, "data_hash": data_hash(rows), "rows": len(rows),
            "labels": dict(Counter(row.label for row in rows)), "python": platform.python_version(),
            "versions": {name: metadata.version(name) for name in LIBRARIES}}
    (adapter / "training.json").write_text(json.dumps(made, indent=1), encoding="utf-8")
    plain = model.get_base_model().config
    try:
        write_gguf_adapter(adapter, plain.model_type, plain.num_hidden_layers, folder / "adapter.gguf")
    except TrainingError as error:
        logger.warning("no adapter.gguf: %s", error)
        return str(error)
    return ""


def run(config_file: Path) -> int:
    """Reads the config, trains, writes `result.json`; the exit status."""
    return run_job(config_file, logger, lambda text, folder: main(SftConfig.model_validate_json(text), folder),
                   lambda why: SftResult(state="failed", error=why))


if __name__ == "__main__":
    serve("Train a judge (child process; see the module's text).", run)
