"""The cheap rungs of the ladder: a threshold tuned on labels, and a calibrated head. Either sits on a judge that exists.

Items that this judge was trained on are left out: its P on them says nothing about new ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from storage.store import Store
from storage.values import JudgeVersion, SnapshotRow
from training import metrics
from training.head import SignalRow, fit_head
from training.progress import ProgressLog
from training.rows import balanced_sample, read_rows, stratified_sample
from training.scoring import Judged, Scorer, score_items
from training.values import Evaluation
from training.work_values import HeadTask, ThresholdTask, WorkResult
from trio_core.errors import TrainingError
from trio_core.judge_head import SAMPLED, JudgeHead
from trio_core.settings import Settings


async def fit_rung(task: ThresholdTask, settings: Settings, store: Store, scorer: Scorer, job_id: int,
                   log: ProgressLog) -> WorkResult:
    """Judges the snapshot's items with the parent judge, fits, measures on the held-out side. Raises TrainingError."""
    parent = store.judge_version(task.judge)
    base = base_of(store, parent)
    train, held, notes = _rows(task, store, settings.data_dir, base)
    await scorer.use(base.adapter(settings.data_dir))
    head = task.head if isinstance(task, HeadTask) else None
    samples = head.samples if head is not None and SAMPLED & set(head.features) else 0
    log.stage("before", f"{base.name} judges {len(train) + len(held)} items")
    judged = await score_items(
        scorer, {row.item_id: row.item for row in (*train, *held)}, lambda done, of, left: log.work("judging items", done, of, left),
        samples, head.temperature if head is not None else 1.0)
    train, held = _with_p(train, judged, notes), _with_p(held, judged, notes)
    if not train:
        raise TrainingError("the model server shows no log-probabilities, so no judge has a P(sufficient) to tune; use another server")
    made, threshold, extra = _fit(task, train, judged, base.name)
    evaluation = _measure(held, judged, parent.threshold, made, threshold, len(train))
    log.held_out(0, evaluation.before)
    log.held_out(1, evaluation.after)
    scores = {**evaluation.model_dump(mode="json"), "job_id": job_id, "notes": [*notes, *extra.pop("notes", [])], **extra,
              "labels": dict(Counter(row.label for row in train))}
    return WorkResult(state="done", report=scores, version={
        "base_model": base.base_model, "snapshot_id": task.snapshot_id, "peft_dir": base.peft_dir, "gguf": base.gguf, "scores": scores,
        "threshold": threshold, "reason": f"fitted by job {job_id}", "kind": task.kind, "parent": base.name,
        "head": made.model_dump(mode="json") if made is not None else None})


def base_of(store: Store, version: JudgeVersion) -> JudgeVersion:
    """The model or trained adapter under a judge; a head is refused (it has a threshold of its own)."""
    if version.kind == "head":
        raise TrainingError(f"{version.name} is a calibrated head on {version.parent} with a threshold of its own; choose {version.parent}")
    return store.judge_version(version.parent) if version.kind == "threshold" and version.parent else version


def trained_on(store: Store, data_dir: Path, version: JudgeVersion) -> frozenset[int]:
    """Items that an adapter's training saw; its snapshot's whole training side where the job's files are gone."""
    if version.kind != "sft":
        return frozenset()
    file = data_dir / "training" / f"job-{version.scores.get('job_id', 0)}" / "train.jsonl"
    if file.exists():
        return frozenset(row.item_id for row in read_rows(file))
    rows = store.snapshot_rows(version.snapshot_id, "train") if version.snapshot_id is not None else []
    return frozenset(row.item_id for row in rows)


def _rows(task: ThresholdTask, store: Store, data_dir: Path, base: JudgeVersion) -> tuple[list[SnapshotRow], list[SnapshotRow], list[str]]:
    """Training and held-out rows, and what was left out."""
    seen = trained_on(store, data_dir, base)
    all_train = store.snapshot_rows(task.snapshot_id, "train")
    fresh = [row for row in all_train if row.item_id not in seen]
    notes = [f"{len(all_train) - len(fresh)} items that {base.name} was trained on are left out"] if len(fresh) < len(all_train) else []
    if len({row.label for row in fresh}) < 2:
        raise TrainingError(f"{len(fresh)} of the snapshot's {len(all_train)} training items are new to {base.name}, and not of both "
                            "labels; train it with calibration_share (for example 0.25), or make a snapshot with newer labels")
    # Votes hold for one answer model; judges are measured on what people or gold evidence say.
    held = [row for row in store.snapshot_rows(task.snapshot_id, "held_out") if row.source in ("human", "gold")]
    return balanced_sample(fresh, task.max_rows, task.seed), stratified_sample(held, task.held_out_rows, task.seed), notes


def _with_p(rows: Sequence[SnapshotRow], judged: Mapping[int, Judged], notes: list[str]) -> list[SnapshotRow]:
    found = [row for row in rows if judged[row.item_id].p_raw is not None]
    if len(found) < len(rows):
        notes.append(f"{len(rows) - len(found)} {rows[0].split} items have no P(sufficient) and are left out")
    return found


def _fit(
    task: ThresholdTask, rows: Sequence[SnapshotRow], judged: Mapping[int, Judged], judge: str
) -> tuple[JudgeHead | None, float, dict[str, Any]]:
    """Head (for a head), threshold, and what to note beside the figures."""
    if not isinstance(task, HeadTask):
        return None, metrics.tune_threshold([row.label for row in rows], [_p(judged[row.item_id]) for row in rows]), {}
    known = [SignalRow(row.item_id, row.question_hash, row.label, judged[row.item_id].signals) for row in rows]
    fitted = fit_head(known, task.head, judge)
    return fitted.head, fitted.threshold, {"c": fitted.c, "notes": list(fitted.notes), "head_settings": task.head.model_dump(mode="json")}


def _measure(rows: Sequence[SnapshotRow], judged: Mapping[int, Judged], threshold_before: float, head: JudgeHead | None,
             threshold: float, fitted_rows: int) -> Evaluation:
    """Parent and candidate on the held-out rows."""
    before = [_p(judged[row.item_id]) for row in rows]
    after = [p if head is None else head.p(judged[row.item_id].signals) or 0.0 for row, p in zip(rows, before, strict=True)]
    named = [(row.item_id, row.label, row.item.question) for row in rows]
    return metrics.evaluation(named, (before, threshold_before), (after, threshold), len(rows), fitted_rows)


def _p(judged: Judged) -> float:
    assert judged.p_raw is not None, "rows without P are left out before"
    return judged.p_raw
