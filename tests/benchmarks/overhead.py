"""Our own time an LLM call: scripted engine, BM25, real SQLite store, five runs at once."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from storage import open_store
from tests.benchmarks.common import demo_questions, median, table, write_report
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
            alone = [row for n in range(args.runs) for row in _run(bench, n, 1)]
            together = [row for n in range(0, args.runs, 5) for row in _run(bench, n, 5)]
        finally:
            bench.close()
            store.close()
    lines = [["one run at a time", len(alone), _median(alone, "ms_a_call"), _median(alone, "critical_ms_a_call"), f"{TARGET_MS:g}"],
             # Side by side the runs share one retriever thread, so the wall clock says nothing about our own time.
             ["five at once", len(together), "–", _median(together, "critical_ms_a_call"), f"{TARGET_MS:g}"]]
    body = table(["", "batches", "ms a call until stored and shown, median", "ms a call before the next can begin, median", "target ms"], lines)
    body += ["", "From the wish until the last event is stored and shown, less the time in engine and retriever, divided by the LLM calls. Each event is stored (SQLite, WAL) before it is shown, by a writer beside the run."]
    write_report("overhead", "Time outside engine and retriever, scripted engine", body, {"alone": alone, "together": together}, settings)


def _median(rows: list[dict[str, Any]], name: str) -> str:
    return f"{median(r[name] for r in rows):.2f}"


def _run(bench: Workbench, n: int, at_once: int) -> list[dict[str, Any]]:
    """The clock runs from the wish until the last event is stored and shown."""
    questions = demo_questions(None)
    began = time.monotonic()
    ids = [bench.start_run(RunRequest(question=questions[(n + i) % len(questions)].question, method=("trio", "maps")[(n + i) % 2])) for i in range(at_once)]
    for run_id in ids:
        bench.wait_run(run_id)
    wall = time.monotonic() - began
    totals = []
    for run_id in ids:
        snapshot = bench.poll(run_id)
        assert snapshot is not None
        end = snapshot.events[-1]
        assert isinstance(end, RunFinished), end
        totals.append(end.totals)
    calls = sum(t.calls for t in totals)
    outside = sum(t.engine_seconds + t.retriever_seconds for t in totals)
    inside = sum(t.seconds - t.engine_seconds - t.retriever_seconds for t in totals)
    return [{"calls": calls, "ms_a_call": 1000 * (wall - outside) / calls, "critical_ms_a_call": 1000 * inside / calls}]
