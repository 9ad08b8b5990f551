"""A corpus: files in one of several formats, read as a stream of passages with a report of what was left out.

    corpus = Corpus.open("wiki.jsonl.gz")
    for passage in corpus.passages(): ...
    corpus.report().summary()

FlashRAG .jsonl, DPR .tsv, a folder of .txt/.md (or of .jsonl/.tsv); .gz of each; `demo` is the corpus in the package.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from trio_core.errors import CorpusError
from trio_core.retrieval.chunks import file_passages, text_files
from trio_core.retrieval.lines import numbered_lines
from trio_core.retrieval.records import TSV_COLUMNS, BrokenLine, from_json, from_tsv, tsv_header
from trio_core.retrieval.report import CorpusReport, Tally
from trio_core.values import Passage

DEMO = "demo"
RECORD_SUFFIXES = (".jsonl", ".json", ".tsv")
GIVE_UP_AFTER = 1000
"""So many broken lines at the start without a single passage: the format is wrong, no need to read on."""


class Corpus:
    """Files of one corpus. Reading is repeatable; `report` tells about the last reading."""

    def __init__(self, name: str, source: str, files: list[Path], folder: Path | None) -> None:
        self.name = name
        self.source = source
        self.files = files
        self._folder = folder
        self._tally = Tally()

    @classmethod
    def open(cls, source: str | Path) -> Corpus:
        """Finds the files of `demo`, a file or a folder. Raises CorpusError (absent, unknown format, no files)."""
        if str(source) == DEMO:
            folder = demo_folder()
            return cls(DEMO, DEMO, _record_files(folder), None)._with_files(folder)
        path = Path(source).expanduser()
        if not _exists(path):
            raise CorpusError(f"corpus {str(source)!r} does not exist; give 'demo', a .jsonl or .tsv file, or a folder")
        if not path.is_dir():
            _check_suffix(path)
            return cls(corpus_name(source), str(source), [path], None)
        files = _record_files(path)
        if files:
            return cls(corpus_name(source), str(source), files, None)
        return cls(corpus_name(source), str(source), text_files(path), path)._with_files(path)

    def passages(self) -> Iterator[Passage]:
        """All usable passages in file order, one pass.

        Identical repeats are left out, other passages under a known id get a new id; both are counted. Raises
        CorpusError for a wrong encoding, a damaged file, or when nothing usable is left.
        """
        tally = self._tally = Tally(files=len(self.files))
        for path in self.files:
            for passage in self._file(path, tally):
                kept = tally.accept(passage)
                if kept is not None:
                    yield kept
        if not tally.kept:
            raise self._nothing_usable(tally)

    def report(self) -> CorpusReport:
        """Counts of the last (or running) reading."""
        return self._tally.report()

    def fingerprint(self) -> str:
        """Changes when a file's name, size or modification time changes; costs no reading."""
        stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in self.files]
        return hashlib.sha256(json.dumps(stats).encode()).hexdigest()

    def _file(self, path: Path, tally: Tally) -> Iterator[Passage]:
        if self._folder is not None:
            yield from _counted(file_passages(path, self._folder), tally)
            return
        parse = _TsvParser() if path.name.removesuffix(".gz").endswith(".tsv") else _JsonParser()
        for number, line in numbered_lines(path):
            if not line.strip():
                continue
            try:
                passage = parse(line, number)
            except BrokenLine as error:
                tally.broken_line(path.name, number, str(error))
                if not tally.kept and tally.broken >= GIVE_UP_AFTER:
                    raise self._nothing_usable(tally) from None
                continue
            if passage is not None:
                tally.read += 1
                yield passage

    def _with_files(self, folder: Path) -> Corpus:
        if not self.files:
            raise CorpusError(f"folder {str(folder)!r} holds no .jsonl, .tsv, .txt or .md files")
        return self

    def _nothing_usable(self, tally: Tally) -> CorpusError:
        examples = "; ".join(str(example) for example in tally.examples[:3])
        why = f"all {tally.broken} lines are broken: {examples}" if tally.broken else "the files are empty"
        return CorpusError(f"corpus {self.source!r} holds no usable passage: {why}")


class CorpusHash:
    """sha256 over ids and contents of passages, in order."""

    def __init__(self) -> None:
        self._sha = hashlib.sha256()

    def add(self, passage: Passage) -> None:
        """Takes in the next passage."""
        self._sha.update(json.dumps([passage.id, passage.title, passage.text], ensure_ascii=False).encode())

    def hexdigest(self) -> str:
        """Hash of the passages so far."""
        return self._sha.hexdigest()


def demo_folder() -> Path:
    """Where the package keeps its own corpus."""
    return Path(__file__).resolve().parent.parent / "demo" / "corpus"


def corpus_name(source: str | Path) -> str:
    """Short name of a corpus: file or folder name without endings."""
    name = Path(source).expanduser().absolute().name
    for suffix in (".tgz", ".gz", ".tar", *RECORD_SUFFIXES):
        name = name.removesuffix(suffix)
    return name or "corpus"


class _JsonParser:
    def __call__(self, line: str, number: int) -> Passage | None:
        return from_json(line, fallback_id=f"line-{number}")


class _TsvParser:
    columns: tuple[str, ...] = TSV_COLUMNS

    def __call__(self, line: str, number: int) -> Passage | None:
        header = tsv_header(line) if number == 1 else None
        if header is not None:
            self.columns = header
            return None
        return from_tsv(line, self.columns)


def _counted(passages: Iterator[Passage], tally: Tally) -> Iterator[Passage]:
    for passage in passages:
        tally.read += 1
        yield passage


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long for the file system, or a folder that may not be entered
        return False


def _record_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.iterdir() if p.is_file() and p.name.removesuffix(".gz").endswith((".jsonl", ".tsv")))


def _check_suffix(path: Path) -> None:
    name = path.name.removesuffix(".gz").removesuffix(".tgz").removesuffix(".tar")
    known = name.endswith(RECORD_SUFFIXES) or name != path.name and "." not in name
    if not known:
        raise CorpusError(f"corpus file {str(path)!r} has an unknown ending; known are .jsonl, .tsv and .gz of both")
