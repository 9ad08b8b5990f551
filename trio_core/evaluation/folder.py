"""The folder of an evaluation: what was asked for (evaluation.json), rows and report; what may change when it goes on."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from pydantic import ValidationError

from trio_core.errors import InputError
from trio_core.values import Value

FILE = "evaluation.json"


class Terms(Value):
    """What must stay the same over all sittings of one evaluation, or its rows could not stand in one table."""

    id: str
    dataset: str
    split: str = ""
    sample: int | None = None
    """Size of the random sample; null = questions in file order, of which later sittings may take more."""
    seed: int = 0
    profile: str
    corpus: str
    retriever: str
    store: str
    judge: str


def agree(folder: Path, terms: Terms) -> Terms:
    """The terms of the folder: those that it has, or these in a new one. Raises InputError where they differ."""
    path = folder / FILE
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        terms = terms if terms.id else terms.model_copy(update={"id": f"eval-{secrets.token_hex(5)}"})
        path.write_text(terms.model_dump_json(indent=1) + "\n", encoding="utf-8")
        return terms
    try:
        known = Terms.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        raise InputError(f"{path} is no evaluation's file: {error}; give another --out") from error
    for name, value in terms.model_dump(exclude={"id"} if not terms.id else None).items():
        if getattr(known, name) != value:
            held = f"{folder} holds an evaluation with {name} {getattr(known, name)!r}, not {value!r}"
            raise InputError(f"{held}; begin a new evaluation (another --out), or give the same {name}")
    return known
