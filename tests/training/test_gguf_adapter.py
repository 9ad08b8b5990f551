"""PEFT -> GGUF: names, orientation, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from gguf import GGUFReader
from safetensors.torch import save_file

from training.gguf_adapter import write_gguf_adapter
from trio_core.errors import TrainingError

CONFIG = {"peft_type": "LORA", "lora_alpha": 32, "r": 2, "use_rslora": False, "modules_to_save": None}
KEY = "base_model.model.model.layers.1.{}.lora_{}.weight"
A, B = torch.arange(2 * 5.0).reshape(2, 5), torch.arange(3 * 2.0).reshape(3, 2)


def adapter(folder, **config):
    save_file({KEY.format("mlp.down_proj", "A"): A, KEY.format("mlp.down_proj", "B"): B,
               KEY.format("self_attn.q_proj", "A"): A.clone(), KEY.format("self_attn.q_proj", "B"): B.clone()}, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({**CONFIG, **config}))
    return folder


def test_tensors_go_in_untransposed_under_ggufs_names(tmp_path) -> None:
    reader = GGUFReader(write_gguf_adapter(adapter(tmp_path), "qwen2", 2, tmp_path / "a.gguf"))
    found = {t.name: t for t in reader.tensors}
    assert set(found) == {f"blk.1.{name}.weight.lora_{side}" for name in ("ffn_down", "attn_q") for side in "ab"}
    # A reader shows dimensions in reverse: [in, r] and [r, out].
    assert found["blk.1.ffn_down.weight.lora_a"].shape.tolist() == [5, 2]
    assert found["blk.1.ffn_down.weight.lora_b"].shape.tolist() == [2, 3]
    np.testing.assert_array_equal(found["blk.1.ffn_down.weight.lora_a"].data, A.numpy())
    np.testing.assert_array_equal(found["blk.1.attn_q.weight.lora_b"].data, B.numpy())
    fields = {key: field.contents() for key, field in reader.fields.items()}
    assert (fields["general.architecture"], fields["general.type"]) == ("qwen2", "adapter")
    assert (fields["adapter.type"], fields["adapter.lora.alpha"]) == ("lora", 32.0)


@pytest.mark.parametrize(("model", "change", "named"), [
    ("qwen2", {"use_rslora": True}, "use_rslora"),
    ("qwen2", {"use_dora": True}, "use_dora"),
    ("qwen2", {"alpha_pattern": {"q_proj": 8}}, "alpha_pattern"),
    ("qwen2", {"rank_pattern": {"q_proj": 8}}, "rank_pattern"),
    ("qwen2", {"modules_to_save": ["lm_head"]}, "modules_to_save"),
    ("llama", {}, "'llama' are not supported"),
])
def test_what_the_format_cannot_hold_is_refused_by_name(tmp_path, model: str, change: dict, named: str) -> None:
    with pytest.raises(TrainingError, match=named):
        write_gguf_adapter(adapter(tmp_path, **change), model, 2, tmp_path / "a.gguf")
    assert not (tmp_path / "a.gguf").exists()
