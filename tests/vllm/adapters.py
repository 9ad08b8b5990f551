"""Small LoRA adapters of a tiny model, trained on the spot to write one of the two verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

STEPS = 25


def train_adapters(model_folder: Path, prompt: str, answers: Mapping[str, str], folder: Path) -> dict[str, Path]:
    """Name -> PEFT folder of an adapter that was trained to answer the prompt with that text."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    text = tokenizer.apply_chat_template([{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=False)
    start = tokenizer(text, add_special_tokens=False)["input_ids"]
    found = {}
    for seed, (name, answer) in enumerate(answers.items()):
        torch.manual_seed(seed)
        base = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32)
        config = LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj", "o_proj", "down_proj"], task_type="CAUSAL_LM")
        model = get_peft_model(base, config)
        optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=2e-2)
        target = tokenizer(answer, add_special_tokens=False)["input_ids"]
        ids = torch.tensor([start + target])
        labels = torch.tensor([[-100] * len(start) + target])
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(input_ids=ids, labels=labels).loss.backward()
            optimizer.step()
        model.save_pretrained(folder / name)
        found[name] = folder / name
    return found
