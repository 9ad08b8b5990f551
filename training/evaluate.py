"""P(sufficient) of label items with transformers: one forward pass a row, two rows of the output head in float32.

bfloat16 logits move in steps of 0.125, so P would move in steps of 0.02-0.03 (MEASURED.md section 7); the last hidden state and
the two rows of the head are therefore multiplied in float32. Rows are judged one by one: no padding, no batch effects.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from training.lower_layers import LowerLayers
from training.rows import TrainingRow
from training.tokens import label_ids, prompt_ids

OnRow = Callable[[int, int, float], None]
"""Called after each row with rows done, rows in all and seconds left (estimated)."""


def p_sufficient(model: Any, tokenizer: Any, row: TrainingRow, lower: LowerLayers) -> float:
    """P(sufficient) of one prompt: the share of the label `Sufficient Information` among both by their first tokens."""
    import torch

    ids = torch.tensor([prompt_ids(tokenizer, row.messages)], device=model.device)
    first = label_ids(tokenizer, row.messages)
    plain = model.get_base_model() if hasattr(model, "get_base_model") else model
    with torch.inference_mode():
        hidden = lower.last_hidden(plain.base_model, row.item_id, ids)[0, -1].float()
        z = plain.get_output_embeddings().weight[[first.sufficient, first.insufficient]].float() @ hidden
    return float(torch.sigmoid(z[0] - z[1]))


def judge_rows(model: Any, tokenizer: Any, rows: Sequence[TrainingRow], cache: Path, on_row: OnRow,
               lower: LowerLayers | None = None) -> dict[int, float]:
    """item id -> P(sufficient). Each value is appended to `cache` at once, so that a stopped evaluation goes on there."""
    known, lower = read_cache(cache), lower or LowerLayers(0)
    waiting = [row for row in rows if row.item_id not in known]
    began, was_training = time.monotonic(), model.training
    model.eval()
    try:
        with cache.open("a", encoding="utf-8") as file:
            for number, row in enumerate(waiting, 1):
                known[row.item_id] = p_sufficient(model, tokenizer, row, lower)
                file.write(json.dumps([row.item_id, known[row.item_id]]) + "\n")
                file.flush()
                left = (time.monotonic() - began) / number * (len(waiting) - number)
                on_row(len(rows) - len(waiting) + number, len(rows), left)
    finally:
        model.train(was_training)
    return {row.item_id: known[row.item_id] for row in rows}


def read_cache(cache: Path) -> dict[int, float]:
    """Values of an earlier, stopped evaluation."""
    found: dict[int, float] = {}
    if cache.exists():
        for line in cache.read_text(encoding="utf-8").split("\n"):
            try:
                item_id, p = json.loads(line)
                found[item_id] = p
            except ValueError:
                continue  # the last line of a killed process
    return found
