"""Prompts and labels as tokens of the trainable model, and the checks that keep a training honest.

Every tokenizer call goes through `prompt_ids` and `full_ids`, so that training, evaluation and length counts see the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from training.rows import TrainingRow
from trio_core.errors import TrainingError
from trio_core.values import LABEL_TEXT, Message

IGNORED = -100
"""Label of a token that the loss does not see."""


class LabelIds(NamedTuple):
    """First tokens of the two labels as they stand after the prompt."""

    sufficient: int
    insufficient: int


def prompt_ids(tokenizer: Any, messages: Sequence[Message]) -> list[int]:
    """Tokens of the chat up to where the judge begins to write."""
    return _ids(tokenizer, [m.model_dump() for m in messages], add_generation_prompt=True)


def full_ids(tokenizer: Any, messages: Sequence[Message], completion: str) -> list[int]:
    """Tokens of the chat with the judge's turn."""
    return _ids(tokenizer, [*(m.model_dump() for m in messages), {"role": "assistant", "content": completion}])


def _ids(tokenizer: Any, chat: list[dict[str, str]], add_generation_prompt: bool = False) -> list[int]:
    try:
        out = tokenizer.apply_chat_template(chat, add_generation_prompt=add_generation_prompt, tokenize=True, return_dict=True,
                                            enable_thinking=False)
    except ValueError as error:  # no chat template
        raise TrainingError(f"the base model cannot be trained on chats: {error}") from error
    return list(out["input_ids"])


def row_tokens(tokenizer: Any, row: TrainingRow) -> int:
    """Tokens of prompt and completion."""
    return len(full_ids(tokenizer, row.messages, row.completion))


def label_ids(tokenizer: Any, messages: Sequence[Message]) -> LabelIds:
    """The labels' first tokens in context (a leading space would give others). Raises TrainingError.

    Refused: a prompt that is no prefix of the chat (B7.03), labels that begin with the same token (B7.07).
    """
    prompt = prompt_ids(tokenizer, messages)
    first = {}
    for label, text in LABEL_TEXT.items():
        full = full_ids(tokenizer, messages, text)
        if full[: len(prompt)] != prompt or len(full) == len(prompt):
            raise TrainingError(
                f"the chat template of the base model changes the prompt when the answer {text!r} follows (its tokens are no "
                f"prefix); training would teach another prompt than the judge gets. Use a base model with a plain template")
        first[label] = full[len(prompt)]
    if first["sufficient"] == first["insufficient"]:
        raise TrainingError(f"both labels begin with token {first['sufficient']} in this tokenizer, so P(sufficient) cannot be "
                            "read from the first token; use another base model")
    return LabelIds(**first)


def check_batch(tokenizer: Any, batch: Any, rows: Sequence[TrainingRow]) -> str:
    """What the loss sees of a batch's first row, if in every row it is exactly the row's label and its end. Raises TrainingError (B7.02).

    `batch` holds `input_ids` and `labels` as the trainer gives them to the model, one line for each of `rows`.
    """
    shown = [_check_row(tokenizer, ids.tolist(), labels.tolist(), row)
             for ids, labels, row in zip(batch["input_ids"], batch["labels"], rows, strict=True)]
    return shown[0]


def _check_row(tokenizer: Any, ids: list[int], labels: list[int], row: TrainingRow) -> str:
    seen = tokenizer.decode([label for label in labels if label != IGNORED])
    hidden = [token for token, label in zip(ids, labels, strict=True) if label == IGNORED]
    rest = seen.removeprefix(row.completion).strip()
    if not seen.startswith(row.completion) or (rest not in {tokenizer.eos_token, ""} and not _is_end(tokenizer, rest)):
        raise TrainingError(f"the loss of item {row.item_id} would fall on {seen[:200]!r}, not on {row.completion!r} and its end token "
                            "alone; nothing was trained")
    if not _begins(hidden, prompt_ids(tokenizer, row.messages)):
        raise TrainingError(f"the first batch's prompt is not that of item {row.item_id}, token by token; nothing was trained")
    return seen


def _is_end(tokenizer: Any, text: str) -> bool:
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    return len(ids) == 1 and ids[0] in tokenizer.all_special_ids


def _begins(ids: list[int], prompt: list[int]) -> bool:
    return ids[: len(prompt)] == prompt
