"""A merged checkpoint answers as base and adapter do; one that does not is not kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import training.merge as m
from training.merge_cli import main
from trio_core.errors import TrainingError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def adapter(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter whose B is not zero, so that it does something."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    folder = tmp_path_factory.mktemp("adapter")
    torch.manual_seed(0)
    tuned = get_peft_model(AutoModelForCausalLM.from_pretrained(tiny), LoraConfig(
        r=4, lora_alpha=16, target_modules=["q_proj", "v_proj", "up_proj"], task_type="CAUSAL_LM", init_lora_weights=False))
    tuned.save_pretrained(folder)
    return folder


def test_the_merged_weights_are_base_plus_scaled_product(tiny: Path, adapter: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    made = m.merge(str(tiny), adapter, tmp_path / "merged")
    assert made.difference < 0.1 * made.effect and made.same_token > 0.8 and made.dtype == "bfloat16"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["merged"]
    before, after, low = load_file(tiny / "model.safetensors"), load_file(tmp_path / "merged" / "model.safetensors"), load_file(
        adapter / "adapter_model.safetensors")
    assert before.keys() == after.keys() and all(t.dtype == before[name].dtype for name, t in after.items())
    key = "model.layers.1.mlp.up_proj.weight"
    a, b = (low[f"base_model.model.{key.replace('.weight', f'.lora_{side}.weight')}"].float() for side in "AB")
    wanted = before[key].float() + 16 / 4 * b @ a
    assert (after[key].float() - wanted).abs().max() <= wanted.abs().max() * 2**-8  # half a step of bfloat16
    assert after["model.layers.1.mlp.down_proj.weight"].equal(before["model.layers.1.mlp.down_proj.weight"])


def test_a_merge_that_answers_otherwise_is_not_kept(tiny: Path, adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from peft.tuners.lora import LoraModel

    monkeypatch.setattr(LoraModel, "merge_and_unload", lambda self, **_: self.unload())
    with pytest.raises(TrainingError, match="answers otherwise"):
        m.merge(str(tiny), adapter, tmp_path / "merged")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_merged_is_said(tiny: Path, adapter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kept").write_text("x")
    given = ["--base", str(tiny), "--adapter", str(adapter), "--out", str(tmp_path)]
    assert main(given) == 1 and "is not empty" in capsys.readouterr().err
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 1}))
    assert main([*given[:3], str(tmp_path / "wrong"), "--out", str(tmp_path / "new")]) == 1
    assert "does not fit" in capsys.readouterr().err and not (tmp_path / "new").exists()
