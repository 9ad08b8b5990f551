"""A PEFT LoRA folder as a GGUF adapter for llama.cpp (format: MEASURED.md section 1; llama.cpp `llama_adapter_lora_init`).

The arrays go in as PEFT saved them: A (r, in), B (out, r), float32. llama.cpp scales by alpha / r itself and reads r from the
shapes, so the file holds `lora_alpha` and nothing else about scaling. What this format cannot express is refused by name.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from trio_core.errors import TrainingError

ARCHITECTURES = {"qwen2": "QWEN2", "qwen3": "QWEN3"}
"""Hugging Face `model_type` -> name in gguf.MODEL_ARCH, of models whose q and k rows llama.cpp keeps in order.

Llama's are permuted in its GGUF, so B of q and k would have to be permuted alike; untested, so refused.
"""
PLAIN: dict[str, Any] = {"peft_type": "LORA", "use_rslora": False, "use_dora": False, "alpha_pattern": {}, "rank_pattern": {},
                         "modules_to_save": None, "bias": "none", "fan_in_fan_out": False}
"""What an adapter's config must say. Anything else has no place in the file."""


def refusal(config: dict[str, Any], model_type: str) -> str | None:
    """Why this adapter cannot be written as GGUF, or null."""
    if model_type not in ARCHITECTURES:
        return f"models of type {model_type!r} are not supported (only {', '.join(ARCHITECTURES)}): tensors may be permuted there"
    for key, plain in PLAIN.items():
        if (config.get(key) or plain) != plain:
            return f"the adapter uses {key} = {config[key]!r}, which GGUF adapters cannot hold (must be {plain!r})"
    return None


def write_gguf_adapter(peft_dir: Path, model_type: str, layers: int, target: Path) -> Path:
    """Writes `target` (by way of a temporary file) from `peft_dir`. `layers`: layers of the whole base model.

    Raises TrainingError with the reason when the adapter has no GGUF form.
    """
    import gguf
    import numpy as np
    from safetensors import safe_open

    config = json.loads((peft_dir / "adapter_config.json").read_text(encoding="utf-8"))
    if reason := refusal(config, model_type):
        raise TrainingError(f"the adapter in {peft_dir} cannot go to llama.cpp: {reason}")
    temporary = target.with_name(f"{target.name}.{os.getpid()}.part")
    writer = gguf.GGUFWriter(temporary, model_type)
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(config["lora_alpha"]))
    names = gguf.get_tensor_name_map(getattr(gguf.MODEL_ARCH, ARCHITECTURES[model_type]), layers)
    with safe_open(peft_dir / "adapter_model.safetensors", "np") as file:
        for key in file.keys():  # noqa: SIM118 (not a dict)
            writer.add_tensor(gguf_name(key, names), np.ascontiguousarray(file.get_tensor(key).astype(np.float32)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    temporary.replace(target)
    return target


def gguf_name(key: str, names: Any) -> str:
    """`base_model.model.model.layers.22.mlp.down_proj.lora_A.weight` -> `blk.22.ffn_down.weight.lora_a`."""
    base, _, side = key.removeprefix("base_model.model.").removesuffix(".weight").rpartition(".lora_")
    name = names.get_name(f"{base}.weight", try_suffixes=(".weight",)) if base else None
    if name is None or side not in ("A", "B"):
        raise TrainingError(f"the adapter holds {key!r}, which has no name in GGUF")
    return f"{name}.lora_{side.lower()}"
