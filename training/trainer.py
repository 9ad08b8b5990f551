"""The TRL trainer of a judge. Imports torch and trl: only the training process imports this module."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import TrainerCallback
from trl import SFTConfig, SFTTrainer

from training.lower_layers import LowerLayers
from training.progress import ProgressLog
from training.rows import TrainingRow, class_weights, oversampled
from training.stop import StopRequest
from training.tokens import IGNORED, check_batch, label_ids
from training.values import JobSettings
from trio_core.errors import TrainingError

MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def first_adapted(model: Any, settings: JobSettings) -> int:
    """Number of the first layer with an adapter."""
    return max(0, model.config.num_hidden_layers - settings.lora_layers)


def with_adapter(model: Any, settings: JobSettings) -> Any:
    """The frozen model with a float32 LoRA on all linear modules of its last layers."""
    chosen = list(range(first_adapted(model, settings), model.config.num_hidden_layers))
    config = LoraConfig(r=settings.lora_rank, lora_alpha=settings.lora_alpha, lora_dropout=0.0, target_modules=MODULES,
                        layers_to_transform=chosen, task_type="CAUSAL_LM")
    torch.manual_seed(settings.seed)
    adapted = get_peft_model(model, config)
    trained = {name: parameter for name, parameter in adapted.named_parameters() if parameter.requires_grad}
    if not trained or any("lora_" not in name or parameter.dtype != torch.float32 for name, parameter in trained.items()):
        raise TrainingError("the adapter's parameters are not the only trainable ones, or not float32; nothing was trained")
    return adapted


class JudgeTrainer(SFTTrainer):
    """SFT whose loss projects only the completion's positions to the vocabulary.

    On a CPU TRL's own loss projects every position (152,000 logits each, forward and backward), of which a judge's row needs
    four. `lower` keeps what lies below the adapter from the first epoch on; it needs batches of one row (no padding).
    """

    lower = LowerLayers(0)
    weights: dict[int, float] = {}
    """First token of a completion -> weight of its row in the loss; empty = all alike."""

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None) -> Any:
        """Mean negative log-likelihood of the completion tokens, computed in float32."""
        targets = inputs["labels"][:, 1:]
        used = (targets != IGNORED).any(dim=0).nonzero().squeeze(1)
        wanted, logits = targets[:, used], self._logits(model, inputs, used)
        each = torch.nn.functional.cross_entropy(
            logits.float().flatten(0, 1), wanted.flatten(), ignore_index=IGNORED, reduction="none").view_as(wanted)
        total = (each.sum(dim=1) * self._row_weights(wanted)).sum()
        items = (wanted != IGNORED).sum() if num_items_in_batch is None else torch.as_tensor(num_items_in_batch)
        loss = total / items.clamp(min=1)
        return (loss, {"logits": logits}) if return_outputs else loss

    def _row_weights(self, wanted: Any) -> Any:
        first = (wanted != IGNORED).long().argmax(dim=1, keepdim=True)
        tokens = wanted.gather(1, first).squeeze(1).tolist()
        return torch.tensor([self.weights.get(token, 1.0) for token in tokens], device=wanted.device)

    def _logits(self, model: Any, inputs: Any, used: Any) -> Any:
        ids = inputs["input_ids"]
        if len(ids) > 1:
            return model(input_ids=ids, attention_mask=inputs["attention_mask"], use_cache=False, logits_to_keep=used).logits
        plain = model.get_base_model()
        hidden = self.lower.last_hidden(plain.base_model, hash(tuple(ids[0].tolist())), ids)
        return plain.get_output_embeddings()(hidden[:, used])


class Report(TrainerCallback):  # type: ignore[misc]
    """Writes the loss curve and ends the training when asked to, never without a checkpoint of the last full step."""

    def __init__(self, log: ProgressLog, stop: StopRequest) -> None:
        self._log = log
        self._stop = stop
        self._began = time.monotonic()
        self._first_step = 0
        self._saved = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Notes where a resumed training begins."""
        self._began, self._first_step, self._saved = time.monotonic(), state.global_step, state.global_step

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """One line a step."""
        if logs and "loss" in logs:
            seconds = time.monotonic() - self._began
            done = state.global_step - self._first_step
            left = seconds / max(1, done) * (state.max_steps - state.global_step)
            self._log.step(state.global_step, state.max_steps, logs["loss"], logs.get("learning_rate", 0.0), seconds, left)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Notes the step of the newest checkpoint."""
        self._saved = state.global_step

    def on_substep_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stops inside a step where every full step is saved already (a step takes a minute on two cores)."""
        if self._stop.wanted and self._saved == state.global_step:
            control.should_training_stop = True

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stops after a checkpoint."""
        if self._stop.wanted:
            control.should_save = control.should_training_stop = True


def build_trainer(
    model: Any, tokenizer: Any, rows: list[TrainingRow], settings: JobSettings, folder: Path, device: str,
    log: ProgressLog, stop: StopRequest,
) -> JudgeTrainer:
    """A trainer whose first batch has been checked. Raises TrainingError (rows lost, loss on the wrong tokens)."""
    config = SFTConfig(
        output_dir=str(folder / "checkpoints"), max_length=None, packing=False, completion_only_loss=True,
        num_train_epochs=settings.epochs, per_device_train_batch_size=settings.micro_batch,
        gradient_accumulation_steps=max(1, settings.batch_size // settings.micro_batch),
        learning_rate=settings.learning_rate, lr_scheduler_type="cosine", seed=settings.seed,
        # Alone, a row needs no padding; batches of several go by length instead.
        train_sampling_strategy="random" if settings.micro_batch == 1 else "group_by_length",
        use_cpu=device == "cpu", bf16=device != "cpu", gradient_checkpointing=device != "cpu",
        logging_steps=1, save_strategy="steps", save_steps=settings.save_steps, save_total_limit=2,
        report_to="none", disable_tqdm=True, dataloader_pin_memory=device != "cpu",
    )
    if settings.class_balance == "sampling":
        rows = oversampled(rows, settings.seed)
    dataset = Dataset.from_list([row.conversation() for row in rows])
    trainer = JudgeTrainer(model=model, args=config, train_dataset=dataset, processing_class=tokenizer,
                           callbacks=[Report(log, stop)])
    if device == "cpu" and settings.micro_batch == 1 and settings.epochs > 1:
        trainer.lower = LowerLayers(first_adapted(model, settings))
    if len(trainer.train_dataset) != len(rows):
        raise TrainingError(f"{len(rows)} rows went to the trainer, {len(trainer.train_dataset)} came out; nothing was trained")
    first = min(settings.batch_size, len(rows))
    check_batch(tokenizer, trainer.data_collator([trainer.train_dataset[i] for i in range(first)]), rows[:first])
    if settings.class_balance == "weights":
        ids = label_ids(tokenizer, rows[0].messages)
        trainer.weights = {getattr(ids, label): weight for label, weight in class_weights(rows).items()}
    return trainer


def newest_checkpoint(folder: Path) -> Path | None:
    """The checkpoint with the highest step that was written to its end (`trainer_state.json` comes last)."""
    found = [path for path in (folder / "checkpoints").glob("checkpoint-*") if _complete(path)]
    return max(found, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def _complete(path: Path) -> bool:
    needed = ("adapter_model.safetensors", "optimizer.pt", "scheduler.pt", "trainer_state.json")
    try:
        json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return all((path / name).exists() and (path / name).stat().st_size > 0 for name in needed)
