"""Evaluation throughput: 64 TRIO runs at once over an engine that sleeps a fixed time a call, against the ideal; and memory.

Ideal = calls one after the other within a run, 64 runs side by side, nothing else taking time. Everything else is real: BM25
retrieval, the run hub, SQLite on disk, rows. The ideal knows no load, so the machine's load stands beside it, and the CPU time of
the process, which tells what the app itself costs whatever else runs.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from statistics import linear_regression
from typing import Any

import psutil

from storage import open_store
from tests.benchmarks.common import table, write_report
from trio_core.datasets import map_evidence, open_dataset
from trio_core.engines.scripted import Reply, ScriptedEngine
from trio_core.evaluation.batch import Batch, Plan
from trio_core.evaluation.rows import RowFile
from trio_core.evaluation.values import Entrant, EvaluationStore, Progress, Row
from trio_core.memory_store import MemoryStore
from trio_core.retrieval.corpus import Corpus
from trio_core.settings import Settings, load_settings
from trio_core.values import LABEL_TEXT, ChatCall, Completion, VerdictReading
from trio_core.workbench import Workbench

EVERY = 250
"""Runs between two looks at the memory."""
FLAT = 2.0
"""MiB a 1,000 runs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--runs", type=int, default=1920, help="rounded up to whole passes over the 60 demo questions; a multiple of 960 leaves "
                        "none of 64 places empty at the end, which the ideal does not know")
    parser.add_argument("--memory-runs", type=int, default=5000, help="runs of the memory curve, with an engine that takes no time; 0 = none")
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--delay", type=float, default=0.2, help="seconds a call")


class Sleeper(ScriptedEngine):
    """A stand-in for a server elsewhere: sleeps the same time in every call and costs this machine next to nothing."""

    def __init__(self, delay: float) -> None:
        replies = {"judge": Reply(text=LABEL_TEXT["insufficient"], p_sufficient=0.2), "query": Reply(text="alpha beta gamma")}
        super().__init__(lambda call: replies.get(call.role, Reply(text="Delft")))
        self.delay = delay

    async def stream(self, call: ChatCall) -> AsyncGenerator[str | Completion, None]:
        """The role's reply in one piece."""
        await asyncio.sleep(self.delay)
        text = self._next(call).text
        yield text
        yield Completion(text=text, seconds=self.delay, model="sleeper")

    async def verdict(self, call: ChatCall) -> VerdictReading:
        """Always insufficient."""
        await asyncio.sleep(self.delay)
        reply = self._next(call)
        return VerdictReading(completion=Completion(text=reply.text, seconds=self.delay), p_sufficient=reply.p_sufficient, p_method="script")

    async def count_tokens(self, text: str) -> int:
        """An estimate that costs nothing."""
        return len(text) // 4

    def _next(self, call: ChatCall) -> Reply:
        reply = super()._next(call)
        self.calls.clear()
        return reply


def main(args: argparse.Namespace) -> None:
    """One batch over SQLite on disk, one over a store that forgets: what the store costs stands between them."""
    found = {kind: measured(kind, args) for kind in ("sqlite", "memory")}
    names = [name for name in found["sqlite"] if name != "memory"]
    rows = [[name, *(figures[name] for figures in found.values())] for name in names]
    body = table(["figure", "SQLite", "store that forgets"], rows)
    if args.memory_runs:
        quick = argparse.Namespace(runs=args.memory_runs, concurrency=args.concurrency, delay=0.0)
        found["memory curve"] = measured("sqlite", quick)
        curve = found["memory curve"]
        curve["MiB a 1,000 runs"] = round(growth(curve["memory"]), 2)
        flat = "flat" if curve["MiB a 1,000 runs"] < FLAT else "growing"
        body += ["", f"## Memory of the process over {curve['runs']:,} runs, SQLite, an engine that takes no time", "",
                 f"Over the second half {curve['MiB a 1,000 runs']} MiB a 1,000 runs: {flat} (flat is under {FLAT:g}). "
                 f"{curve['ms of CPU a run']} ms of CPU a run, load {curve['load before']} to {curve['load after']}.", "",
                 *table(["runs done", "MiB"], curve["memory"])]
    write_report("evaluate_throughput", "Throughput of evaluations", body, found)


def growth(memory: Sequence[tuple[int, float]]) -> float:
    """Slope of the least-squares line through the second half of (runs, MiB), in MiB a 1,000 runs."""
    half = memory[len(memory) // 2 :]
    return 1000 * linear_regression(*zip(*half, strict=True)).slope


def measured(kind: str, args: argparse.Namespace) -> dict[str, Any]:
    """Figures of one batch in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings("scripted", flags=[f"data_dir={folder}", f"runs.max_running={args.concurrency}"])
        if kind == "memory":
            return measure(settings, MemoryStore(), args, Path(folder))
        store = open_store(settings.database_url)
        try:
            return measure(settings, store, args, Path(folder))
        finally:
            store.close()


def measure(settings: Settings, store: EvaluationStore, args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """TRIO with one extension (judge, query, judge or not, answer: calls are counted) over the demo questions."""
    questions = [q for q in open_dataset("demo") if q.answerable]
    evidence = map_evidence(questions, Corpus.open("demo").passages())
    bench = Workbench(settings, store)
    bench.engine = Sleeper(args.delay)
    calls: list[int] = []
    rows = RowFile(folder / "rows.jsonl")
    memory: list[tuple[int, float]] = []
    process = psutil.Process()

    def on_row(row: Row) -> None:
        calls.append(row.calls)
        rows.append(row)

    def on_progress(step: Progress) -> None:
        if step.done and step.done % EVERY == 0 and (not memory or memory[-1][0] != step.done):
            memory.append((step.done, round(process.memory_info().rss / 2**20, 1)))

    try:
        bench.bring_up(wait=True)
        entrant = Entrant(label="trio", method="trio", settings={"max_extensions": 1})
        plan = Plan("eval-throughput", [entrant], questions, evidence, math.ceil(args.runs / len(questions)))
        batch = Batch(plan, bench.hub, store, args.concurrency, on_row, on_progress)
        load = os.getloadavg()[0]
        cpu, began = sum(process.cpu_times()[:2]), time.monotonic()
        bench.call(batch.work())
        seconds, busy = time.monotonic() - began, sum(process.cpu_times()[:2]) - cpu
    finally:
        bench.close()
        rows.close()
    ideal = sum(calls) * args.delay / args.concurrency
    return {
        "runs": len(calls), "runs at once": args.concurrency, "seconds a call": args.delay, "calls": sum(calls), "seconds": round(seconds, 2),
        "ideal seconds": round(ideal, 2), "share of the ideal": round(ideal / seconds, 3), "seconds of CPU": round(busy, 2),
        "ms of CPU a run": round(1000 * busy / len(calls), 1), "load before": round(load, 1), "load after": round(os.getloadavg()[0], 1),
        "memory": memory,
    }
