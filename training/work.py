"""The process of a job that asks a model server: votes, threshold, head, gate.

    python -m training.work --config FILE             the same line goes on after a stop or a crash

It brings up an engine of its own (or attaches to the server that the settings name), so the app's live judge is untouched.
Read: `config.json` in the job's folder. Written: `progress.jsonl`, for a gate `downstream.jsonl`, and last `result.json`; what the
model said is kept in `training/scores.jsonl` of the data folder and never asked twice. SIGTERM stops between two items.
Exit status: 0 done, 1 failed, 3 stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from pathlib import Path

from storage.store import Store, open_store
from training.gate_job import Scores, gate_report, gate_rows, judge_both
from training.progress import ProgressLog
from training.rungs import fit_rung
from training.scoring import scoring
from training.stop import Stopped, StopRequest
from training.votes import label_by_votes
from training.work_values import GateTask, VotesTask, WorkConfig, WorkResult
from trio_core.errors import TrioscopeError

RESULT = "result.json"
STORE_VARIABLE = "TRIOSCOPE_JOB_STORE"
STATUS = {"done": 0, "failed": 1, "stopped": 3}
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
    """Reads the config, works, writes `result.json` whatever happened; the exit status."""
    folder = config_file.parent
    (folder / RESULT).unlink(missing_ok=True)
    try:
        result = main(WorkConfig.model_validate_json(config_file.read_text(encoding="utf-8")), folder)
    except TrioscopeError as error:
        logger.error("%s", error)
        result = WorkResult(state="failed", error=str(error))
    except Exception as error:  # a bug or a full disk: kept in the log in full, in the store in one line
        logger.exception("the job failed")
        result = WorkResult(state="failed", error=f"{type(error).__name__}: {error}")
    temporary = folder / f"{RESULT}.part"
    temporary.write_text(result.model_dump_json(indent=1), encoding="utf-8")
    temporary.replace(folder / RESULT)
    logger.info("%s", result.state)
    return STATUS[result.state]


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stdout)
    parser = argparse.ArgumentParser(description="Ask a model server for a job (child process; see the module's text).")
    parser.add_argument("--config", type=Path, required=True, help="config.json in the job's folder")
    sys.exit(run(parser.parse_args().config))
