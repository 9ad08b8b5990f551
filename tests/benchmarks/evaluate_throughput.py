"""Evaluation throughput: 64 TRIO runs at once over an engine that sleeps a fixed time a call, against the ideal; and memory.

Ideal = calls one after the other within a run, 64 runs side by side, nothing else taking time. Everything else is real: BM25
retrieval, the run hub, SQLite on disk, rows. Both figures come from one process, so a slow machine shows in both.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from storage import open_store
from tests.benchmarks.common import table, write_report
from trio_core.datasets import map_evidence, open_dataset
from trio_core.engines.rule_script import rule
from trio_core.engines.scripted import Reply, ScriptedEngine
from trio_core.evaluation.batch import Batch, Plan
from trio_core.evaluation.rows import append_row
from trio_core.evaluation.values import Entrant, Progress, Row
from trio_core.retrieval.corpus import Corpus
from trio_core.settings import Settings, load_settings
from trio_core.values import ChatCall
from trio_core.workbench import Workbench


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--runs", type=int, default=640)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--delay", type=float, default=0.2, help="seconds a call")


class Engine(ScriptedEngine):
    """Sleeps the same time in every call and remembers none of them."""

    def __init__(self, delay: float) -> None:
        super().__init__(lambda call: rule_reply(call).model_copy(update={"delay_s": delay}))

    def _next(self, call: ChatCall) -> Reply:
        reply = super()._next(call)
        self.calls.clear()
        return reply


def rule_reply(call: ChatCall) -> Reply:
    """The reply of profile `scripted`."""
    return Reply.model_validate(rule(call))


def main(args: argparse.Namespace) -> None:
    """One batch; figures of its steady part and of the whole."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings("scripted", flags=[f"data_dir={folder}", f"runs.max_running={args.concurrency}"])
        figures = measure(settings, args, Path(folder))
    rows = [[name, value] for name, value in figures.items() if not isinstance(value, list)]
    memory = table(["runs done", "memory of the process, MiB"], figures["memory"])
    write_report("evaluate_throughput", "Throughput of evaluations", [*table(["figure", "value"], rows), "", "## Memory", "", *memory], figures, settings)


def measure(settings: Settings, args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Runs TRIO `runs` times over the demo questions."""
    questions = [q for q in open_dataset("demo") if q.answerable]
    evidence = map_evidence(questions, Corpus.open("demo").passages())
    repeats = math.ceil(args.runs / len(questions))
    store = open_store(settings.database_url)
    bench = Workbench(settings, store)
    bench.engine = Engine(args.delay)
    calls: list[int] = []
    memory: list[tuple[int, int]] = []
    process = psutil.Process()

    def on_row(row: Row) -> None:
        calls.append(row.calls)
        append_row(folder / "rows.jsonl", row)

    def on_progress(step: Progress) -> None:
        if step.done and step.done % max(step.total // 10, 1) == 0 and (not memory or memory[-1][0] != step.done):
            memory.append((step.done, process.memory_info().rss >> 20))

    try:
        bench.bring_up(wait=True)
        plan = Plan("eval-throughput", [Entrant(label="trio", method="trio")], questions, evidence, repeats)
        batch = Batch(plan, bench.hub, store, args.concurrency, on_row, on_progress)
        cpu, began = sum(process.cpu_times()[:2]), time.monotonic()
        bench.call(batch.work())
        seconds, busy = time.monotonic() - began, sum(process.cpu_times()[:2]) - cpu
    finally:
        bench.close()
        store.close()
    ideal = sum(calls) * args.delay / args.concurrency
    return {
        "runs": len(calls), "runs at once": args.concurrency, "seconds a call": args.delay, "calls": sum(calls), "seconds": round(seconds, 2),
        "ideal seconds": round(ideal, 2), "share of the ideal": round(ideal / seconds, 3), "seconds of CPU": round(busy, 2), "memory": memory,
    }
