"""Which files of this machine a page may open: data sets and corpora in the folders that the settings name, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from trio_core.datasets.opening import ENDINGS, NOT_QUESTIONS
from trio_core.errors import InputError
from trio_core.retrieval.corpus import DEMO
from trio_core.settings import Settings

CORPORA = ("corpus", "psgs")
"""How files of passages begin; their endings are .jsonl and .tsv."""
DEEP, MOST = 3, 300
"""Folders are looked through so deep, and so many files are listed."""


def data_roots(settings: Settings) -> tuple[Path, ...]:
    """`<data_dir>/datasets` and the folders of setting `data_folders`, resolved."""
    return tuple(root.resolve() for root in (settings.data_dir / "datasets", *settings.data_folders))


def allowed(source: str, settings: Settings) -> str:
    """`demo`, or the real path of something inside the allowed folders. Raises InputError for everything else.

    `source` is a path below one of the folders, or a whole path; links are followed before the check.
    """
    name = source.strip()
    if name == DEMO:
        return name
    roots = data_roots(settings)
    if not name or "\x00" in name:
        raise InputError(f"no data is chosen; choose {DEMO!r} or a file in {_words(roots)}")
    for place in (root / name for root in roots):  # a whole path stays itself
        try:
            real = place.resolve()
            if any(real.is_relative_to(root) for root in roots) and real.exists():
                return str(real)
        except (OSError, RuntimeError):
            continue
    raise InputError(f"{name!r} is no file in {_words(roots)}; put it there, or add its folder to the setting data_folders")


def shown(source: str, settings: Settings) -> str:
    """A path as people write it here: below its allowed folder."""
    for root in data_roots(settings):
        if source != DEMO and Path(source).is_relative_to(root):
            return Path(source).relative_to(root).as_posix()
    return source


def question_files(settings: Settings) -> list[str]:
    """What can be chosen as a data set, `demo` first."""
    return [DEMO, *_listed(settings, corpora=False)]


def corpus_files(settings: Settings) -> list[str]:
    """What can be chosen as a corpus, `demo` first."""
    return [DEMO, *_listed(settings, corpora=True)]


def _listed(settings: Settings, corpora: bool) -> list[str]:
    names = {shown(str(path), settings): None for root in data_roots(settings) for path in _files(root) if _is_corpus(path) == corpora}
    return list(names)[:MOST]


def _files(root: Path) -> Iterator[Path]:
    for folder, below, files in os.walk(root):
        below[:] = sorted(below) if len(Path(folder).relative_to(root).parts) < DEEP else []
        yield from (Path(folder) / name for name in sorted(files) if name.removesuffix(".gz").endswith(ENDINGS))


def _is_corpus(path: Path) -> bool | None:
    """None = neither passages nor questions."""
    if path.name.startswith(CORPORA):
        return True
    return None if path.name.startswith(NOT_QUESTIONS) else False


def _words(roots: tuple[Path, ...]) -> str:
    return " or ".join(str(root) for root in roots)
