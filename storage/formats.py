"""Training files line by line: a row of a snapshot as a line of each format, and back. Pure: no database here.

Every line holds all that the row needs to come back as the same item: question, pool and prompt. Lists beside the messages are
JSON text, since loaders guess the type of a list from its first lines and stumble over empty ones.

| format | columns a trainer reads |
|---|---|
| prompt_completion | `prompt`, `completion` (messages; TRL takes the loss on the completion only) |
| preference | `prompt`, `chosen`, `rejected` (messages) |
| kto | `prompt`, `completion` (messages), `label` (true = wanted) |
| csv | everything flat, messages as JSON text |
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from pydantic import TypeAdapter, ValidationError

from storage.annotation_values import VoteLabel
from storage.values import BinaryLabel, LabelSource, SnapshotRow
from trio_core.values import LABEL_TEXT, JudgeItem, Message, PoolEntry, Value

ExportFormat = Literal["prompt_completion", "preference", "kto", "csv"]
_OTHER: dict[str, BinaryLabel] = {"sufficient": "insufficient", "insufficient": "sufficient"}
_VERDICTS: dict[str, BinaryLabel] = {"Sufficient Information": "sufficient", "Insufficient Information": "insufficient"}
_MESSAGES: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])
_POOL: TypeAdapter[tuple[PoolEntry, ...]] = TypeAdapter(tuple[PoolEntry, ...])
_VOTES: TypeAdapter[tuple[VoteLabel, ...]] = TypeAdapter(tuple[VoteLabel, ...])
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
CSV_COLUMNS = ("item_id", "split", "label", "source", "kind", "annotators", "answer_models", "votes", "weight", "question", "prompt",
               "pool", "content_hash")


class ParsedLine(Value):
    """A line as an item with a label. `source` tells whose label it is; `votes` are those of a vote label."""

    item: JudgeItem
    label: BinaryLabel
    source: LabelSource
    votes: tuple[VoteLabel, ...] = ()


def to_line(row: SnapshotRow, form: ExportFormat, votes: Sequence[VoteLabel] = ()) -> dict[str, Any]:
    """One row as a line. For KTO the row of a correction is the judge's wrong verdict, unwanted."""
    prompt = [message.model_dump() for message in row.item.messages]
    common = {
        "item_id": row.item_id, "split": row.split, "source": row.source, "kind": row.kind or "", "annotators": _text(row.annotators),
        "answer_models": _text(row.answer_models), "votes": _VOTES.dump_json(tuple(votes)).decode(), "weight": row.weight,
        "question": row.item.question, "pool": _POOL.dump_json(row.item.pool).decode(), "content_hash": row.item.content_hash,
    }
    if form == "csv":
        flat = {**common, "label": row.label, "prompt": _text(prompt)}
        return {name: _guarded(flat[name]) for name in CSV_COLUMNS}
    if form == "preference":
        return {"prompt": prompt, "chosen": _verdict(row.label), "rejected": _verdict(_OTHER[row.label]), "label": row.label, **common}
    if form == "kto":
        wanted = row.kind != "correction"
        said = row.label if wanted else _OTHER[row.label]
        return {"prompt": prompt, "completion": _verdict(said), "label": wanted, "verdict": row.label, **common}
    return {"prompt": prompt, "completion": _verdict(row.label), "label": row.label, **common}


def from_line(line: Mapping[str, Any], flat: bool = False) -> ParsedLine:
    """A line of any of the formats (`flat` = CSV), also of files that other programs made. Raises ValueError in plain words.

    Without `question` the last user message is the question, and without `pool` the item has no passages as data.
    """
    if flat:
        line = {name: _unguarded(value) for name, value in line.items() if isinstance(value, str)}
    messages = _read(_MESSAGES, line.get("prompt"), "prompt", "a list of chat messages with role and content")
    asked = [message.content for message in messages if message.role == "user"]
    if not asked:
        raise ValueError("`prompt` has no user message, so nobody can tell what the judge was asked")
    question = line.get("question") or asked[-1]
    if not isinstance(question, str):
        raise ValueError("`question` is no text")
    item = JudgeItem(question=question, messages=messages,
                     pool=_read(_POOL, line.get("pool") or "[]", "pool", "a list of queries with their passages"))
    if "\x00" in question:
        raise ValueError("`question` holds a NUL character, which not every database can keep")
    known = line.get("content_hash")
    if item.content_hash != (known or item.content_hash):
        raise ValueError("`content_hash` does not fit question and pool: the line was changed after its export")
    source = line.get("source") or "human"
    if source not in get_args(LabelSource):
        raise ValueError(f"`source` is {str(source)[:40]!r}; it must be human, votes or gold")
    votes = _read(_VOTES, line.get("votes") or "[]", "votes", "a list of vote labels")
    if source == "votes" and not (votes and all(vote.answers for vote in votes)):
        raise ValueError("a vote label without the answers that gave it (column `votes`)")
    return ParsedLine(item=item, label=_label(line), source=source, votes=votes)


def _label(line: Mapping[str, Any]) -> BinaryLabel:
    """The named label, else the one that the completion spells out (its opposite where KTO says that it is unwanted)."""
    named = line.get("verdict") or line.get("label")
    if isinstance(named, str) and named in _OTHER:
        return "sufficient" if named == "sufficient" else "insufficient"
    text = line.get("chosen") or line.get("completion")
    said = text[-1].get("content") if isinstance(text, list) and text and isinstance(text[-1], dict) else text
    label = _VERDICTS.get(said.strip()) if isinstance(said, str) else None
    if label is None:
        raise ValueError("no label: `label` is not sufficient or insufficient, and the completion is none of "
                         + " or ".join(repr(words) for words in _VERDICTS))
    return _OTHER[label] if line.get("label") is False else label


def _read(adapter: TypeAdapter[Any], value: Any, name: str, wanted: str) -> Any:
    """A column that is a list, or JSON text of one."""
    try:
        return adapter.validate_json(value) if isinstance(value, str) else adapter.validate_python(value)
    except ValidationError as error:
        raise ValueError(f"`{name}` is {'missing' if value is None else 'not ' + wanted}") from error


def _verdict(label: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": LABEL_TEXT[label]}]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _guarded(value: Any) -> Any:
    """A spreadsheet runs cells that begin like a formula; questions and passages are anybody's text."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def _unguarded(value: str) -> str:
    return value[1:] if value.startswith("'") and _FORMULA.match(value) else value
