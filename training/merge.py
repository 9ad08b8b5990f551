"""A checkpoint with an adapter merged into its weights, for servers that take no adapters; checked against base and adapter."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from training.base_model import load_tokenizer
from trio_core.errors import TrainingError
from trio_core.values import Value

SHARD = "2GB"
TEXTS = ("The director of the film was born in the city of", "Search query: birthplace of the author of the novel\nAnswer:",
         "Is the information sufficient? The passages name the river, but not the town on it.")
"""What both models read for the comparison; any text will do, as all weights work on all text."""
TOLERANCE = {"float32": 1e-4, "bfloat16": 0.05, "float16": 0.02}
"""Most mean difference of logits, in standard deviations of the logits: the rounding of merged weights to their type."""


class Merged(Value):
    """What a merge left. Differences are means over all logits, in standard deviations of the logits."""

    out: str
    dtype: str
    difference: float
    """Merged checkpoint against base and adapter."""
    effect: float
    """Base against base and adapter: what the adapter does."""
    same_token: float
    """Share of positions whose most likely next token is the same."""


def merge(base: str, adapter: Path, out: Path, device: str = "cpu") -> Merged:
    """Writes `out` and reads it again. Raises TrainingError where the logits differ by more than rounding; then nothing is left.

    One model is in memory at a time, in float32; it is written in shards of 2 GB and in the base's own type.
    """
    import torch
    from peft import PeftModel
    from transformers import AutoConfig

    if out.exists() and any(out.iterdir()):
        raise TrainingError(f"{out} is not empty; give another --out, or remove it")
    tokenizer, model = load_tokenizer(base), _load(base, device)
    stored = AutoConfig.from_pretrained(base).dtype or model.dtype
    dtype = str(stored).removeprefix("torch.")
    with torch.no_grad():
        plain = _logits(model, tokenizer)
        try:
            model = PeftModel.from_pretrained(model, str(adapter))
        except (OSError, ValueError, RuntimeError) as error:
            raise TrainingError(f"{adapter} does not fit {base} ({str(error)[:300]}); give the adapter's own base model") from error
        wanted = _logits(model, tokenizer)
        part = out.with_name(f"{out.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        # Merged in float32, rounded once to the type of the base's own files.
        model = model.merge_and_unload(safe_merge=True).to(stored)
        model.save_pretrained(part, max_shard_size=SHARD)
        tokenizer.save_pretrained(part)
        del model
        found = _logits(_load(str(part), device), tokenizer)
    report = compare(plain, wanted, found, str(out), dtype)
    if report.difference > TOLERANCE.get(dtype, TOLERANCE["bfloat16"]):
        shutil.rmtree(part, ignore_errors=True)
        raise TrainingError("the merged checkpoint answers otherwise than base and adapter: logits differ by "
                            f"{report.difference:.3g} standard deviations in {dtype} (the adapter's whole effect is {report.effect:.3g}); "
                            "it was not kept")
    if out.exists():
        out.rmdir()
    part.rename(out)
    return report


def compare(plain: Any, wanted: Any, found: Any, out: str, dtype: str) -> Merged:
    """Logits of the base, of base and adapter, and of the merged checkpoint, each (positions, vocabulary)."""
    scale = float(wanted.std()) or 1.0
    return Merged(out=out, dtype=dtype, difference=float((found - wanted).abs().mean()) / scale,
                  effect=float((plain - wanted).abs().mean()) / scale,
                  same_token=float((found.argmax(-1) == wanted.argmax(-1)).float().mean()))


def _load(folder: str, device: str) -> Any:
    """In float32, so that the comparison sees the rounding of the merged weights and no other."""
    import torch
    from transformers import AutoModelForCausalLM

    try:
        return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).to(device)
    except (OSError, ValueError) as error:
        raise TrainingError(f"the model {folder!r} cannot be loaded ({error}); give a folder or a hub name of a language model") from error


def _logits(model: Any, tokenizer: Any) -> Any:
    import torch

    model.eval()
    parts = []
    for text in TEXTS:
        ids = torch.tensor([tokenizer(text)["input_ids"]], device=model.device)
        parts.append(model(input_ids=ids).logits[0].float().cpu())
    return torch.cat(parts)
