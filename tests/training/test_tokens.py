"""What the loss sees, and which tokens tell the labels apart."""

from __future__ import annotations

import pytest

from tests.training.conftest import row
from training.base_model import load_tokenizer
from training.tokens import IGNORED, check_batch, full_ids, label_ids, prompt_ids
from trio_core.errors import TrainingError


class Ids(list):
    def tolist(self) -> list:
        return list(self)


def batch(ids: list[int], labels: list[int]) -> dict:
    return {"input_ids": [Ids(ids)], "labels": [Ids(labels)]}


def test_labels_first_tokens_stand_after_the_prompt(tiny) -> None:
    tokenizer, given = load_tokenizer(str(tiny)), row(1, "sufficient")
    ids = label_ids(tokenizer, given.messages)
    assert ids.sufficient != ids.insufficient
    assert full_ids(tokenizer, given.messages, "Sufficient Information")[len(prompt_ids(tokenizer, given.messages))] == ids.sufficient


def test_labels_that_begin_alike_are_refused(tiny, monkeypatch) -> None:
    monkeypatch.setattr("training.tokens.LABEL_TEXT", {"sufficient": "A1", "insufficient": "A2"})
    with pytest.raises(TrainingError, match="both labels begin with token"):
        label_ids(load_tokenizer(str(tiny)), row(1, "sufficient").messages)


def test_a_template_that_changes_the_prompt_is_refused(tiny, monkeypatch) -> None:
    tokenizer = load_tokenizer(str(tiny))
    changed = tokenizer.chat_template.replace("{{ message.content }}", "{{ message.content }}{{ messages|length }}")
    monkeypatch.setattr(tokenizer, "chat_template", changed)
    with pytest.raises(TrainingError, match="no prefix"):
        label_ids(tokenizer, row(1, "sufficient").messages)


def test_the_loss_on_the_completion_and_its_end_passes(tiny) -> None:
    tokenizer, given = load_tokenizer(str(tiny)), row(1, "insufficient")
    prompt, full = prompt_ids(tokenizer, given.messages), full_ids(tokenizer, given.messages, given.completion)
    labels = [IGNORED] * len(prompt) + full[len(prompt):]
    assert check_batch(tokenizer, batch(full, labels), [given]).startswith("Insufficient Information<|im_end|>")


@pytest.mark.parametrize("shift", [0, -3, 1])
def test_the_loss_on_anything_else_is_refused(tiny, shift: int) -> None:
    # 0: nothing masked (B7.02); -3: the prompt's end is learnt too; 1: the label's first token is not.
    tokenizer, given = load_tokenizer(str(tiny)), row(1, "sufficient")
    prompt, full = prompt_ids(tokenizer, given.messages), full_ids(tokenizer, given.messages, given.completion)
    masked = len(prompt) + shift if shift else 0
    with pytest.raises(TrainingError, match="nothing was trained"):
        check_batch(tokenizer, batch(full, [IGNORED] * masked + full[masked:]), [given])
