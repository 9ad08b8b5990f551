"""Our own time an LLM call: scripted engine, BM25, real SQLite store, five runs at once."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from storage import open_store
from tests.benchmarks.common import demo_questions, mean, median, table, write_report
from trio_core.events import RunFinished
from trio_core.runs import RunRequest
from trio_core.settings import load_settings
from trio_core.workbench import Workbench

TARGET_MS = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--runs", type=int, default=60)


def main(args: argparse.Namespace) -> None:
    """One run at a time, then five at once."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings("scripted", env={}, flags=[f"data_dir={folder}"])
        store = open_store(f"sqlite:///{Path(folder) / 'bench.db'}")
        bench = Workbench(settings, store)
        bench.bring_up(wait=True)
        try:
            alone = [_run(bench, n, 1)[0] for n in range(args.runs)]
            together = [row for n in range(0, args.runs, 5) for row in _run(bench, n, 5)]
        finally:
            bench.close()
            store.close()
    lines = [[name, len(rows), f"{median(r['ms_a_call'] for r in rows):.2f}", f"{mean(r['ms_a_call'] for r in rows):.2f}", f"{TARGET_MS:g}"]
             for name, rows in (("one run at a time", alone), ("five at once", together))]
    body = table(["", "runs", "median ms a call", "mean ms a call", "target ms"], lines)
    body += ["", "Time of a run in neither engine nor retriever, divided by its LLM calls; each event is stored (SQLite, WAL) before it is shown."]
    write_report("overhead", "Time outside engine and retriever, scripted engine", body, {"alone": alone, "together": together}, settings)


def _run(bench: Workbench, n: int, at_once: int) -> list[dict[str, Any]]:
    questions = demo_questions(None)
    ids = [bench.start_run(RunRequest(question=questions[(n + i) % len(questions)].question, method=("trio", "maps")[(n + i) % 2])) for i in range(at_once)]
    rows = []
    for run_id in ids:
        bench.wait_run(run_id)
        snapshot = bench.poll(run_id)
        assert snapshot is not None
        end = snapshot.events[-1]
        assert isinstance(end, RunFinished), end
        t = end.totals
        rows.append({"calls": t.calls, "ms_a_call": 1000 * (t.seconds - t.engine_seconds - t.retriever_seconds) / t.calls})
    return rows
