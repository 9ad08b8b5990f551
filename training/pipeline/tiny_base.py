"""The base model of profile `cpu-smoke`, made on the spot: a Llama of two layers whose tokenizer is trained on the demo's text.

A short warm-up on the demo's questions teaches it to write a few words and stop, so that rollouts differ and rewards tell them
apart; knowledge it has none.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training.pipeline.prompts import answer_messages, query_messages
from training.tokens import IGNORED, full_ids, prompt_ids
from trio_core.demo import questions
from trio_core.retrieval.corpus import DEMO, Corpus
from trio_core.values import Hit, Message, Passage, PoolEntry

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MARKER = "made.json"
VOCABULARY = 1500
WARM_UP_STEPS = 150
WARM_UP_BATCH = 8
Lesson = tuple[tuple[Message, ...], str]
"""A prompt and what to write."""


def make_tiny_base(folder: Path, seed: int, steps: int = WARM_UP_STEPS, given: Sequence[Lesson] = ()) -> str:
    """Writes model and tokenizer to `folder` unless they are there; the folder as text. `given` replaces the warm-up's lessons."""
    if (folder / MARKER).exists():
        return str(folder)
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    passages = list(Corpus.open(DEMO).passages())
    tokenizer = _tokenizer([passage.text for passage in passages])
    torch.manual_seed(seed)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=4096, bos_token_id=0, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id))
    warm_up(model, tokenizer, given or lessons(passages, seed), steps, seed)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / MARKER).write_text(json.dumps({"seed": seed, "steps": steps}), encoding="utf-8")
    return str(folder)


def lessons(passages: Sequence[Passage], seed: int) -> list[Lesson]:
    """Prompts of the answer and the query agent with one gold passage, and what to write."""
    by_id = {passage.id: passage for passage in passages}
    found = []
    for asked in (q for q in questions() if q.answerable and q.answers):
        pool = (PoolEntry(query=asked.question, hits=(Hit(passage=by_id[asked.hops[0].passage_id], score=1.0, rank=1),)),)
        found.append((answer_messages(asked.question, pool), asked.answers[0]))
        keywords = [word for word in asked.question.rstrip("?").split() if word[:1].isupper() or word[:1].isdigit()][-4:]
        found.append((query_messages(asked.question, pool), " ".join([*keywords, asked.hops[-1].answer.split(" ")[0]])))
    random.Random(seed).shuffle(found)
    return found


def warm_up(model: Any, tokenizer: Any, given: Sequence[Lesson], steps: int, seed: int) -> None:
    """Some steps of plain supervised training of all parameters; the loss falls on what is to be written."""
    import torch

    optimizer, rng = torch.optim.AdamW(model.parameters(), lr=3e-3), random.Random(seed)
    model.train()
    for _ in range(steps):
        ids, labels = _batch(tokenizer, [given[rng.randrange(len(given))] for _ in range(WARM_UP_BATCH)])
        hidden = model.model(input_ids=ids).last_hidden_state[:, :-1]
        wanted = labels[:, 1:]
        seen = wanted != IGNORED
        loss = torch.nn.functional.cross_entropy(model.lm_head(hidden[seen]), wanted[seen])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()


def _batch(tokenizer: Any, given: Sequence[Lesson]) -> tuple[Any, Any]:
    import torch

    rows = [(full_ids(tokenizer, messages, text), len(prompt_ids(tokenizer, messages))) for messages, text in given]
    width = max(len(ids) for ids, _ in rows)
    # Padding stands on the right, behind what is learned: causal attention never sees it.
    ids = torch.tensor([row + [tokenizer.pad_token_id] * (width - len(row)) for row, _ in rows])
    labels = torch.tensor([[IGNORED] * start + row[start:] + [IGNORED] * (width - len(row)) for row, start in rows])
    return ids, labels


def _tokenizer(texts: Sequence[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    asked = [q.question for q in questions()] + [" ".join(m.content for m in answer_messages("?", ()))] * 20
    bare.train_from_iterator([*texts, *asked], trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIALS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bare, eos_token="<|im_end|>", pad_token="<|endoftext|>", additional_special_tokens=["<|im_start|>"],
        padding_side="left", clean_up_tokenization_spaces=False)
    tokenizer.chat_template = CHATML
    return tokenizer
