"""What serving three agents takes: one base with LoRA adapters against a checkpoint for each agent.

Read from the headers of safetensors files alone; no weight is loaded. A merged checkpoint has the tensors of its base, so that
its size needs no merged file.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, Literal, NamedTuple

from trio_core.errors import TrainingError
from trio_core.values import Value

Served = Literal["bfloat16", "float16", "float32"]
BYTES: dict[str, int] = {"bfloat16": 2, "float16": 2, "float32": 4}
FLOATS = ("F64", "F32", "F16", "BF16")
MOST_HEADER = 100_000_000
"""Bytes; the format's own limit of a header."""


class Tensor(NamedTuple):
    """A tensor as a header names it."""

    dtype: str
    shape: tuple[int, ...]
    stored: int
    """Bytes in the file."""

    def served(self, dtype: Served) -> int:
        """Bytes once loaded: floats in the type that is served, packed numbers as they are."""
        return prod(self.shape) * BYTES[dtype] if self.dtype in FLOATS else self.stored


class Folder(Value):
    """A model or an adapter on disk."""

    name: str
    path: str
    parameters: int
    disk: int
    """Bytes of its files, with tokenizer and configuration."""
    weights: int
    """Bytes of its tensors in the type that is served."""
    rank: int | None = None


class Slots(Value):
    """What vLLM sets aside for adapters: room for `loras` of rank `rank` on the modules that these adapters change."""

    loras: int
    rank: int
    bytes: int


class Sizes(Value):
    """Bytes on disk, and bytes of weights in memory."""

    disk: int
    memory: int


class Footprint(Value):
    """Both ways of serving; `memory` is weights alone, without key-value cache and activations."""

    dtype: Served
    base: Folder
    adapters: tuple[Folder, ...]
    slots: Slots
    shared: Sizes
    separate: Sizes


def footprint(base: Path, adapters: Mapping[str, Path], dtype: Served = "bfloat16", loras: int = 0, rank: int = 0) -> Footprint:
    """Sizes of both ways. `loras` and `rank` are vLLM's --max-loras and --max-lora-rank (0 = what these adapters need).

    Raises TrainingError.
    """
    if not adapters:
        raise TrainingError("no adapter is given; name each as --adapter answer=FOLDER")
    whole = _folder("base", base, tensors(base), dtype)
    found = {name: tensors(folder) for name, folder in adapters.items()}
    parts = tuple(_folder(name, adapters[name], held, dtype, _rank(adapters[name])) for name, held in found.items())
    slots = _slots(list(found.values()), dtype, loras or len(parts), rank or max(part.rank or 0 for part in parts))
    shared = Sizes(disk=whole.disk + sum(part.disk for part in parts), memory=whole.weights + slots.bytes)
    separate = Sizes(disk=len(parts) * whole.disk, memory=len(parts) * whole.weights)
    return Footprint(dtype=dtype, base=whole, adapters=parts, slots=slots, shared=shared, separate=separate)


def tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors that a folder's safetensors files name. Raises TrainingError."""
    files = weight_files(folder)
    if not files:
        raise TrainingError(f"{folder} holds no .safetensors file; give the folder of a model or of an adapter")
    return {name: tensor for file in files for name, tensor in read_header(file).items()}


def weight_files(folder: Path) -> list[Path]:
    """The files of a model or an adapter. Some hubs keep a second copy of the weights under another name: it does not count."""
    for name in ("model.safetensors", "adapter_model.safetensors"):
        if (folder / name).exists():
            return [folder / name]
    return sorted(folder.glob("model-*-of-*.safetensors")) or sorted(folder.glob("*.safetensors"))


def read_header(file: Path) -> dict[str, Tensor]:
    """The header of a safetensors file (8 bytes of length, then JSON). Raises TrainingError."""
    try:
        with file.open("rb") as data:
            (length,) = struct.unpack("<Q", data.read(8))
            if length > MOST_HEADER:
                raise ValueError(f"a header of {length} bytes")
            header = json.loads(data.read(length))
        return {name: _tensor(entry) for name, entry in header.items() if name != "__metadata__"}
    except (OSError, struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TrainingError(f"{file} has no readable safetensors header ({error}); copy or write the file again") from error


def _tensor(entry: Any) -> Tensor:
    begin, end = (int(at) for at in entry["data_offsets"])
    return Tensor(str(entry["dtype"]), tuple(int(n) for n in entry["shape"]), end - begin)


def _folder(name: str, path: Path, held: Mapping[str, Tensor], dtype: Served, rank: int | None = None) -> Folder:
    return Folder(name=name, path=str(path), parameters=sum(prod(t.shape) for t in held.values()), rank=rank,
                  disk=sum(f.stat().st_size for f in path.iterdir() if f.is_file()), weights=sum(t.served(dtype) for t in held.values()))


def _rank(adapter: Path) -> int:
    try:
        return int(json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))["r"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{adapter} is no LoRA adapter: adapter_config.json has no rank ({error})") from error


def _slots(adapters: list[dict[str, Tensor]], dtype: Served, loras: int, rank: int) -> Slots:
    """A slot holds A (rank x in) and B (out x rank) of each module, whatever the rank of the adapter in it."""
    sides: dict[str, int] = {}
    for held in adapters:
        for name, tensor in held.items():
            if ".lora_A." in name or ".lora_B." in name:
                sides[name] = tensor.shape[1] if ".lora_A." in name else tensor.shape[0]
    return Slots(loras=loras, rank=rank, bytes=loras * rank * sum(sides.values()) * BYTES[dtype])


def size(count: float) -> str:
    """Bytes in words: 812 B, 4.1 kB, 8.04 GB (powers of ten)."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}" if unit != "B" else f"{count:.0f} B"
        count /= 1000
    return f"{count:,.2f} GB"
