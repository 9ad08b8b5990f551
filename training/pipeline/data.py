"""The data sets that the steps leave, page by page, as values; a row that cannot be read is said in its place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from training.pipeline.answer import ROLLOUTS, Rollout
from training.pipeline.browse import RunSight
from training.pipeline.debate import DEBATES, POOLS, SINGLE
from training.pipeline.facets import Facet, read_facet, text_facet
from training.pipeline.judge import TRAIN, VOTES
from training.pipeline.lines import find_rows, read_page
from training.pipeline.query import SCORED, ScoredQuery
from training.pipeline.questions import FILE as QUESTIONS
from training.pipeline.questions import GRADED
from training.pipeline.records import Debate, GradedQuestion, PoolSample, VotedPool
from training.rows import TrainingRow
from trio_core.errors import InputError
from trio_core.values import Value


class DataFile(NamedTuple):
    """A data set of a step. `of` = the file of step `debate` that holds the samples its rows name."""

    name: str
    title: str
    kind: type[Value]
    rows: int = 20
    of: tuple[str, ...] = ()
    facet: Facet | None = None
    """What its rows can be chosen by."""


DIFFICULTY = text_facet("Difficulty", "difficulty", {"hard": "hard", "medium": "medium", "easy": "easy"})
END = text_facet("Ended", "end", {
    "proponent": "for the proponent", "concede": "conceded", "malformed": "malformed action", "repeat": "repeated query",
    "no_hits": "nothing found", "rounds": "limit of rounds"})
LABEL = text_facet("Label", "label", {"sufficient": "sufficient", "insufficient": "insufficient", "mixed": "mixed"})
PROBLEM = Facet("Query", {"valid": "valid", "empty": "empty", "too_long": "too long", "repeated": "repeated",
                          "not_keywords": "not keywords"},
                re.compile(rb'"problem":"(\w*)"'), lambda text: text or "valid")
REWARD = Facet("Reward", {"gain": "above 0", "none": "0 or below"}, re.compile(rb'"reward":(-?[\d.]+(?:[eE][-+]?\d+)?)\}'),
               lambda text: "gain" if float(text) > 0 else "none")


FILES: dict[str, tuple[DataFile, ...]] = {
    "questions": (DataFile(QUESTIONS, "Questions with difficulty and set", GradedQuestion, facet=DIFFICULTY),
                  DataFile(GRADED, "Graded so far", GradedQuestion, facet=DIFFICULTY)),
    "debate": (DataFile(DEBATES, "Debates", Debate, 10, facet=END),
               DataFile(POOLS, "Samples T1: the pool after each round", PoolSample, 10),
               DataFile(SINGLE, "Samples T2: one search a question", PoolSample, 10)),
    "answer": (DataFile(f"stage2/{ROLLOUTS}", "Completions of stage 2", Rollout, of=(POOLS,), facet=REWARD),
               DataFile(f"stage1/{ROLLOUTS}", "Completions of stage 1", Rollout, of=(POOLS,), facet=REWARD)),
    "query": (DataFile(SCORED, "Queries and their rewards", ScoredQuery, of=(SINGLE,), facet=PROBLEM),),
    "judge": (DataFile(VOTES, "Votes on pools", VotedPool, of=(POOLS, SINGLE), facet=LABEL),
              DataFile(TRAIN, "Rows that the judge learned from", TrainingRow, facet=LABEL)),
    "serving": (),
}


class Row(NamedTuple):
    """A row, or what is wrong with it."""

    number: int
    value: Value | None
    problem: str = ""


class DataPage(NamedTuple):
    """Some rows, and the samples of the debate step that they are about."""

    file: DataFile
    rows: tuple[Row, ...]
    total: int
    """Rows that there are of what is asked for."""
    page: int
    cut: bool
    samples: dict[str, PoolSample]
    only: str = ""
    """The value of the facet that all rows have; empty = all rows."""
    all: int = 0
    """Rows of the file."""
    counts: dict[str, int] = {}
    """Rows of each value of the facet."""
    whole: bool = True
    """False = only the beginning of the file was looked through for the counts."""

    @property
    def pages(self) -> int:
        """How many there are."""
        return max(1, -(-self.total // self.file.rows))


def files_of(run: RunSight, step: str) -> list[DataFile]:
    """The data sets that are there; what a finished file repeats is left out."""
    there = [file for file in FILES.get(step, ()) if (run.folder / step / file.name).is_file()]
    return [file for file in there if file.name != GRADED or len(there) == 1]


def read_data(run: RunSight, step: str, file: DataFile, page: int, only: str = "") -> DataPage:
    """A page, counted from 1; one beyond the end is the last. `only` = a value of the file's facet; another one counts as none.

    Raises InputError for a file that cannot be opened.
    """
    path, facet = run.folder / step / file.name, file.facet
    only = only if facet is not None and only in facet.values else ""
    try:
        found = read_page(path, 0, 0)
        known = read_facet(path, facet, "", 0, 0) if facet is not None else None
        total = known.counts[only] if known is not None and only else found.total
        page = min(max(page, 1), max(1, -(-total // file.rows)))
        first = (page - 1) * file.rows
        if facet is not None and only:
            lines = read_facet(path, facet, only, first, file.rows).lines
        else:
            lines = read_page(path, first, file.rows).lines
    except (OSError, ValueError) as error:
        raise InputError(f"{file.name} of step {step} cannot be read ({error}); it may be written anew just now: reload") from error
    rows = tuple(_row(line.number, line.text, file.kind) for line in lines)
    return DataPage(file, rows, total, page, found.cut, _samples(run.folder / "debate", file.of, rows), only, found.total,
                    known.counts if known else {}, known is None or known.whole)


def _row(number: int, text: bytes | None, kind: type[Value]) -> Row:
    if text is None:
        return Row(number, None, "longer than 2 MB; it is not shown here")
    try:
        return Row(number, kind.model_validate_json(text))
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        return Row(number, None, f"no {kind.__name__}: {f'{where}: ' if where else ''}{error.errors()[0]['msg']}")


def _samples(debate: Path, files: tuple[str, ...], rows: tuple[Row, ...]) -> dict[str, PoolSample]:
    """What the rows are about, as far as it is found in the debate step's files."""
    wanted = {str(getattr(row.value, "sample", "") or getattr(row.value, "id", "")) for row in rows if row.value is not None}
    found: dict[str, PoolSample] = {}
    for name in files:
        try:
            lines = find_rows(debate / name, wanted - found.keys())
        except OSError:
            continue
        for sample_id, text in lines.items():
            if isinstance(value := _row(0, text, PoolSample).value, PoolSample):
                found[sample_id] = value
    return found
