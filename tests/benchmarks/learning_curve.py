"""The judge's learning curve on public multi-hop questions: zero-shot, tuned threshold, calibrated heads, by number of labels.

`--collect N` reads the items of N questions a set with the embedded model (P of the judge, 4 sampled answers) and adds a row
an item to results/learning_curve.jsonl, which holds no text of the data sets; a stopped collection goes on where it was. Fitting
takes seconds, so the report is made anew each time.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from storage.values import BinaryLabel
from tests.benchmarks.common import RESULTS, append_row, mean, read_rows, table, workbench, write_report
from tests.benchmarks.curve_items import CurveItem, curve_items
from training.bootstrap import figures
from training.head import HeadSettings, SignalRow, fit_head
from training.metrics import tune_threshold
from trio_core.engines.base import JudgeAdapter
from trio_core.evidence import AnswerAgent, SampleSettings, head_sampling, sample_answers, summarise
from trio_core.judge_signals import signals
from trio_core.prompting import load_prompts
from trio_core.settings import load_settings
from trio_core.values import ChatCall
from trio_core.workbench import Workbench

ROWS = RESULTS / "learning_curve.jsonl"
SAMPLES = 4
SIZES = (32, 64, 128, 256)
SEEDS = (1, 2, 3)
HELD_OUT = (0, 1)
"""Questions whose place in the shuffle is 0 or 1 modulo 5 are held out, in all sets."""
HEADS: dict[str, tuple[str, ...]] = {
    "head: logit alone": ("logit",),
    "head: without sampled answers": ("logit", "mean_score", "top_score", "new_passages", "round", "question_in_pool", "comparison"),
    "head: default": HeadSettings().features,
    "head: all signals": (*HeadSettings().features, "top_score", "pool_tokens", "question_in_pool"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--collect", type=int, default=0, metavar="N", help="read the items of the first N questions of each set")
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--index-dir", type=Path, default=Path("var/learning-curve"))


def main(args: argparse.Namespace) -> None:
    """Collects if asked to, then reports."""
    if args.collect:
        collect(args)
    report(read_rows(args.rows))


def collect(args: argparse.Namespace) -> None:
    """Reads what is missing, question by question."""
    done = {row["hash"] for row in read_rows(args.rows)}
    dropped: Counter[str] = Counter()
    items = list(curve_items(args.index_dir, args.collect, dropped))
    print(f"{len(items)} items, left out: {dict(dropped)}", flush=True)
    with workbench() as bench:
        agent = AnswerAgent(bench.engine, load_prompts("trio")["answer"], repeats="reference")
        for n, item in enumerate(items, 1):
            if item.item.content_hash not in done:
                append_row(args.rows, bench.call(_read(bench, agent, item)))
                print(f"{n}/{len(items)}", flush=True)


async def _read(bench: Workbench, agent: AnswerAgent, item: CurveItem) -> dict[str, Any]:
    """One item: the judge's P, then sampled answers over the same (cached) pool."""
    call = ChatCall(role="judge", messages=item.item.messages, max_tokens=load_prompts("trio")["judge"].max_tokens)
    verdict = await bench.engine.verdict(call)
    sampling: SampleSettings = head_sampling(SAMPLES, 1.0).model_copy(update={"seed": 1})
    prompt = await agent.messages(item.item)
    samples = [s async for s in sample_answers(agent, prompt.messages, sampling, item.answers)]
    answers = summarise(samples, SAMPLES)
    return {
        "hash": item.item.content_hash, "dataset": item.dataset, "question_id": item.question_id, "order": item.order, "round": item.round,
        "sufficient": item.sufficient, "p": verdict.p_sufficient, "right": answers.right, "greedy_right": samples[0].right,
        "signals": signals(item.item, verdict.p_sufficient, answers),
        "prompt_tokens": verdict.completion.usage.prompt_tokens, "seconds": verdict.completion.seconds + answers.seconds,
        "judge": JudgeAdapter().name,
    }


def report(rows: Sequence[dict[str, Any]]) -> None:
    """Figures by judge and number of labels: means over seeds, and a bootstrap interval by question of the first seed."""
    held = [r for r in rows if r["order"] % 5 in HELD_OUT]
    pool = [r for r in rows if r["order"] % 5 not in HELD_OUT]
    lines, raw = [], []
    for size in (0, *(s for s in SIZES if s <= len(pool))):
        for name in (["zero-shot at 0.5"] if not size else ["tuned threshold", *HEADS]):
            results = [_one(name, _draw(pool, size, seed), held) for seed in (SEEDS if size else SEEDS[:1])]
            raw.append({"judge": name, "labels": size, "seeds": results})
            lines.append([name, size or "–", *(_cell(results, metric) for metric in ("balanced_accuracy", "auroc", "ece"))])
    body = [f"{len(held)} held-out items of {len({r['question_id'] for r in held})} questions ({_classes(held)}); training pool: {len(pool)} "
            f"items of {len({r['question_id'] for r in pool})} other questions ({_classes(pool)}). By set: {dict(Counter(r['dataset'] for r in rows))}.", ""]
    body += table(["judge", "labels", "balanced accuracy", "AUROC", "ECE"], lines)
    body += ["", f"Mean of {len(SEEDS)} seeds (draws of the labels); brackets: 95 % bootstrap over held-out questions, first seed.", ""]
    write_report("learning_curve", "Learning curve of the judge", body, {"curve": raw}, load_settings("embedded", env={}))


def _draw(pool: Sequence[dict[str, Any]], size: int, seed: int) -> list[dict[str, Any]]:
    """Labels as an annotator gives them: whole questions in random order until there are enough."""
    order = sorted({r["question_id"] for r in pool})
    random.Random(seed).shuffle(order)
    place = {question: n for n, question in enumerate(order)}
    return sorted(pool, key=lambda r: (place[r["question_id"]], r["round"]))[:size]


def _label(row: dict[str, Any]) -> BinaryLabel:
    return "sufficient" if row["sufficient"] else "insufficient"


def _one(name: str, train: Sequence[dict[str, Any]], held: Sequence[dict[str, Any]]) -> dict[str, Any]:
    p, threshold = [r["p"] for r in held], 0.5
    if name in HEADS:
        fitted = fit_head([SignalRow(n, r["question_id"], _label(r), r["signals"]) for n, r in enumerate(train)],
                          HeadSettings(features=HEADS[name], samples=SAMPLES), JudgeAdapter().name)
        p, threshold = [fitted.head.p(r["signals"]) for r in held], fitted.threshold
    elif train:
        threshold = tune_threshold([_label(r) for r in train], [r["p"] for r in train])
    y, values = np.array([r["sufficient"] for r in held]), np.array(p, dtype=float)
    found = figures(y, values, threshold)
    return {"threshold": threshold, **found, "intervals": _intervals(y, values, threshold, [r["question_id"] for r in held])}


def _intervals(y: Any, p: Any, threshold: float, questions: Sequence[str], draws: int = 1000) -> dict[str, tuple[float, float]]:
    """95 % intervals over questions drawn with replacement."""
    rng = np.random.default_rng(1)
    places = [np.flatnonzero(np.array(questions) == q) for q in sorted(set(questions))]
    drawn: dict[str, list[float]] = {}
    for _ in range(draws):
        at = np.concatenate([places[i] for i in rng.integers(0, len(places), len(places))])
        for metric, value in figures(y[at], p[at], threshold).items():
            if value is not None:
                drawn.setdefault(metric, []).append(value)
    return {metric: (float(np.quantile(v, 0.025)), float(np.quantile(v, 0.975))) for metric, v in drawn.items()}


def _cell(results: Sequence[dict[str, Any]], metric: str) -> str:
    low, high = results[0]["intervals"].get(metric, (float("nan"), float("nan")))
    return f"{mean(r[metric] for r in results):.3f} [{low:.2f}, {high:.2f}]"


def _classes(rows: Sequence[dict[str, Any]]) -> str:
    yes = sum(r["sufficient"] for r in rows)
    return f"{yes} sufficient, {len(rows) - yes} insufficient"
