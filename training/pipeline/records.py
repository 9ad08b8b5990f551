"""What the steps hand on, as JSON lines: graded questions, debates, pools. Appended line by line, so that a stopped step goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from trio_core.errors import TrainingError
from trio_core.values import PoolEntry, Value

Difficulty = Literal["easy", "medium", "hard"]
V = TypeVar("V", bound=Value)


class GradedQuestion(Value):
    """A question and how often the base model got it right."""

    id: str
    question: str
    answers: tuple[str, ...]
    dataset: str
    rollouts: int
    right: int
    difficulty: Difficulty
    set: Literal["q1", "q2", "dropped"] = "dropped"


class Turn(Value):
    """One output in a debate, word for word, and how it was read."""

    round: int
    role: Literal["proponent", "opponent", "moderator"]
    text: str
    action: Literal["argue", "expand", "concede", "proponent", "opponent", "malformed"]
    value: str = ""
    """The query of an expansion."""


class PoolSample(Value):
    """A question with a query pool: the state after a debate round, or after the single search."""

    id: str
    question: str
    answers: tuple[str, ...]
    source: Literal["debate", "single"]
    round: int = 0
    pool: tuple[PoolEntry, ...]

    def top(self, k: int) -> tuple[PoolEntry, ...]:
        """The pool with the k best passages of each query."""
        return tuple(entry.model_copy(update={"hits": entry.hits[:k]}) for entry in self.pool)


class Debate(Value):
    """A debate whole. `snapshots` are the different pools after its rounds."""

    id: str
    turns: tuple[Turn, ...]
    end: Literal["proponent", "concede", "malformed", "repeat", "no_hits", "rounds"]
    snapshots: tuple[PoolSample, ...]


class VotedPool(Value):
    """A pool and the answer agent's votes on it."""

    id: str
    right: int
    votes: int
    label: Literal["sufficient", "insufficient", "mixed"]


def append(path: Path, rows: Iterable[Value]) -> None:
    """Adds rows; whole lines only."""
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(row.model_dump_json() + "\n" for row in rows))


def write(path: Path, rows: Iterable[Value]) -> None:
    """Writes all rows in one step."""
    part = path.with_name(f"{path.name}.part")
    part.write_text("".join(row.model_dump_json() + "\n" for row in rows), encoding="utf-8")
    part.replace(path)


def read(path: Path, kind: type[V]) -> list[V]:
    """All rows; a last line that a kill cut off is cut from the file. Raises TrainingError for any other broken line."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole, _, rest = text.rpartition("\n")
    if rest:
        path.write_text(whole + "\n" if whole else "", encoding="utf-8")
    try:
        return [kind.model_validate_json(line) for line in whole.split("\n") if line]
    except ValidationError as error:
        raise TrainingError(f"{path} holds a line that is no {kind.__name__} ({error.errors()[0]['msg']}); delete the file and run "
                            "the step again") from error


def file_hash(path: Path) -> str:
    """sha256 of a file, or of all files of a folder with their names; checkpoints and model cards are no results."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file() and file.name != "README.md" and "checkpoints" not in file.relative_to(path).parts:
            digest.update(str(file.relative_to(path)).encode() + b"\0")
            with file.open("rb") as data:
                while block := data.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()


def chunks(rows: Sequence[V], n: int) -> Iterable[Sequence[V]]:
    """Rows in pieces of n."""
    return (rows[i : i + n] for i in range(0, len(rows), n))


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Writes a JSON file in one step."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(data, indent=1, ensure_ascii=False, default=str) + "\n", encoding="utf-8")
    part.replace(path)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file. Raises TrainingError."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise TrainingError(f"{path} cannot be read ({error}); delete the folder of this step and run it again") from error


def joined_hash(hashes: Iterable[str]) -> str:
    """One hash of several."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()
