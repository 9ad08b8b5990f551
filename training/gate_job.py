"""The gate as a job: both judges judge the held-out items through the served model, then, where asked for, whole runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from storage.store import Store
from storage.values import JudgeVersion, SnapshotRow
from training.downstream import run_both
from training.gate import Entrant, GateRow, report
from training.gate_values import GateReport
from training.progress import ProgressLog
from training.question_set import normal
from training.rows import stratified_sample
from training.scoring import Judged, Scorer, score_items
from training.stop import StopRequest
from training.work_values import GateTask
from trio_core.errors import TrainingError
from trio_core.settings import Settings
from trio_core.values import JudgeItem

Scores = dict[str, dict[int, Judged]]


def gate_rows(task: GateTask, store: Store) -> list[SnapshotRow]:
    """The held-out items that count. Raises TrainingError where people's labels were asked for and there are none."""
    held = [row for row in store.snapshot_rows(task.snapshot_id, "held_out") if row.source in ("human", "gold")]
    human = [row for row in held if row.source == "human"]
    counts, rule = Counter(row.label for row in human), task.rule
    enough = len(human) >= rule.min_rows and min(counts["sufficient"], counts["insufficient"]) >= rule.min_per_class
    chosen = human if task.labels == "human" or (task.labels == "auto" and enough) else held
    if not chosen:
        whose = "people" if task.labels == "human" else "people or gold evidence"
        raise TrainingError(f"snapshot {task.snapshot_id} has no held-out item with a label of {whose}; make a "
                            "snapshot that holds some questions out")
    return stratified_sample(chosen, task.max_rows, task.seed)


async def judge_both(task: GateTask, versions: Sequence[JudgeVersion], rows: Sequence[SnapshotRow], data_dir: Path, scorer: Scorer,
                     log: ProgressLog) -> Scores:
    """judge -> item id -> what it says, the live judge first."""
    items: Mapping[int, JudgeItem] = {row.item_id: row.item for row in rows}
    found: Scores = {}
    for number, version in enumerate(versions):
        await scorer.use(version.adapter(data_dir))

        def on_item(done: int, of: int, left: float, name: str = version.name, before: int = number * len(items)) -> None:
            log.work(f"{name} judges held-out items", before + done, len(versions) * of, left)

        found[version.name] = await score_items(scorer, items, on_item)
    return found


def gate_report(task: GateTask, versions: Sequence[JudgeVersion], rows: Sequence[SnapshotRow], scores: Scores, store: Store,
                settings: Settings, folder: Path, job_id: int, log: ProgressLog, stop: StopRequest) -> GateReport:
    """The report; downstream runs first where they are asked for."""
    live, candidate = versions
    downstream = None
    if task.downstream is not None:
        seen = frozenset(normal(row.item.question) for row in store.snapshot_rows(task.snapshot_id, "train"))
        downstream = run_both(task.downstream, versions, store, settings, folder, task.rule, seen, log, stop)
    pairs = [(row, scores[live.name][row.item_id].p, scores[candidate.name][row.item_id].p) for row in rows]
    both = [GateRow(row.item_id, row.item.question, row.label, row.source, old, new)
            for row, old, new in pairs if old is not None and new is not None]
    return report(both, Entrant(live.name, live.threshold), Entrant(candidate.name, candidate.threshold), task.rule, downstream=downstream,
                  snapshot_id=task.snapshot_id, left_out=len(rows) - len(both), job_id=job_id)
