"""GRPO of a LoRA adapter with TRL. Imports torch and trl: only what trains imports this module."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from training.base_model import load_model, load_tokenizer
from training.pipeline.profile import BaseModelSettings, GrpoSettings
from training.stop import Stopped, StopRequest
from training.tokens import prompt_ids
from training.trainer import MODULES, newest_checkpoint
from trio_core.errors import SettingsError, TrainingError
from trio_core.values import Message

Reward = Callable[[Sequence[str], Sequence[str]], list[float]]
"""(sample ids, outputs) -> one reward each."""
METRICS = "metrics.jsonl"


class Prompt(NamedTuple):
    """A training sample as the policy sees it."""

    id: str
    messages: tuple[Message, ...]


class Outcome(NamedTuple):
    """What a training did. `moved` of `trained` adapter tensors changed; `frozen_same` = no other parameter did."""

    steps: int
    seconds: float
    used: int
    too_long: int
    moved: int
    trained: int
    frozen_same: bool
    first_reward: float
    last_reward: float


class MetricsFile(TrainerCallback):  # type: ignore[misc]
    """One JSON line a step; ends the training with a checkpoint when asked to."""

    def __init__(self, path: Path, stop: StopRequest, on_step: Callable[[int, int], None]) -> None:
        self._path, self._stop, self._on_step = path, stop, on_step

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Keeps the figures of a step."""
        if logs and "reward" in logs:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": state.global_step, **{k: v for k, v in logs.items() if isinstance(v, (int, float))}}) + "\n")
            self._on_step(state.global_step, state.max_steps)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stops after a checkpoint."""
        if self._stop.wanted:
            control.should_save = control.should_training_stop = True


def policy(base: str, device: str, lora: BaseModelSettings, seed: int, begin: Path | None) -> Any:
    """The frozen base with a trainable adapter: a new one, or that of `begin` (stage 2 goes on from stage 1)."""
    model = load_model(base, device)
    if begin is not None:
        return PeftModel.from_pretrained(model, str(begin), is_trainable=True)
    torch.manual_seed(seed)
    return get_peft_model(model, LoraConfig(r=lora.lora_rank, lora_alpha=lora.lora_alpha, lora_dropout=0.0, target_modules=MODULES,
                                            task_type="CAUSAL_LM"))


def train(
    folder: Path, base: str, device: str, lora: BaseModelSettings, settings: GrpoSettings, seed: int, prompts: Sequence[Prompt],
    reward: Reward | Mapping[str, tuple[Reward, float]], stop: StopRequest, on_step: Callable[[int, int], None], begin: Path | None = None,
) -> Outcome:
    """Trains from the newest checkpoint in `folder` and writes `adapter/`. Raises Stopped, TrainingError, SettingsError.

    `reward` may be several by name with their weights; one of weight 0 is only measured.
    """
    tokenizer = load_tokenizer(base)
    kept = [prompt for prompt in prompts if len(prompt_ids(tokenizer, prompt.messages)) <= settings.max_prompt]
    if not kept:
        raise TrainingError(f"all {len(prompts)} samples are longer than max_prompt = {settings.max_prompt} tokens, or there are none; "
                            "raise max_prompt, or look at the step before")
    model = policy(base, device, lora, seed, begin)
    before = _sums(model)
    named = reward if isinstance(reward, Mapping) else {"reward": (reward, 1.0)}
    trainer = GRPOTrainer(
        model=model, args=_config(folder, settings, device, seed, [weight for _, weight in named.values()]), processing_class=tokenizer,
        reward_funcs=[_as_trl(name, rule) for name, (rule, _) in named.items()],
        train_dataset=Dataset.from_list([{"prompt": [m.model_dump() for m in p.messages], "sample": p.id} for p in kept]),
        callbacks=[MetricsFile(folder / METRICS, stop, on_step)])
    checkpoint = newest_checkpoint(folder)
    began = time.monotonic()
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if trainer.state.global_step < trainer.state.max_steps:
        raise Stopped
    model.save_pretrained(str(folder / "adapter"), selected_adapters=["default"])
    after = _sums(model)
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    rewards = [line["reward"] for line in read_metrics(folder)]
    return Outcome(
        steps=int(trainer.state.global_step), seconds=round(time.monotonic() - began, 1), used=len(kept), too_long=len(prompts) - len(kept),
        moved=sum(before[name] != after[name] for name in trained), trained=len(trained),
        frozen_same=all(before[name] == after[name] for name in before.keys() - trained),
        first_reward=rewards[0] if rewards else 0.0, last_reward=rewards[-1] if rewards else 0.0)


def read_metrics(folder: Path) -> list[dict[str, float]]:
    """The figures by step; a step repeated after a resume counts with its last."""
    path = folder / METRICS
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line] if path.exists() else []
    return list({line["step"]: line for line in lines}.values())


def _sums(model: Any) -> dict[str, tuple[float, float]]:
    """A mark of every parameter that a training step would change."""
    with torch.no_grad():
        own = [(name, p.double()) for name, p in model.named_parameters() if ".ref." not in name]
        return {name: (float(p.sum()), float(p.abs().sum())) for name, p in own}


def _as_trl(name: str, rule: Reward) -> Callable[..., list[float]]:
    def rated(completions: Any, sample: Sequence[str], **kwargs: Any) -> list[float]:
        return rule(sample, [turns[0]["content"] for turns in completions])

    rated.__name__ = name
    return rated


def _config(folder: Path, settings: GrpoSettings, device: str, seed: int, weights: list[float]) -> GRPOConfig:
    rollouts = settings.prompts_per_step * settings.num_generations
    if rollouts % settings.micro_batch:
        raise SettingsError(f"micro_batch = {settings.micro_batch} does not divide prompts_per_step x num_generations = {rollouts}; "
                            "choose one that does")
    vllm = {} if settings.vllm == "no" else {"use_vllm": True, "vllm_mode": settings.vllm}
    gpu = device != "cpu"
    return GRPOConfig(
        output_dir=str(folder / "checkpoints"), per_device_train_batch_size=settings.micro_batch,
        gradient_accumulation_steps=rollouts // settings.micro_batch, num_generations=settings.num_generations,
        max_completion_length=settings.max_completion, temperature=settings.temperature, beta=settings.beta,
        learning_rate=settings.learning_rate, num_train_epochs=settings.epochs, max_steps=settings.max_steps or -1,
        reward_weights=weights, seed=seed, data_seed=seed, use_cpu=not gpu, bf16=gpu, gradient_checkpointing=gpu,
        chat_template_kwargs={"enable_thinking": False}, logging_steps=1, save_strategy="steps", save_steps=settings.save_steps,
        save_total_limit=2, report_to=list(settings.report_to) or "none", disable_tqdm=True, dataloader_pin_memory=gpu, **vllm)
