"""TRIO on 40 demo questions with the untrained judge and with a calibrated head: exact match, rounds, calls, right and wrong stops.

The head is fitted on the labels that `learning_curve` collected from public data sets, so that it has seen neither a demo question nor the
demo's retriever; it reads no retrieval scores, which mean something else there. Runs of the untrained judge are those of `answer_quality`
where it has them. Resumable: one row a run.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
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
    write_report,
)
from tests.benchmarks.learning_curve import HELD_OUT, merged
from tests.benchmarks.learning_curve import ROWS as LABELS
from training.head import HeadSettings, SignalRow, fit_head
from training.metrics import evaluation
from training.starter import FILE as STARTER
from training.starter import Starter
from trio_core.engines.base import JudgeAdapter
from trio_core.memory_store import MemoryStore
from trio_core.settings import load_settings
from trio_core.workbench import Workbench

OLD, NEW = JudgeAdapter().name, "head-public"
FIGURES = {"EM": ("scores", "em"), "F1": ("scores", "f1"), "rounds": ("totals", "rounds"), "calls": ("totals", "calls"),
           "prompt tokens": ("totals", "prompt_tokens")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--limit", type=int, default=40, help="answerable demo questions")
    parser.add_argument("--labels", type=Path, default=LABELS, help="rows of learning_curve; the head sees those of training questions")
    parser.add_argument("--quality", type=Path, default=RESULTS / "answer_quality.jsonl", help="rows of answer_quality")
    parser.add_argument("--rows", type=Path, default=RESULTS / "judge_downstream.jsonl")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the embedded profile")
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--write-head", action="store_true", help="only write the head as the one that comes with Trioscope")


def main(args: argparse.Namespace) -> None:
    """Runs what is missing with each judge, then reports."""
    judges = [JudgeAdapter(), head_judge(args.labels)]
    if args.write_head:
        write_starter(judges[1], args.labels)
        return
    questions = demo_questions(args.limit)
    _reuse(args.quality, args.rows, {q.id for q in questions})
    for judge in judges:
        done = {r["question_id"] for r in read_rows(args.rows) if r["judge"] == judge.name}
        todo = [q for q in questions if q.id not in done]
        if not todo or args.report_only:
            continue
        bench = Workbench(load_settings("embedded", flags=args.set), MemoryStore(), judge=judge)
        try:
            bench.bring_up(wait=True)
            for n, question in enumerate(todo, 1):
                row = run_row(bench, question, "trio")
                append_row(args.rows, {"judge": judge.name, **row})
                print(f"{judge.name} {n}/{len(todo)} em {row['scores'].get('em')} rounds {row['totals']['rounds']} {row['reason']}", flush=True)
        finally:
            bench.close()
    report(read_rows(args.rows), judges[1], [q.id for q in questions])


def _reuse(quality: Path, rows: Path, wanted: set[str]) -> None:
    """Copies TRIO's finished runs with the untrained judge."""
    done = {r["question_id"] for r in read_rows(rows) if r["judge"] == OLD}
    for row in read_rows(quality):
        if row["method"] == "trio" and row["scores"] and row["question_id"] in wanted - done:
            append_row(rows, {"judge": OLD, **row})


def head_judge(labels: Path) -> JudgeAdapter:
    """A head on the untrained judge, fitted on the labels of all training questions."""
    rows = [r for r in merged(read_rows(labels)) if r["order"] not in HELD_OUT]
    fitted = fit_head([SignalRow(n, r["question_id"], "sufficient" if r["sufficient"] else "insufficient", r["signals"])
                       for n, r in enumerate(rows)], HeadSettings(), OLD)
    return JudgeAdapter(name=NEW, threshold=fitted.threshold, head=fitted.head)


def write_starter(judge: JudgeAdapter, labels: Path) -> None:
    """The head with its figures on the held-out questions, beside those of the untrained judge."""
    assert judge.head is not None
    held = [r for r in merged(read_rows(labels)) if r["order"] in HELD_OUT]
    named = [(n, "sufficient" if r["sufficient"] else "insufficient", "") for n, r in enumerate(held)]
    found = evaluation(named, ([r["p"] for r in held], 0.5), ([judge.head.p(r["signals"]) for r in held], judge.threshold), len(held), judge.head.rows)
    model = load_settings("embedded", env={}).engine.embedded.hub_file
    notes = (f"fitted on {judge.head.rows} items of HotpotQA, 2WikiMultihopQA and MuSiQue with BM25, labelled by gold evidence; "
             f"the judge's own P is that of {Path(model).stem}",)
    made = Starter(head=judge.head, threshold=judge.threshold, evaluation=found.model_copy(update={"items": ()}), notes=notes)
    STARTER.write_text(made.model_dump_json(indent=1) + "\n", encoding="utf-8")


def report(rows: Sequence[dict[str, Any]], new: JudgeAdapter, asked: Sequence[str]) -> None:
    """Means of both judges over the questions that both have, the paired differences, and how often a stop was right."""
    by = {(r["judge"], r["question_id"]): r for r in rows}
    both = [q for q in asked if (OLD, q) in by and (NEW, q) in by]
    sides = {judge: [by[judge, q] for q in both] for judge in (OLD, NEW)}
    lines = []
    for name, (part, key) in FIGURES.items():
        old, fresh = ([float(r[part].get(key, 0)) for r in sides[judge]] for judge in (OLD, NEW))
        differences = [b - a for a, b in zip(old, fresh, strict=True)]
        low, high = bootstrap(differences)
        lines.append([name, f"{mean(old):.3f}", f"{mean(fresh):.3f}", f"{mean(differences):+.3f} [{low:+.3f}, {high:+.3f}]"])
    assert new.head is not None
    body = [f"{len(both)} demo questions, TRIO with its default settings. New judge: a head over {', '.join(new.head.features)}, fitted on "
            f"{new.head.rows} labels of public data sets, threshold {new.threshold:.3f}.", "",
            *table(["", OLD, NEW, "difference, 95 % bootstrap"], lines), ""]
    for judge, own in sides.items():
        body += [f"- {judge}: runs ended by {_counted(Counter(r['reason'] for r in own))}; verdicts: {_verdicts(own)}"]
    write_report("judge_downstream", "TRIO with the old and the new judge", body,
                 {"rows": [r for judge in sides for r in sides[judge]], "head": new.model_dump(mode="json")}, load_settings("embedded", env={}))


def _verdicts(rows: Sequence[dict[str, Any]]) -> str:
    """Verdicts against gold evidence in the pool."""
    seen = Counter((label, gold) for r in rows for _, label, _, gold in r["verdicts"])
    yes, no = seen["sufficient", True] + seen["sufficient", False], seen["insufficient", True] + seen["insufficient", False]
    return (f"{yes} sufficient, of which {seen['sufficient', True]} with all gold passages in the pool; "
            f"{no} insufficient, of which {seen['insufficient', False]} without")


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{reason} {n}" for reason, n in counts.most_common())
