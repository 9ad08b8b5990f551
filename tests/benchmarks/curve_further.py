"""What pool and question alone say about many more questions: no model reads them, so that all of the samples can be used.

Twenty held-out questions a set leave AUROC uncertain by a tenth; signals are confirmed on these, which are none of them. (The first look at
`named_titles` saw the held-out questions as well.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from tests.benchmarks.common import RESULTS, append_row, mean, read_rows, table
from tests.benchmarks.curve_items import SETS, further_items
from training.bootstrap import figures
from training.head import DEFAULT_FEATURES
from trio_core.judge_signals import signals

ROWS = RESULTS / "learning_curve_further.jsonl"
SPLITS = range(24)
SIZES = (32, 64, 128, 256, 512)
ABLATED = 128
"""Labels at which each signal is left out in turn."""
BARE = tuple(f for f in DEFAULT_FEATURES if f != "logit")
C = 0.3
"""Penalty of all fits, so that only the signals differ."""


def collect_further(folder: Path, after: int, rows: Path) -> None:
    """Reads all other questions anew: it takes a minute, and old signals would mix with new ones."""
    rows.unlink(missing_ok=True)
    dropped: Counter[str] = Counter()
    for item in further_items(folder, after, dropped):
        append_row(rows, {"kind": "pool", "hash": item.item.content_hash, "dataset": item.dataset, "question_id": item.question_id, "round": item.round,
                          "sufficient": item.sufficient, "signals": signals(item.item, None)})
    print(f"{len(read_rows(rows))} further items; left out: {dict(dropped)}", flush=True)


def further_lines(rows: Sequence[dict[str, Any]], draw: Callable[[Sequence[dict[str, Any]], int, int], list[dict[str, Any]]]) -> list[str]:
    """The report's section: by number of labels, then without each signal."""
    heads = [(f"{size}", BARE, size) for size in SIZES] + [
        (f"{ABLATED}, no {name}", tuple(f for f in BARE if f != name), ABLATED) for name in BARE] + [
        (f"{ABLATED}, and {name}", (*BARE, name), ABLATED) for name in ("relations", "links", "pool_tokens")]
    shown = []
    for name, features, size in heads:
        found = [_split(rows, draw(rows, size, seed), features) for seed in SPLITS]
        shown.append([name, *(f"{mean(f[metric] for f in found):.3f}" for metric in ("balanced_accuracy", "auroc", "ece")),
                      *(f"{mean(f[name] for f in found):.3f}" for name in SETS)])
    questions = len({r["question_id"] for r in rows})
    return ["", f"## Pool and question alone, {len(rows):,} items of {questions} questions", "",
            f"No model reads these, so all questions of the samples but the held-out ones are there: {len(SPLITS)} random splits by question, all items of "
            "the other questions to test on, the threshold at the training labels' share. These figures confirm the default head's signals "
            "(the first look at `named_titles` saw the held-out questions too), except that "
            "`relations`, which helps two sets and harms HotpotQA, was left out because the held-out questions spoke against it too.", "",
            *table(["labels", "balanced accuracy", "AUROC", "ECE", *(f"AUROC {name}" for name in SETS)], shown)]


def _split(rows: Sequence[dict[str, Any]], train: Sequence[dict[str, Any]], features: Sequence[str]) -> dict[str, float]:
    asked = {r["question_id"] for r in train}
    test = [r for r in rows if r["question_id"] not in asked]
    x, held = (np.array([[r["signals"][f] for f in features] for r in part]) for part in (train, test))
    y, truth = (np.array([r["sufficient"] for r in part]) for part in (train, test))
    middle, scale = x.mean(axis=0), np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    p = LogisticRegression(C=C, max_iter=2000).fit((x - middle) / scale, y).predict_proba((held - middle) / scale)[:, 1]
    sets = np.array([r["dataset"] for r in test])
    by_set = {name: figures(truth[sets == name], p[sets == name], 0.5)["auroc"] for name in SETS}
    return {**figures(truth, p, float(y.mean())), **by_set}
