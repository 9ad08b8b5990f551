"""What a person ordered on the Evaluate page, kept in the evaluation's folder so that it can go on after a restart."""

from __future__ import annotations

import os
import shlex
from datetime import datetime
from pathlib import Path

from pydantic import Field, ValidationError

from trio_core.errors import InputError
from trio_core.evaluation.wish import Wish
from trio_core.values import Value

FILE = "order.json"


class Order(Value):
    """A wish with how it is worked on. `questions` and `error` are what the last sitting found."""

    wish: Wish
    corpus: str = ""
    """Empty = the app's own."""
    concurrency: int = Field(default=2, ge=1)
    by: str = ""
    created: datetime
    questions: int = 0
    """0 = the data set has not been read yet."""
    data: str = ""
    evidence: str = ""
    error: str = ""
    """Why the last sitting ended early."""

    @property
    def total(self) -> int:
        """Runs in all."""
        return len(set(self.wish.methods)) * self.questions * self.wish.repeats

    def command(self, folder: Path, profile: str) -> str:
        """The same evaluation from the command line (settings of a file or the environment come beside it)."""
        wish = self.wish
        words = ["python", "-m", "trio_core", "evaluate", "--profile", profile, "--method", ",".join(wish.methods), "--dataset", wish.dataset]
        words += ["--corpus", self.corpus] if self.corpus else []
        words += ["--limit", str(wish.limit)] if wish.limit else []
        words += ["--sample"] if wish.sample else []
        words += ["--seed", str(wish.seed), "--repeats", str(wish.repeats), "--concurrency", str(self.concurrency), "--out", str(folder)]
        return shlex.join(words)


def read_order(folder: Path) -> Order | None:
    """The order of a folder; None where it has none (the command line made it). Raises InputError for a file that cannot be read."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        return Order.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, ValidationError) as error:
        raise InputError(f"{path} is no order of an evaluation: {error}") from error


def write_order(folder: Path, order: Order) -> Order:
    """Writes it, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / (FILE + ".part")
    part.write_text(order.model_dump_json(indent=1) + "\n", encoding="utf-8")
    os.replace(part, folder / FILE)
    return order
