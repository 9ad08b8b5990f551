"""Which format a file has: told from the fields of its first records, never from its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from trio_core.datasets.choice import gpqa, pubmedqa
from trio_core.datasets.fields import Record
from trio_core.datasets.multihop import Aliases, fanoutqa, hotpotqa, musique, two_wiki
from trio_core.datasets.open_domain import bamboogle, flashrag, nq_open, nq_oracle, popqa
from trio_core.datasets.raw import Shape
from trio_core.datasets.values import Question
from trio_core.errors import DatasetError

LOOK_AT = 50
"""So many records are looked at before a format is given up."""


class Choices(NamedTuple):
    """What a reading may be told."""

    seed: int = 0
    aliases: Aliases = {}


class Format(NamedTuple):
    """A format of one data set."""

    name: str
    fields: frozenset[str]
    """All of these must be there."""
    parse: Callable[[Record, str, Choices], Question]
    table: bool = False
    own_name: bool = True
    """False = the layout serves many sets, so the set is named after its file."""

    def fits(self, record: Record, shape: Shape) -> bool:
        """True when a record has the fields."""
        return self.fields <= set(record) and self.table == (shape in ("csv", "tsv"))


FORMATS: tuple[Format, ...] = (  # the more demanding first
    Format("2wikimultihopqa", frozenset({"question", "answer", "supporting_facts", "context", "evidences"}),
           lambda r, d, c: two_wiki(r, d, c.aliases)),
    Format("hotpotqa", frozenset({"question", "answer", "supporting_facts", "context"}), lambda r, d, c: hotpotqa(r, d)),
    Format("musique", frozenset({"id", "question", "answer", "paragraphs"}), lambda r, d, c: musique(r, d)),
    Format("fanoutqa", frozenset({"id", "question", "answer", "decomposition"}), lambda r, d, c: fanoutqa(r, d)),
    Format("flashrag", frozenset({"question", "golden_answers"}), lambda r, d, c: flashrag(r, d), own_name=False),
    Format("nq_open", frozenset({"question", "answers", "ctxs"}), lambda r, d, c: nq_oracle(r, d)),
    Format("pubmedqa", frozenset({"QUESTION", "final_decision"}), lambda r, d, c: pubmedqa(r, d)),
    Format("pubmedqa", frozenset({"pubid", "question", "final_decision"}), lambda r, d, c: pubmedqa(r, d)),
    Format("nq_open", frozenset({"question", "answer"}), lambda r, d, c: nq_open(r, d)),
    Format("popqa", frozenset({"id", "question", "possible_answers"}), lambda r, d, c: popqa(r, d), table=True),
    Format("gpqa", frozenset({"Question", "Correct Answer", "Incorrect Answer 1"}), lambda r, d, c: gpqa(r, d, c.seed), table=True),
    Format("bamboogle", frozenset({"Question", "Answer"}), lambda r, d, c: bamboogle(r, d), table=True),
)


def detect(records: Iterable[Any], shape: Shape, name: str) -> Format:
    """The format that the first readable record fits. Raises DatasetError that names the fields found and what was tried."""
    seen: Record | None = None
    for _, record in zip(range(LOOK_AT), records, strict=False):
        if isinstance(record, Mapping):
            found = next((f for f in FORMATS if f.fits(record, shape)), None)
            if found is not None:
                return found
            seen = seen or record
    shapes = {"list": "a JSON list", "object": "a JSON object", "lines": "JSON lines", "csv": "a CSV table", "tsv": "a TSV table"}
    tried = "; ".join(f"{f.name} needs {', '.join(sorted(f.fields))}" for f in FORMATS if f.table == (shape in ("csv", "tsv")))
    fields = f"its records have the fields {', '.join(map(repr, seen))}" if seen else "none of its records is an object"
    raise DatasetError(f"{name} was read as {shapes[shape]}, but {fields}, which is no known format of questions ({tried})")
