"""A GGUF file of the tiny Qwen2 model (`tests.training.tiny_model`), which llama.cpp serves in no time: same weights, same tokenizer."""

from __future__ import annotations

import json
from pathlib import Path

CONTEXT = 32768
"""More than the model was made for, since its tokens are short and its sense does not suffer."""


def write_tiny_gguf(model: Path, target: Path) -> Path:
    """Writes the Hugging Face folder `model` as `target`, float32, and returns it."""
    import gguf
    import numpy as np
    import torch
    from safetensors import safe_open

    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    tokenizer = json.loads((model / "tokenizer.json").read_text(encoding="utf-8"))
    template = json.loads((model / "tokenizer_config.json").read_text(encoding="utf-8")).get("chat_template")
    writer = gguf.GGUFWriter(target, "qwen2")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    special = {entry["id"]: entry["content"] for entry in tokenizer["added_tokens"]}
    words = {n: word for word, n in tokenizer["model"]["vocab"].items()} | special
    size = config["vocab_size"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([words[n] for n in range(size)])
    writer.add_token_types([gguf.TokenType.CONTROL if n in special else gguf.TokenType.NORMAL for n in range(size)])
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(template or (model / "chat_template.jinja").read_text(encoding="utf-8"))
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, config["num_hidden_layers"])
    with safe_open(model / "model.safetensors", "pt") as file:
        for key in file.keys():  # noqa: SIM118 (not a dict)
            values = np.ascontiguousarray(file.get_tensor(key).to(torch.float32).numpy())
            writer.add_tensor(names.get_name(key, try_suffixes=(".weight", ".bias")), values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target
