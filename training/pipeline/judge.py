"""Step 5: the judge. Votes of the trained answer agent label the pools (section 3.4), people's corrections overrule them, then SFT."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from storage.store import open_store
from storage.values import SnapshotRow
from training.pipeline import records
from training.pipeline.answer import adapter, on_step, pools
from training.pipeline.context import Context, ask, engine, gathered
from training.pipeline.debate import POOLS, SINGLE
from training.pipeline.profile import JudgeSettings
from training.pipeline.prompts import agent_prompts, answer_messages, judge_messages
from training.pipeline.records import PoolSample, VotedPool
from training.pipeline.rewards import exact_match
from training.question_set import normal
from training.rows import TrainingRow, data_hash, write_rows
from training.stop import Stopped
from training.values import JobSettings
from trio_core.engines.base import Engine
from trio_core.errors import TrainingError
from trio_core.evidence import vote_label
from trio_core.parsing import parse_answer
from trio_core.values import JudgeItem

VOTES = "votes.jsonl"
TRAIN = "train.jsonl"


async def run(context: Context) -> dict[str, Any]:
    """Votes, rows, SFT; the counts. Raises Stopped, TrainingError."""
    folder = context.step("judge")
    samples = [sample for name in {"debate": [POOLS], "single": [SINGLE], "both": [POOLS, SINGLE]}[context.profile.judge.pools]
               for sample in pools(context, name, None)]
    voted = await _votes(context, samples)
    rows, counts = training_rows(samples, voted, _corrections(context))
    if len({row.label for row in rows}) < 2:
        counts["one_label_only"] = 1  # a tiny answer agent is never unanimously right; a real run is stopped below
        if context.profile.rollouts.agents != "model":
            raise TrainingError(f"all {len(rows)} labelled pools are of one label ({dict(Counter(r.label for r in rows))}), so a judge "
                                "learns nothing; look at votes.jsonl, or join people's labels with --snapshot")
    write_rows(folder / TRAIN, rows)
    report = await asyncio.to_thread(_sft, context, rows)
    return {**counts, **report, "data_hash": data_hash(rows)}


async def _votes(context: Context, samples: Sequence[PoolSample]) -> list[VotedPool]:
    path = context.step("judge") / VOTES
    done = {row.id: row for row in records.read(path, VotedPool)}
    todo = [sample for sample in samples if sample.id not in done]
    parallel = context.profile.rollouts.parallel
    async with engine(context, context.profile.rollouts.agents, adapter(context)) as answering:
        for part in records.chunks(todo, max(1, parallel // context.profile.judge.votes)):
            context.stop.check()
            rows = await gathered(lambda s: _vote(s, answering, context), part, parallel)
            records.append(path, rows)
            done |= {row.id: row for row in rows}
            context.log.work("votes", len(done), len(samples), None)
    return [done[sample.id] for sample in samples]


async def _vote(sample: PoolSample, answering: Engine, context: Context) -> VotedPool:
    settings, limit = context.profile.judge, agent_prompts()["answer"].max_tokens
    messages = answer_messages(sample.question, sample.pool)

    async def right(number: int) -> bool:
        made = await ask(answering, "answer", messages, limit, settings.temperature, context.profile.seed + number)
        return any(exact_match(parse_answer(made.text, made.finish_reason).value, gold) for gold in sample.answers)

    n = sum(await asyncio.gather(*(right(number) for number in range(settings.votes))))
    return VotedPool(id=sample.id, right=n, votes=settings.votes, label=vote_label(settings.votes, n) or "mixed")


def _corrections(context: Context) -> list[SnapshotRow]:
    if context.snapshot_id is None:
        return []
    store = open_store(context.settings.database_url)
    try:
        return store.snapshot_rows(context.snapshot_id)
    finally:
        store.close()


def training_rows(
    samples: Sequence[PoolSample], voted: Sequence[VotedPool], snapshot: Sequence[SnapshotRow]
) -> tuple[list[TrainingRow], dict[str, int]]:
    """Rows with votes, people's labels before votes on the same pool, and the counts.

    Questions that the snapshot holds out are left out of the votes too, so that held-out figures stay honest.
    """
    people = {row.item.content_hash: row for row in snapshot if row.source == "human" and row.split == "train"}
    held_out = {normal(row.item.question) for row in snapshot if row.split == "held_out"}
    rows: list[TrainingRow] = []
    counts: Counter[str] = Counter(candidates=len(samples))
    for sample, vote in zip(samples, voted, strict=True):
        item = JudgeItem(question=sample.question, pool=sample.pool, messages=judge_messages(sample.question, sample.pool))
        counts[vote.label] += 1
        if normal(sample.question) in held_out:
            counts["held_out_question"] += 1
        elif (own := people.pop(item.content_hash, None)) is not None:
            counts["overruled_by_people" if own.label != vote.label else "agreed_by_people"] += 1
            rows.append(_row(len(rows), own.label, "human", item))
        elif vote.label != "mixed":
            rows.append(_row(len(rows), vote.label, "votes", item))
    for own in people.values():
        counts["added_by_people"] += 1
        rows.append(_row(len(rows), own.label, "human", own.item))
    return rows, {**counts, "rows": len(rows)}


def _row(number: int, label: Any, source: str, item: JudgeItem) -> TrainingRow:
    return TrainingRow(item_id=number, split="train", label=label, source=source, question=item.question, messages=item.messages)


def job_settings(context: Context) -> JobSettings:
    """The settings of the judge's SFT: an adapter on every layer."""
    judge: JudgeSettings = context.profile.judge
    lora = context.profile.base
    return JobSettings(base_model=context.base, lora_rank=lora.lora_rank, lora_alpha=lora.lora_alpha, lora_layers=10_000,
                       learning_rate=judge.learning_rate, epochs=judge.epochs, batch_size=judge.batch_size, max_tokens=judge.max_tokens,
                       max_rows=10**9, seed=context.profile.seed, device="cpu" if context.device == "cpu" else "cuda",
                       class_balance=judge.class_balance, save_steps=20)


def _sft(context: Context, rows: list[TrainingRow]) -> dict[str, Any]:
    from training import trainer as t
    from training.base_model import load_model, load_tokenizer
    from training.tokens import row_tokens

    folder, settings = context.step("judge"), job_settings(context)
    tokenizer = load_tokenizer(context.base)
    fitting = [row for row in rows if row_tokens(tokenizer, row) <= settings.max_tokens]
    if not fitting:
        raise TrainingError(f"none of {len(rows)} labelled pools fits judge.max_tokens = {settings.max_tokens}; raise it")
    model = t.with_adapter(load_model(context.base, context.device), settings)
    trainer = t.build_trainer(model, tokenizer, fitting, settings, folder, context.device, context.log, context.stop)
    checkpoint = t.newest_checkpoint(folder)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if trainer.state.global_step < trainer.state.max_steps:
        raise Stopped
    model.save_pretrained(str(folder / "adapter"))
    losses = [line["loss"] for line in trainer.state.log_history if "loss" in line]
    on_step(context, "judge")(trainer.state.global_step, trainer.state.max_steps)
    return {"steps": trainer.state.global_step, "used": len(fitting), "too_long": len(rows) - len(fitting),
            "first_loss": losses[0], "last_loss": losses[-1]}
