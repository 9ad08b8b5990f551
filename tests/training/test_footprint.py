"""Bytes of one base with adapters against a checkpoint for each agent: by hand, and against torch's own count."""

from __future__ import annotations

import json
import struct
from math import prod
from pathlib import Path

import pytest

from training.footprint import footprint, size, tensors
from training.footprint_cli import main
from trio_core.errors import TrainingError

SIZES = {"BF16": 2, "F32": 4, "U8": 1}


def write(folder: Path, held: dict[str, tuple[str, tuple[int, ...]]], name: str = "model.safetensors") -> Path:
    """A safetensors file of zeros, written by the format's description."""
    header, at = {}, 0
    for key, (dtype, shape) in held.items():
        stored = prod(shape) * SIZES[dtype]
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + stored]}
        at += stored
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(struct.pack("<Q", len(text)) + text + bytes(at))
    return folder


def adapter(folder: Path, rank: int) -> Path:
    """LoRA on a module of 4 inputs and 6 outputs."""
    write(folder, {"m.q.lora_A.weight": ("F32", (rank, 4)), "m.q.lora_B.weight": ("F32", (6, rank))}, "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"r": rank}))
    return folder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write(tmp_path / "base", {"embed": ("BF16", (10, 4)), "q": ("BF16", (6, 4)), "norm": ("F32", (4,)), "packed": ("U8", (3,))})


def test_both_ways_by_hand(base: Path, tmp_path: Path) -> None:
    found = footprint(base, {name: adapter(tmp_path / name, rank) for name, rank in (("answer", 2), ("query", 2), ("judge", 4))})
    # 40 + 24 + 4 floats of two bytes once served, and 3 packed bytes
    assert (found.base.parameters, found.base.weights) == (71, 2 * 68 + 3)
    assert [(a.parameters, a.weights, a.rank) for a in found.adapters] == [(20, 40, 2), (20, 40, 2), (40, 80, 4)]
    # three slots of the highest rank: 3 x 4 x (4 in + 6 out) x 2 bytes
    assert (found.slots.loras, found.slots.rank, found.slots.bytes) == (3, 4, 240)
    assert (found.shared.memory, found.separate.memory) == (139 + 240, 3 * 139)
    on_disk = [sum(f.stat().st_size for f in (tmp_path / name).iterdir()) for name in ("base", "answer", "query", "judge")]
    assert (found.shared.disk, found.separate.disk) == (sum(on_disk), 3 * on_disk[0])
    served = footprint(base, {"a": tmp_path / "answer"}, "float32", loras=2, rank=16)
    assert (served.base.weights, served.slots.bytes) == (4 * 68 + 3, 2 * 16 * 10 * 4)


def test_a_second_copy_of_the_weights_does_not_count(base: Path) -> None:
    write(base, {"again": ("BF16", (100, 100))}, "consolidated.safetensors")
    assert set(tensors(base)) == {"embed", "q", "norm", "packed"}


def test_parts_of_a_large_model_count_together(tmp_path: Path) -> None:
    for n in (1, 2):
        write(tmp_path, {f"w{n}": ("BF16", (n, 8))}, f"model-0000{n}-of-00002.safetensors")
    assert {name: t.shape for name, t in tensors(tmp_path).items()} == {"w1": (1, 8), "w2": (2, 8)}


def test_a_real_adapter_on_a_real_model(tiny: Path, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(tiny)
    count = sum(p.numel() for p in model.parameters())
    tuned = get_peft_model(model, LoraConfig(r=3, target_modules=["q_proj", "down_proj"], task_type="CAUSAL_LM"))
    tuned.save_pretrained(tmp_path / "adapter")
    trained = sum(p.numel() for p in tuned.parameters() if p.requires_grad)
    found = footprint(tiny, {"judge": tmp_path / "adapter"})
    assert (found.base.parameters, found.adapters[0].parameters, found.adapters[0].rank) == (count, trained, 3)
    assert found.slots.bytes == found.adapters[0].weights == 2 * trained


@pytest.mark.parametrize("content", [b"", b"\x05", struct.pack("<Q", 1 << 60), struct.pack("<Q", 2) + b"[]",
                                     struct.pack("<Q", 7) + b'{"a":1}', struct.pack("<Q", 30) + b'{"a": {"dtype"'])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(TrainingError, match="model.safetensors has no readable"):
        tensors(tmp_path)


def test_on_the_command_line(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--base", str(base), "--adapter", f"judge={adapter(tmp_path / 'judge', 2)}"]
    assert main(given) == 0
    assert "1 slots of rank 2" in capsys.readouterr().out
    assert main([*given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["base"]["parameters"] == 71
    assert main(["--base", str(tmp_path / "no such folder"), *given[2:]]) == 1
    assert "no folder and not in this machine's model cache" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--base", str(base), "--adapter", "judge"])


def test_sizes_in_words() -> None:
    assert [size(n) for n in (812, 4100, 66_100_000, 8_044_936_192)] == ["812 B", "4.1 kB", "66.1 MB", "8.04 GB"]
