"""The SFT rungs of the learning curve: an adapter trained on the first labels of a draw, and P of the adapted judge as llama.cpp serves it.

A row takes two cores without bfloat16 half a minute to train on and seven seconds to judge, so that sizes are small here. The labels that
come next in the same draw are for the threshold and the head: an adapter is sure of the rows it was trained on.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.common import append_row, read_rows, workbench
from tests.benchmarks.curve_items import CurveItem
from training.rows import TrainingRow
from training.sft import SftConfig
from training.values import JobSettings
from trio_core.engines.base import JudgeAdapter
from trio_core.judge_signals import logit
from trio_core.prompting import load_prompts
from trio_core.settings import PROJECT_ROOT, Settings, load_settings
from trio_core.values import ChatCall

KIND = "sft"


def name_of(size: int, seed: int) -> str:
    """The judge trained on the first `size` labels of draw `seed`."""
    return f"sft-{size}-seed{seed}"


def collect_sft(train: Sequence[CurveItem], judge: Sequence[CurveItem], name: str, folder: Path, rows: Path, flags: Sequence[str]) -> None:
    """Trains on `train` unless `folder` holds the adapter, then writes a row with P for each item of `judge` that has none."""
    adapter = folder / name / "adapter.gguf"
    if not adapter.exists():
        _train(train, folder / name, load_settings("embedded", flags=flags))
    minutes = json.loads((folder / name / "minutes.json").read_text(encoding="utf-8"))
    done = {row["hash"] for row in read_rows(rows) if row["kind"] == KIND and row["judge"] == name}
    with workbench(flags=flags) as bench:
        bench.call(bench.engine.use_judge(JudgeAdapter(name=name, gguf=adapter, peft_dir=folder / name / "adapter")))
        for n, item in enumerate(judge, 1):
            if item.item.content_hash not in done:
                call = ChatCall(role="judge", messages=item.item.messages, max_tokens=load_prompts("trio")["judge"].max_tokens)
                verdict = bench.call(bench.engine.verdict(call))
                append_row(rows, {"kind": KIND, "judge": name, "hash": item.item.content_hash, "p": verdict.p_sufficient,
                                  "seconds": verdict.completion.seconds, "minutes": minutes})
                print(f"{name} {n}/{len(judge)}", flush=True)


def _train(items: Sequence[CurveItem], folder: Path, settings: Settings) -> None:
    """The app's own training process; its before and after figures are of two rows and mean nothing here."""
    folder.mkdir(parents=True, exist_ok=True)
    job = JobSettings.model_validate({**settings.training.model_dump(), "eval_rows": 2, "threshold_rows": 0})
    config = SftConfig(settings=job, embedded=settings.engine.embedded, data_dir=settings.data_dir)
    (folder / "config.json").write_text(config.model_dump_json(indent=1), encoding="utf-8")
    chosen = [_row(n, item) for n, item in enumerate(items)]
    both = list({row.label: row for row in chosen}.values())
    if len(both) < 2:
        raise SystemExit(f"all {len(chosen)} labels of this draw are alike; give --sft a larger number or another --seed")
    for file, part in (("train.jsonl", chosen), ("held_out.jsonl", both)):
        (folder / file).write_text("".join(row.model_dump_json() + "\n" for row in part), encoding="utf-8")
    began = time.monotonic()
    command = [sys.executable, "-m", "training.sft", "--config", str(folder / "config.json")]
    with (folder / "log.txt").open("ab") as log:
        subprocess.run(command, cwd=PROJECT_ROOT, stdout=log, stderr=subprocess.STDOUT, check=True)
    (folder / "minutes.json").write_text(json.dumps(round((time.monotonic() - began) / 60, 1)), encoding="utf-8")


def _row(number: int, item: CurveItem) -> TrainingRow:
    return TrainingRow(item_id=number, split="train", label="sufficient" if item.sufficient else "insufficient", source="gold",
                       question=item.item.question, messages=item.item.messages)


def with_sft(rows: Sequence[dict[str, Any]], all_rows: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Those of `rows` that judge `name` has read, with its P and logit in place of the zero-shot judge's."""
    read = {row["hash"]: row["p"] for row in all_rows if row["kind"] == KIND and row["judge"] == name and row["p"] is not None}
    return [row | {"p": read[row["hash"]], "signals": row["signals"] | {"logit": logit(read[row["hash"]])}} for row in rows if row["hash"] in read]
