"""Seconds a question on this machine, prefix-cache share, and time outside engine and retriever. Run on a quiet machine."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from tests.benchmarks.common import RESULTS, append_row, demo_questions, median, run_row, table, workbench, write_report
from trio_core.settings import load_settings
from trio_core.values import Capabilities

TARGETS = {"trio": 45.0, "maps": 90.0}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--limit", type=int, default=12)
    parser.add_argument("--resume", action="store_true", help="keep the rows of the last report and measure only what is missing")
    parser.add_argument("--record", type=Path, help="write each run's events into this folder (trio_core/demo/recorded)")


def main(args: argparse.Namespace) -> None:
    """Both methods on the same questions, one run at a time."""
    last = RESULTS / "latency.json"
    rows: list[dict[str, Any]] = json.loads(last.read_text())["rows"] if args.resume and last.exists() else []
    done = {(r["question_id"], r["method"]) for r in rows}
    with workbench() as bench:
        for question in demo_questions(args.limit):
            for method in TARGETS:
                if (question.id, method) in done:
                    continue
                row = run_row(bench, question, method, args.record)
                rows.append(row)
                # The same runs count for answer quality, which need not repeat them.
                append_row(RESULTS / "answer_quality.jsonl", row)
                print(f"{method} {question.id} {row['totals']['seconds']:.1f} s", flush=True)
                report(rows, bench.capabilities)


def report(rows: list[dict[str, Any]], capabilities: Capabilities | None) -> None:
    """Written after every run, so that an interrupted measurement keeps what it has."""
    lines = []
    for method, target in TARGETS.items():
        own = [r["totals"] for r in rows if r["method"] == method]
        if not own:
            continue
        seconds = [t["seconds"] for t in own]
        outside = [1 - (t["engine_seconds"] + t["retriever_seconds"]) / t["seconds"] for t in own]
        prompt, cached = sum(t["prompt_tokens"] for t in own), sum(t["cached_tokens"] for t in own)
        lines.append([method, len(own), f"{median(seconds):.1f}", f"{min(seconds):.1f} – {max(seconds):.1f}", f"{target:.0f}",
                      f"{median(t['rounds'] for t in own):g}", f"{median(t['calls'] for t in own):g}", f"{100 * cached / prompt:.0f} %",
                      f"{100 * median(outside):.2f} %", f"{100 * max(outside):.2f} %"])
    body = table(["method", "n", "median s", "range s", "target s", "rounds", "calls", "prompt tokens from cache", "outside, median", "outside, worst"], lines)
    body += ["", f"Load average at the end: {os.getloadavg()[0]:.1f}. Outside = share of the run's time in neither engine nor retriever (target: at most 3 %)."]
    if capabilities:
        body.append(f"Model server: {capabilities.prompt_tokens_per_s} prompt and {capabilities.completion_tokens_per_s} written tokens a second (start-up probe).")
    write_report("latency", "Latency of the embedded profile", body, {"rows": rows}, load_settings("embedded", env={}))
