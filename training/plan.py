"""What a training job would do: its rows, its length in minutes, its command."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from training.base_model import base_name, cpu_has_bfloat16, load_tokenizer, ready_base
from training.rows import Selection, TrainingRow, class_counts, oversampled, select, token_counts
from training.tokens import row_tokens
from training.values import JobSettings, TrainingPlan
from trio_core.errors import SettingsError, TrainingError
from trio_core.settings import Settings, explain

# Seconds a token on two cores with the 1.5B model, LoRA on the last 10 of 28 layers: (training, judging).
WITH_BFLOAT16 = (0.013, 0.005)
"""AMD EPYC with AVX-512 bf16 (MEASURED.md sections 7 and 8)."""
WITH_FLOAT32 = (0.050, 0.030)
"""AVX2 alone: worked out from 43 GFLOP/s a core in float32, measured; bfloat16 would be five times slower still."""
MEASURED_CORES = 2
MEASURED_SIZE = 1.31e9
DEQUANTISE_S = 240.0
GPU_SPEEDUP = 50.0
"""Rough: an H100 class GPU against two cores."""
FIXED_S = 30.0
"""Imports and loading."""


class Draft(NamedTuple):
    """A plan together with the rows that it names."""

    plan: TrainingPlan
    settings: JobSettings
    selection: Selection


def job_settings(settings: Settings, overrides: Mapping[str, Any] | None) -> JobSettings:
    """The profile's training settings with a job's overrides, checked. Raises SettingsError in plain words."""
    try:
        return JobSettings.model_validate({**settings.training.model_dump(), **(overrides or {})})
    except ValidationError as error:
        raise SettingsError("; ".join(explain(e, JobSettings) for e in error.errors())) from error


def draft(settings: Settings, snapshot_id: int, rows: Sequence[TrainingRow], overrides: Mapping[str, Any] | None,
          command: str) -> Draft:
    """Chooses the rows and works out the rest. Raises SettingsError."""
    chosen = job_settings(settings, overrides)
    base = ready_base(chosen.base_model, settings.engine.embedded, settings.data_dir)
    count, notes, exact = _counter(base)
    tokens = token_counts(rows, count)
    selection = select(rows, tokens, chosen)
    used = [*selection.train, *selection.held_out]
    if selection.calibration:
        notes.append(f"{len(selection.calibration)} training rows are kept out of the training, for the threshold.")
    trained = oversampled(selection.train, chosen.seed) if chosen.class_balance == "sampling" else selection.train
    steps = math.ceil(math.ceil(len(trained) / chosen.batch_size) * chosen.epochs) if selection.train else 0
    if base is None:
        notes.append("The embedded model is dequantised first (once; about 4 minutes, 3.6 GB of disk).")
    if chosen.device != "cuda" and not cpu_has_bfloat16():
        notes.append("This CPU has no bfloat16 instructions: training takes about four times as long as on one that has.")
    if len(selection.held_out) < sum(row.split == "held_out" for row in rows):
        notes.append(f"{len(selection.held_out)} held-out rows are judged, a sample by seed {chosen.seed}.")
    plan = TrainingPlan(
        snapshot_id=snapshot_id, rows=class_counts(used), in_snapshot=class_counts(rows), dropped=tuple(selection.dropped),
        mean_tokens=sum(tokens[row.item_id] for row in used) / len(used) if used else 0.0, tokens_exact=exact, steps=steps,
        estimated_minutes=round(_seconds(selection, tokens, chosen, base) / 60, 1), command=command,
        config=chosen.model_dump(mode="json"), base_model=base_name(chosen.base_model, settings.engine.embedded),
        notes=tuple(notes), problems=tuple(selection.problems),
    )
    return Draft(plan, chosen, selection)


def _counter(base: str | None) -> tuple[Callable[[TrainingRow], int], list[str], bool]:
    """Counts a row's tokens; by characters where the tokenizer is not at hand yet."""
    if base is not None:
        try:
            tokenizer = load_tokenizer(base)
            return (lambda row: row_tokens(tokenizer, row)), [], True
        except TrainingError as error:
            return _estimate, [f"Lengths are estimated: {error}"], False
    return _estimate, ["Lengths are estimated until the model has been dequantised."], False


def _estimate(row: TrainingRow) -> int:
    # English in Qwen's tokenizer: a token per 4.2 characters on the demo items; 4 leaves room.
    return sum(len(message.content) // 4 + 8 for message in row.messages) + 8


def _seconds(selection: Selection, tokens: Mapping[int, int], settings: JobSettings, base: str | None) -> float:
    train = sum(tokens[row.item_id] for row in selection.train)
    held_out = sum(tokens[row.item_id] for row in selection.held_out)
    tuning = train / max(1, len(selection.train)) * min(settings.threshold_rows, len(selection.train))
    training_s, judging_s = WITH_BFLOAT16 if settings.device == "cuda" or cpu_has_bfloat16() else WITH_FLOAT32
    # After training the layers below the adapter are not computed again, which saves about two thirds of that pass.
    work = train * settings.epochs * training_s + 1.4 * (held_out + tuning) * judging_s
    speedup = GPU_SPEEDUP if settings.device == "cuda" else (os.cpu_count() or 1) / MEASURED_CORES
    return FIXED_S + (DEQUANTISE_S if base is None else 0.0) + work * _size(base) / speedup


def _size(base: str | None) -> float:
    """The base model's linear layers relative to the measured model's; 1 where its config is not at hand."""
    try:
        config = json.loads((Path(base or "") / "config.json").read_text(encoding="utf-8"))
        hidden, inner, layers = (config[name] for name in ("hidden_size", "intermediate_size", "num_hidden_layers"))
        return float(layers * (4 * hidden * hidden + 3 * hidden * inner) / MEASURED_SIZE)
    except (OSError, ValueError, KeyError):
        return 1.0
