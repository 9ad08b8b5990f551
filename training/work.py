"""The process of a job that asks a model server: votes, threshold, head, gate.

    python -m training.work --config FILE             the same line goes on after a stop or a crash

It brings up an engine of its own (or attaches to the server that the settings name), so the app's live judge is untouched.
Read: `config.json` in the job's folder. Written: `progress.jsonl`, for a gate `downstream.jsonl`, and last `result.json`; what the
model said is kept in `training/scores.jsonl` of the data folder and never asked twice. SIGTERM stops between two items.
Exit status: 0 done, 1 failed, 3 stopped.
"""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

from storage.store import Store, open_store
from training.child import run_job, serve
from training.gate_job import Scores, gate_report, gate_rows, judge_both
from training.progress import ProgressLog
from training.rungs import fit_rung
from training.scoring import scoring
from training.stop import Stopped, StopRequest
from training.votes import label_by_votes
from training.votes_shards import label_by_shards
from training.work_values import GateTask, VotesTask, WorkConfig, WorkResult

STORE_VARIABLE = "TRIOSCOPE_JOB_STORE"
logger = logging.getLogger("training.work")


def main(config: WorkConfig, folder: Path) -> WorkResult:
    """Does the task; ends early as `stopped`. Raises TrioscopeError."""
    stop, log = StopRequest(), ProgressLog(folder)
    stop.listen()
    store = open_store(os.environ.get(STORE_VARIABLE) or config.settings.database_url)
    log.stage("loading", "")
    try:
        if isinstance(config.task, GateTask):
            return _gate(config, config.task, store, folder, log, stop)
        if isinstance(config.task, VotesTask) and config.task.engine != "local":
            return WorkResult(state="done", report=label_by_shards(config.task, config.settings, store, log, stop))
        return asyncio.run(_ask(config, store, log, stop))
    except Stopped:
        return WorkResult(state="stopped")
    finally:
        store.close()


async def _ask(config: WorkConfig, store: Store, log: ProgressLog, stop: StopRequest) -> WorkResult:
    task = config.task
    assert not isinstance(task, GateTask)
    async with scoring(config.settings, stop) as scorer:
        if isinstance(task, VotesTask):
            return WorkResult(state="done", report=await label_by_votes(task, store, scorer, log))
        return await fit_rung(task, config.settings, store, scorer, config.job_id, log)


def _gate(config: WorkConfig, task: GateTask, store: Store, folder: Path, log: ProgressLog, stop: StopRequest) -> WorkResult:
    versions = [store.judge_version(name) for name in (task.live, task.candidate)]
    rows = gate_rows(task, store)

    async def judged() -> Scores:
        async with scoring(config.settings, stop) as scorer:
            return await judge_both(task, versions, rows, config.settings.data_dir, scorer, log)

    report = gate_report(task, versions, rows, asyncio.run(judged()), store, config.settings, folder, config.job_id, log, stop)
    return WorkResult(state="done", report=report.model_dump(mode="json"))


def run(config_file: Path) -> int:
    """Reads the config, works, writes `result.json`; the exit status."""
    return run_job(config_file, logger, lambda text, folder: main(WorkConfig.model_validate_json(text), folder),
                   lambda why: WorkResult(state="failed", error=why))


if __name__ == "__main__":
    serve("Ask a model server for a job (child process; see the module's text).", run)
