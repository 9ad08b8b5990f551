"""The judge's learning curve on public multi-hop questions: zero-shot, tuned threshold, calibrated heads, by number of labels.

`--collect N` reads the items of N training questions and N held-out questions a set with the embedded model: P of the judge and the
signals of a head. `--signals` reads pools and questions anew, without a model, after a signal was added: those of the items collected so
far, and those of all other questions (`tests/benchmarks/curve_further.py`). `--answers` adds, in a second pass, 4 sampled answers an item; `--sft N` trains an adapter on the first N labels of a draw
and reads the held-out items with it. Rows go to results/learning_curve.jsonl, which holds no text
of the data sets; a stopped collection goes on where it was. Fitting heads takes seconds, so the report is made anew each time.
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
from tests.benchmarks.curve_further import ROWS as FURTHER
from tests.benchmarks.curve_further import collect_further, further_lines
from tests.benchmarks.curve_items import CurveItem, curve_items
from tests.benchmarks.curve_sft import KIND as SFT
from tests.benchmarks.curve_sft import collect_sft, name_of, with_sft
from training.bootstrap import figures
from training.head import HeadSettings, SignalRow, fit_head
from training.metrics import tune_threshold
from trio_core.engines.base import JudgeAdapter
from trio_core.evidence import AnswerAgent, SampleSettings, head_sampling, sample_answers, summarise
from trio_core.judge_head import SAMPLED
from trio_core.judge_signals import signals
from trio_core.prompting import load_prompts
from trio_core.settings import load_settings
from trio_core.values import ChatCall
from trio_core.workbench import Workbench

ROWS = RESULTS / "learning_curve.jsonl"
SAMPLES = 4
SIZES = (32, 64, 128, 256)
SEEDS = (1, 2, 3)
HELD_OUT = range(60, 80)
"""Places in the shuffle that are kept to test on; `curve_further` chooses signals without them."""
DEFAULT = HeadSettings().features
ANSWERS = ("agreement", "answer_logprob", "answer_in_pool")
HEADS: dict[str, tuple[str, ...]] = {
    "head: logit alone": ("logit",),
    "head: no model, pool and question alone": tuple(f for f in DEFAULT if f != "logit"),
    "head: no chain": tuple(f for f in DEFAULT if f != "chain"),
    "head: no named titles": tuple(f for f in DEFAULT if f != "named_titles"),
    "head: default and relations": (*DEFAULT, "relations"),
    "head: default": DEFAULT,
    "head: default and passage scores": (*DEFAULT, "mean_score"),
    "head: default, 4 sampled answers": (*DEFAULT, *ANSWERS),
    "head: all signals": (*DEFAULT, *ANSWERS, "mean_score", "top_score", "pool_tokens", "links", "relations"),
}
SPLITS = range(20)
"""Random splits by question over all items, beside the one that was set apart: its share of sufficient pools differs from the rest by chance."""
LEAST_HELD = 100
"""Items that a random split must leave to test on."""
AFTER_SFT = 32
"""Labels after those of the adapter, for the threshold and the head on top of it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--collect", type=int, default=0, metavar="N", help="read the items of N training and N held-out questions of each set")
    parser.add_argument("--signals", action="store_true", help="read the signals of pool and question anew for the items collected so far")
    parser.add_argument("--answers", action="store_true", help="sample answers for the items collected so far")
    parser.add_argument("--sft", type=int, default=0, metavar="N", help="train on N labels, then read the held-out items with what came of it")
    parser.add_argument("--seed", type=int, default=SEEDS[0], help="the draw that --sft trains on")
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the embedded profile")
    parser.add_argument("--index-dir", type=Path, default=Path("var/learning-curve"))


def main(args: argparse.Namespace) -> None:
    """Collects if asked to, then reports."""
    if args.collect:
        collect(args)
    if args.signals:
        read_signals(args)
    if args.sft:
        adapt(args)
    found = read_rows(args.rows)
    report(merged(found), found)


def merged(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row an item: the judge's, with signals read later and those of sampled answers where they are there."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["kind"] != SFT:
            found.setdefault(row["hash"], {}).update(row["signals"])
    return [row | {"signals": found[row["hash"]]} for row in rows if row["kind"] == "judge"]


def read_signals(args: argparse.Namespace) -> None:
    """Rows with what pool and question say by today's code; earlier ones hold."""
    known = read_rows(args.rows)
    done = {row["hash"] for row in known if row["kind"] == "signals" and set(row["signals"]) >= set(DEFAULT) - {"logit"}}
    judged = {row["hash"]: row for row in known if row["kind"] == "judge"}
    for item in curve_items(args.index_dir, sorted({row["order"] for row in judged.values()}), Counter()):
        name = item.item.content_hash
        if name in judged and name not in done:
            append_row(args.rows, {"kind": "signals", "hash": name, "signals": signals(item.item, None)})
    collect_further(args.index_dir, HELD_OUT.stop, FURTHER)


def collect(args: argparse.Namespace) -> None:
    """Reads what is missing, question by question; training and held-out questions in turn, so that a part of it is worth a report."""
    kind = "answers" if args.answers else "judge"
    known = read_rows(args.rows)
    done = {row["hash"] for row in known if row["kind"] == kind}
    wanted = {row["hash"] for row in known if row["kind"] == "judge"} if args.answers else None
    dropped: Counter[str] = Counter()
    places = [place for pair in zip(range(args.collect), HELD_OUT, strict=False) for place in pair] + list(range(len(HELD_OUT), args.collect))
    items = [i for i in curve_items(args.index_dir, places, dropped) if wanted is None or i.item.content_hash in wanted]
    print(f"{len(items)} items, left out: {dict(dropped)}", flush=True)
    with workbench(flags=args.set) as bench:
        for n, item in enumerate(items, 1):
            if item.item.content_hash not in done:
                append_row(args.rows, bench.call(_answers(bench, item) if args.answers else _judge(bench, item)))
                print(f"{n}/{len(items)}", flush=True)


def adapt(args: argparse.Namespace) -> None:
    """An adapter on the first labels of a draw; it reads the labels that come next and the held-out items."""
    rows = merged(read_rows(args.rows))
    drawn = draw(_pool(rows), args.sft + AFTER_SFT, args.seed)
    by_hash = {i.item.content_hash: i for i in curve_items(args.index_dir, sorted({r["order"] for r in rows}), Counter())}
    train, after = ([by_hash[r["hash"]] for r in part] for part in (drawn[: args.sft], drawn[args.sft :]))
    held = [by_hash[r["hash"]] for r in rows if r["order"] in HELD_OUT]
    collect_sft(train, [*held, *after], name_of(args.sft, args.seed), args.index_dir / "sft", args.rows, args.set)


def _pool(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [r for r in rows if r["order"] not in HELD_OUT]


async def _judge(bench: Workbench, item: CurveItem) -> dict[str, Any]:
    """The judge's P and what a head can know without sampled answers."""
    call = ChatCall(role="judge", messages=item.item.messages, max_tokens=load_prompts("trio")["judge"].max_tokens)
    verdict = await bench.engine.verdict(call)
    return {
        "kind": "judge", "hash": item.item.content_hash, "dataset": item.dataset, "question_id": item.question_id, "order": item.order,
        "round": item.round, "sufficient": item.sufficient, "p": verdict.p_sufficient,
        "signals": signals(item.item, verdict.p_sufficient), "prompt_tokens": verdict.completion.usage.prompt_tokens,
        "seconds": verdict.completion.seconds, "judge": JudgeAdapter().name,
    }


async def _answers(bench: Workbench, item: CurveItem) -> dict[str, Any]:
    """Sampled answers over the same pool, and the signals made of them."""
    agent = AnswerAgent(bench.engine, load_prompts("trio")["answer"], repeats="reference")
    sampling: SampleSettings = head_sampling(SAMPLES, 1.0).model_copy(update={"seed": 1})
    prompt = await agent.messages(item.item)
    samples = [s async for s in sample_answers(agent, prompt.messages, sampling, item.answers)]
    answers = summarise(samples, SAMPLES)
    found = signals(item.item, None, answers)
    return {
        "kind": "answers", "hash": item.item.content_hash, "right": answers.right, "greedy_right": samples[0].right,
        "signals": {name: found[name] for name in SAMPLED if name in found}, "seconds": answers.seconds,
    }


def report(rows: Sequence[dict[str, Any]], all_rows: Sequence[dict[str, Any]]) -> None:
    """Figures by judge and number of labels: means over seeds, and a bootstrap interval by question of the first seed."""
    held, pool = [r for r in rows if r["order"] in HELD_OUT], _pool(rows)
    sampled = all("agreement" in r["signals"] for r in rows)
    heads = [name for name, features in HEADS.items() if sampled or not SAMPLED & set(features)]
    lines, raw = [], []
    for size in (0, *(s for s in SIZES if s <= len(pool))):
        for name in (["zero-shot at 0.5"] if not size else ["tuned threshold", *heads]):
            results = [_one(name, draw(pool, size, seed), held) for seed in (SEEDS if size else SEEDS[:1])]
            raw.append({"judge": name, "labels": size, "seeds": results})
            lines.append([name, size or "–", *(_cell(results, metric) for metric in ("balanced_accuracy", "auroc", "ece"))])
    for row in _sft_lines(all_rows, held, pool):
        raw.append(row)
        lines.append([row["judge"], row["labels"], *(_cell(row["seeds"], metric) for metric in ("balanced_accuracy", "auroc", "ece"))])
    again = [{"judge": name, "labels": size, "splits": _resplit(name, size, rows)}
             for size in SIZES if size <= len(rows) - LEAST_HELD for name in ("tuned threshold", "head: default")]
    body = [f"{len(held)} held-out items of {len({r['question_id'] for r in held})} questions ({_classes(held)}); training pool: {len(pool)} "
            f"items of {len({r['question_id'] for r in pool})} other questions ({_classes(pool)}). By set: {dict(Counter(r['dataset'] for r in rows))}.", ""]
    body += table(["judge", "labels", "balanced accuracy", "AUROC", "ECE"], lines)
    body += ["", f"Mean of {len(SEEDS)} seeds (draws of the labels); brackets: 95 % bootstrap over held-out questions, first seed.", "",
             f"## {len(SPLITS)} random splits by question over all {len(rows)} items", "",
             "The signals were chosen with a look at most of these questions, so this flatters them a little; "
             "it shows what the shares of sufficient pools above, which differ by chance, do to calibration. Brackets: 10 % and 90 % of the splits.", ""]
    body += table(["judge", "labels", "balanced accuracy", "AUROC", "ECE"], [
        [row["judge"], row["labels"], *(_spread([split[m] for split in row["splits"]]) for m in ("balanced_accuracy", "auroc", "ece"))] for row in again])
    further = read_rows(FURTHER)
    body += further_lines([*pool, *further], draw) if further else []
    write_report("learning_curve", "Learning curve of the judge", body, {"curve": raw, "splits": again}, load_settings("embedded", env={}))


def _sft_lines(all_rows: Sequence[dict[str, Any]], held: Sequence[dict[str, Any]], pool: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The adapter alone, and with a threshold or a head from the labels after its own."""
    found = []
    for name, minutes in {r["judge"]: r["minutes"] for r in all_rows if r["kind"] == SFT}.items():
        size, _, seed = name.removeprefix("sft-").partition("-seed")
        read = with_sft(held, all_rows, name)
        after = with_sft(draw(pool, int(size) + AFTER_SFT, int(seed))[int(size) :], all_rows, name)
        if len(read) < len(held) or len(after) < AFTER_SFT:
            continue
        about = f"SFT on {size} (draw {seed}, {minutes} min)"
        found.append({"judge": f"{about}, at 0.5", "labels": int(size), "seeds": [_one("", [], read)]})
        for how in ("tuned threshold", "head: default"):
            found.append({"judge": f"{about}, {how}", "labels": int(size) + AFTER_SFT, "seeds": [_one(how, after, read)]})
    return found


def draw(pool: Sequence[dict[str, Any]], size: int, seed: int) -> list[dict[str, Any]]:
    """Labels as an annotator gives them: whole questions in random order until there are enough."""
    order = sorted({r["question_id"] for r in pool})
    random.Random(seed).shuffle(order)
    place = {question: n for n, question in enumerate(order)}
    return sorted(pool, key=lambda r: (place[r["question_id"]], r["round"]))[:size]


def _label(row: dict[str, Any]) -> BinaryLabel:
    return "sufficient" if row["sufficient"] else "insufficient"


def _one(name: str, train: Sequence[dict[str, Any]], held: Sequence[dict[str, Any]]) -> dict[str, Any]:
    y, values, threshold = _judged(name, train, held)
    found = figures(y, values, threshold)
    return {"threshold": threshold, **found, "intervals": _intervals(y, values, threshold, [r["question_id"] for r in held])}


def _judged(name: str, train: Sequence[dict[str, Any]], held: Sequence[dict[str, Any]]) -> tuple[Any, Any, float]:
    """Truth, P and threshold."""
    p, threshold = [r["p"] for r in held], 0.5
    if name in HEADS:
        fitted = fit_head([SignalRow(n, r["question_id"], _label(r), r["signals"]) for n, r in enumerate(train)],
                          HeadSettings(features=HEADS[name], samples=SAMPLES if SAMPLED & set(HEADS[name]) else 0), JudgeAdapter().name)
        p, threshold = [fitted.head.p(r["signals"]) for r in held], fitted.threshold
    elif train:
        threshold = tune_threshold([_label(r) for r in train], [r["p"] for r in train])
    return np.array([r["sufficient"] for r in held]), np.array(p, dtype=float), threshold


def _resplit(name: str, size: int, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Figures of `SPLITS`: `size` labels from some questions, all items of the others."""
    found = []
    for seed in SPLITS:
        train = draw(rows, size, seed)
        asked = {r["question_id"] for r in train}
        if len({r["sufficient"] for r in train}) > 1:  # labels of one kind fit nothing; the app says so too
            found.append(figures(*_judged(name, train, [r for r in rows if r["question_id"] not in asked])))
    return found


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


def _spread(values: Sequence[float]) -> str:
    return f"{mean(values):.3f} [{np.quantile(values, 0.1):.2f}, {np.quantile(values, 0.9):.2f}]"


def _classes(rows: Sequence[dict[str, Any]]) -> str:
    yes = sum(r["sufficient"] for r in rows)
    return f"{yes} sufficient, {len(rows) - yes} insufficient"
