"""The trainable base model: a Hugging Face folder or name, or the embedded GGUF dequantised once.

The embedded engine and the trainer then hold the same numbers, so an adapter trained here means the same there.
Dequantising takes minutes and 3.6 GB of disk for the 1.5B model; it is done in the training process, never in the app's.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from trio_core.engine_settings import EmbeddedSettings
from trio_core.engines.model_file import find_model
from trio_core.errors import TrainingError

MARKER = "trioscope-base.json"
Progress = Callable[[str, float], None]
logger = logging.getLogger(__name__)


def base_name(base_model: str, embedded: EmbeddedSettings) -> str:
    """The base model in words, for judge versions and pages."""
    return base_model or f"{(embedded.model_path or Path(embedded.hub_file)).stem} (dequantised)"


def base_folder(embedded: EmbeddedSettings, data_dir: Path) -> Path:
    """Where the dequantised embedded model lies or will lie."""
    return data_dir / "models" / f"{(embedded.model_path or Path(embedded.hub_file)).stem}-hf"


def ready_base(base_model: str, embedded: EmbeddedSettings, data_dir: Path) -> str | None:
    """Folder or name of the trainable base if it can be used at once, else null (it must be dequantised first)."""
    if base_model:
        return base_model
    folder = base_folder(embedded, data_dir)
    return str(folder) if _mark_of(folder) is not None else None


def ensure_base(base_model: str, embedded: EmbeddedSettings, data_dir: Path, progress: Progress) -> str:
    """Folder or name of the trainable base; dequantises the embedded GGUF if that has not been done. Blocks for minutes.

    Raises ModelFileError without a usable GGUF, TrainingError when the folder cannot be written.
    """
    if base_model:
        return base_model
    folder, gguf = base_folder(embedded, data_dir), find_model(embedded, data_dir, progress)
    if _mark_of(folder) == _mark(gguf):
        return str(folder)
    progress(f"dequantising {gguf.name} for training (once, minutes)", 0.0)
    temporary = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    try:
        _dequantise(gguf, temporary)
        (temporary / MARKER).write_text(json.dumps(_mark(gguf)))
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    except OSError as error:
        raise TrainingError(f"the dequantised base model cannot be written to {folder} ({error}); free about 4 GB there, or set "
                            "training.base_model to a Hugging Face folder") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    progress("dequantised", 1.0)
    return str(folder)


def _dequantise(gguf: Path, target: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.quantization_config import GgufConfig

    # Without `dequantize` transformers 5.24 keeps the weights packed; such a model can be neither saved nor trained.
    plain = GgufConfig(dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(
        str(gguf.parent), gguf_file=gguf.name, dtype=torch.bfloat16, quantization_config=plain)
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name).save_pretrained(target)


def _mark(gguf: Path) -> dict[str, Any]:
    return {"gguf": gguf.name, "size": gguf.stat().st_size}


def _mark_of(folder: Path) -> dict[str, Any] | None:
    try:
        return dict(json.loads((folder / MARKER).read_text()))
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=4)
def load_tokenizer(base: str) -> Any:
    """The tokenizer of a folder or hub name. Raises TrainingError."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(base)
    except (OSError, ValueError) as error:
        raise TrainingError(f"the base model {base!r} has no usable tokenizer ({error}); correct training.base_model") from error


def load_model(base: str, device: str) -> Any:
    """The base model, frozen, on `cpu` or `cuda`; bfloat16, or float32 where that is faster. Raises TrainingError."""
    import torch
    from transformers import AutoModelForCausalLM

    dtype = torch.bfloat16 if device != "cpu" or cpu_has_bfloat16() else torch.float32
    logger.info("loading %s in %s on %s", base, dtype, device)
    try:
        model = AutoModelForCausalLM.from_pretrained(base, dtype=dtype)
    except (OSError, ValueError) as error:
        raise TrainingError(f"the base model {base!r} cannot be loaded ({error}); correct training.base_model") from error
    model.requires_grad_(False)
    return model.to(device)


def cpu_has_bfloat16() -> bool:
    """Whether this CPU multiplies bfloat16 itself, as far as Linux tells: about as fast as float32 in half the memory.

    Without such instructions (AVX2 alone) it is emulated, five times slower. Read and not timed: a job that goes on after a stop must
    find the type it began with, however busy the machine is.
    """
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags or " bf16" in flags


def pick_device(wanted: str) -> str:
    """`cuda` where wanted or, with `auto`, where there is one. Raises TrainingError."""
    import torch

    if wanted == "cuda" and not torch.cuda.is_available():
        raise TrainingError("training.device is cuda, and torch sees no GPU; set it to auto or cpu")
    return "cuda" if wanted != "cpu" and torch.cuda.is_available() else "cpu"
