"""A Qwen2 model of some thousand random parameters with a ChatML tokenizer, made on the spot: trains in seconds on a CPU."""

from __future__ import annotations

from pathlib import Path

from trio_core.prompting import load_prompts
from trio_core.values import LABEL_TEXT

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
LAYERS = 2


def make_tiny_model(folder: Path, seed: int = 0, hidden: int = 32, heads: int = 4) -> Path:
    """Writes model and tokenizer to `folder` (set `training.base_model` to it) and returns it."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    tokenizer = _tokenizer()
    config = Qwen2Config(
        vocab_size=len(tokenizer), hidden_size=hidden, intermediate_size=hidden * 3 // 2, num_hidden_layers=LAYERS, num_attention_heads=heads,
        num_key_value_heads=2, max_position_embeddings=8192, tie_word_embeddings=False, bos_token_id=0,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )
    torch.manual_seed(seed)
    Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    judge = load_prompts("trio")["judge"]
    text = [judge.system, judge.user, *LABEL_TEXT.values()] * 20
    bare.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=600, special_tokens=SPECIALS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bare, eos_token="<|im_end|>", pad_token="<|endoftext|>", additional_special_tokens=["<|im_start|>"])
    tokenizer.chat_template = CHATML
    return tokenizer
