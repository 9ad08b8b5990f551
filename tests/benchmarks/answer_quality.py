"""Answer quality of the embedded model on demo questions: no retrieval, TRIO, MAPS. Resumable: one row a run.

Seconds here are only as good as the machine was quiet; `latency` measures those.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.benchmarks.common import (
    RESULTS,
    append_row,
    bootstrap,
    demo_questions,
    mean,
    read_rows,
    run_row,
    table,
    workbench,
    write_report,
)
from trio_core.settings import load_settings

METHODS = ("no_retrieval", "trio", "maps")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--limit", type=int, default=50, help="answerable questions")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--rows", type=Path, default=RESULTS / "answer_quality.jsonl")
    parser.add_argument("--report-only", action="store_true")


def main(args: argparse.Namespace) -> None:
    """Runs what is missing, question by question, then writes the report."""
    methods = args.methods.split(",")
    rows = read_rows(args.rows)
    done = {(r["question_id"], r["method"]) for r in rows}
    todo = [(q, m) for q in demo_questions(args.limit) for m in methods if (q.id, m) not in done]
    if todo and not args.report_only:
        # Two runs at once: writing gains from company, so all of it takes less time; no figure here is a time.
        with workbench() as bench, ThreadPoolExecutor(2) as pool:
            for n, row in enumerate(pool.map(lambda job: run_row(bench, *job), todo), 1):
                append_row(args.rows, row)
                rows.append(row)
                print(f"{n}/{len(todo)} {row['method']} {row['question_id']} em {row['scores'].get('em')} {row['answer']!r}", flush=True)
    report(rows)


def _metric(rows: list[dict[str, Any]], name: str) -> str:
    values = [r["scores"].get(name, 0.0) for r in rows]
    low, high = bootstrap(values)
    return f"{mean(values):.3f} [{low:.2f}, {high:.2f}]"


def _total(rows: list[dict[str, Any]], name: str) -> float:
    return mean(r["totals"][name] for r in rows)


def report(rows: list[dict[str, Any]]) -> None:
    """Means with 95 % bootstrap intervals; failed runs count as wrong answers."""
    body = []
    lines = []
    for method in METHODS:
        own = [r for r in rows if r["method"] == method]
        if not own:
            continue
        prompt = sum(r["totals"]["prompt_tokens"] for r in own)
        cached = sum(r["totals"]["cached_tokens"] for r in own)
        lines.append([
            method, len(own), _metric(own, "em"), _metric(own, "f1"), _metric(own, "cover_sub"), _metric(own, "cover_token_seq"),
            f"{mean(r['scores'].get('answer_tokens', 0) for r in own):.1f}", f"{_total(own, 'rounds'):.2f}", f"{_total(own, 'calls'):.1f}",
            f"{_total(own, 'prompt_tokens'):.0f}", f"{100 * cached / prompt:.0f} %", f"{_total(own, 'completion_tokens'):.0f}",
            sum(r["parse_failed"] for r in own),
        ])
    header = ["method", "n", "EM", "F1", "Cover-EM (substring)", "Cover-EM (token run)", "answer tokens", "rounds", "calls", "prompt tokens", "cached", "written tokens", "unparsed outputs"]
    body += table(header, lines) + ["", "Means a question; brackets: 95 % bootstrap over questions. Failed runs count as wrong.", "", "## Why runs stopped", ""]
    for method in METHODS:
        reasons: dict[str, int] = {}
        for row in (r for r in rows if r["method"] == method):
            reasons[row["reason"]] = reasons.get(row["reason"], 0) + 1
        if reasons:
            body.append(f"- {method}: " + ", ".join(f"{k} {v}" for k, v in sorted(reasons.items(), key=lambda kv: -kv[1])))
    body += ["", "## EM by type of question", ""]
    types = sorted({r["type"] for r in rows})
    body += table(["method", *types], [
        [m, *(f"{mean(r['scores'].get('em', 0.0) for r in rows if r['method'] == m and r['type'] == t):.2f} (n {sum(r['method'] == m and r['type'] == t for r in rows)})" for t in types)]
        for m in METHODS if any(r["method"] == m for r in rows)
    ])
    write_report("answer_quality", "Answer quality on demo questions, embedded model", body, {"rows": rows}, load_settings("embedded", env={}))
