"""Opening a data set: a file, a folder with one file a split, a name, or `demo`; read as a stream, as often as one likes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from trio_core.datasets.demo_questions import DEMO, demo_questions
from trio_core.datasets.fields import BrokenRecord
from trio_core.datasets.formats import LOOK_AT, Choices, Format, detect
from trio_core.datasets.raw import Raw, raw_records, shape_of
from trio_core.datasets.values import DatasetReport, Question
from trio_core.errors import CorpusError, DatasetError
from trio_core.retrieval.lines import numbered_lines
from trio_core.retrieval.report import EXAMPLES, BrokenExample

ENDINGS = (".json", ".jsonl", ".csv", ".tsv")
ALIASES = "id_aliases.json"
NOT_QUESTIONS = ("corpus", "psgs", "evidence", "id_aliases", "alias")
_SPLITS = ("train", "dev", "test", "validation")


class Dataset:
    """Questions of one file. `report` tells about the last reading."""

    def __init__(
        self, name: str, path: Path | None, fmt: Format | None = None, choices: Choices | None = None, limit: int | None = None
    ) -> None:
        self.name = name
        self.path = path
        self._format = fmt
        self._choices = choices or Choices()
        self._limit = limit
        self._report = DatasetReport()

    def __iter__(self) -> Iterator[Question]:
        """Questions in file order, `limit` of them. Raises DatasetError (damaged file, nothing usable)."""
        questions = self._demo() if self.path is None else self._read(self.path)
        return questions if self._limit is None else islice(questions, self._limit)

    def sample(self, n: int, seed: int = 0) -> list[Question]:
        """n questions drawn evenly from all (reservoir sampling: memory for n), in file order; the seed fixes them."""
        rng = random.Random(seed)
        kept: list[tuple[int, Question]] = []
        for at, question in enumerate(self):
            if at < n:
                kept.append((at, question))
            elif (place := rng.randrange(at + 1)) < n:
                kept[place] = (at, question)
        return [question for _, question in sorted(kept, key=lambda pair: pair[0])]

    def report(self) -> DatasetReport:
        """Counts of the last (or running) reading."""
        return self._report

    def _demo(self) -> Iterator[Question]:
        for kept, question in enumerate(demo_questions(), 1):
            self._report = DatasetReport(file=DEMO, format=DEMO, read=kept, kept=kept)
            yield question

    def _read(self, path: Path) -> Iterator[Question]:
        assert self._format is not None
        report = DatasetReport(file=path.name, format=self._format.name)
        known: set[str] = set()
        for line, record in raw_records(path, shape_of(path)):
            try:
                question = self._parse(record, self._format)
            except BrokenRecord as error:
                examples = report.examples
                if len(examples) < EXAMPLES:
                    examples = (*examples, BrokenExample(file=path.name, line=line, reason=str(error)[:300]))
                self._report = report = report.model_copy(
                    update={"read": report.read + 1, "broken": report.broken + 1, "examples": examples}
                )
                continue
            own = _free_id(question, known)
            renamed = report.renamed + (own is not question)
            self._report = report = report.model_copy(update={"read": report.read + 1, "kept": report.kept + 1, "renamed": renamed})
            yield own
        if not report.kept:
            why = "; ".join(str(e) for e in report.examples[:3]) or "it has no records"
            raise DatasetError(f"{str(path)!r} holds no usable question: {why}")

    def _parse(self, record: object, fmt: Format) -> Question:
        if isinstance(record, ValueError):
            raise BrokenRecord(str(record))
        if not isinstance(record, Mapping):
            raise BrokenRecord("the record is no object")
        missing = fmt.fields - set(record)
        if missing:
            raise BrokenRecord(f"no field {', '.join(map(repr, sorted(missing)))}")
        try:
            return fmt.parse(record, self.name, self._choices)
        except (AttributeError, TypeError, ValueError) as error:  # a field of another kind, deep inside the record
            raise BrokenRecord(f"a field is not of the kind that {fmt.name} has: {error}") from error


def open_dataset(
    source: str | Path, split: str = "", *, limit: int | None = None, aliases: Path | None = None, seed: int = 0, roots: Sequence[Path] = ()
) -> Dataset:
    """A data set by path, or by name in one of the `roots` folders; `demo` is the set in the package.

    `split` picks a file of a folder (`dev`, `train`, …), `aliases` is 2Wiki's id_aliases.json (taken from beside the file
    by itself), `seed` orders GPQA's choices. Raises DatasetError (absent, unknown format, several files fit).
    """
    if str(source) == DEMO:
        return Dataset(DEMO, None, limit=limit)
    path = _file(_place(source, roots), split)
    shape = shape_of(path)
    fmt = detect((record for _, record in _first(path, shape)), shape, repr(str(path)))
    beside = aliases or path.with_name(ALIASES)
    names = _aliases(beside) if fmt.name == "2wikimultihopqa" and (aliases or beside.exists()) else {}
    return Dataset(fmt.name if fmt.own_name else _named_after(path), path, fmt, Choices(seed, names), limit)


def _first(path: Path, shape: str) -> Iterator[Raw]:
    return islice(raw_records(path, shape), LOOK_AT)  # type: ignore[arg-type]


def _place(source: str | Path, roots: Sequence[Path]) -> Path:
    places = [Path(source).expanduser(), *(root / source for root in roots)]
    for place in places:
        if place.exists():
            return place
    looked = f"; looked in {', '.join(str(r) for r in roots)}" if roots else ""
    known = "'demo', a file (.json, .jsonl, .csv, .tsv, .gz) or a folder with a file a split"
    raise DatasetError(f"data set {str(source)!r} does not exist{looked}; give {known}")


def _file(path: Path, split: str) -> Path:
    if not path.is_dir():
        return path
    files = sorted(f for f in path.iterdir() if f.name.removesuffix(".gz").endswith(ENDINGS) and not f.name.startswith(NOT_QUESTIONS))
    fitting = [f for f in files if split.lower() in f.name.lower()]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(f.name for f in fitting or files) or "none"
    which = f"{len(fitting)} files of questions" if fitting else f"no file of questions for split {split!r}"
    raise DatasetError(f"folder {str(path)!r} has {which} (there: {names}); name the file, or a split that picks one")


def _named_after(path: Path) -> str:
    stem = path.name.split(".")[0]
    return path.absolute().parent.name if stem.lower() in _SPLITS else stem


def _free_id(question: Question, known: set[str]) -> Question:
    name, copy = question.id, 1
    while name in known:
        copy += 1
        name = f"{question.id}~{copy}"
    known.add(name)
    return question if copy == 1 else question.model_copy(update={"id": name})


def _aliases(path: Path) -> dict[str, tuple[str, ...]]:
    """2Wiki's other names by answer id, demonyms too, as its own scorer takes them."""
    found: dict[str, tuple[str, ...]] = {}
    try:
        for number, line in numbered_lines(path):
            if line.strip():
                found |= _alias_record(line, f"{str(path)!r} line {number}")
    except CorpusError as error:
        raise DatasetError(str(error)) from error
    return found


def _alias_record(line: str, where: str) -> dict[str, tuple[str, ...]]:
    try:
        row = json.loads(line)
        return {row["Q_id"]: (*row.get("aliases", ()), *row.get("demonyms", ()))}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DatasetError(f"{where}: no alias record with Q_id and aliases ({error})") from error
