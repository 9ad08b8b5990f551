"""Small LoRA adapters of a tiny model, trained on the spot to write one of the two verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

STEPS = 40
BASE_STEPS = 80


@contextmanager
def one_thread() -> Iterator[None]:
    """Tensors this small are trained faster by one thread, and on a busy machine far faster: threads that wait for each other spin."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def teach_base(model_folder: Path, samples: Sequence[tuple[str, str]]) -> None:
    """Trains the whole model a little on (prompt, answer). A random one spells a label letter by letter, past any sensible limit."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    model = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(BASE_STEPS):
        optimizer.zero_grad()
        for prompt, answer in samples:
            text = tokenizer.apply_chat_template([{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=False)
            start, target = (tokenizer(t, add_special_tokens=False)["input_ids"] for t in (text, answer))
            labels = torch.tensor([[-100] * len(start) + target])
            (model(input_ids=torch.tensor([start + target]), labels=labels).loss / len(samples)).backward()
        optimizer.step()
    model.to(torch.bfloat16).save_pretrained(model_folder)


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
