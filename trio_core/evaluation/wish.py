"""From what a person asks for (a form, a command line) to a plan whose folder agrees."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from trio_core.datasets import EvidenceMap, Question, map_evidence, open_dataset
from trio_core.errors import InputError
from trio_core.evaluation.batch import Plan
from trio_core.evaluation.folder import Terms, agree
from trio_core.evaluation.values import Entrant, entrant
from trio_core.methods import method_type
from trio_core.methods.base import check_settings
from trio_core.retrieval.corpus import Corpus
from trio_core.settings import Settings
from trio_core.values import Value

_PASSWORD = re.compile(r"(://[^:/@]*:)[^@]*@")


class Wish(Value):
    """An evaluation as a person asks for it."""

    dataset: str
    """`demo`, a path, or a name in `<data_dir>/datasets`."""
    methods: tuple[str, ...]
    """Each `trio`, or with settings `trio:max_extensions=1`."""
    split: str = ""
    aliases: Path | None = None
    limit: int | None = Field(default=None, ge=1)
    sample: bool = False
    """Draw `limit` questions by the seed, not the first ones."""
    repeats: int = Field(default=1, ge=1)
    seed: int = 0
    evidence: bool = True
    """Look for the gold passages in the corpus."""
    retry_failed: bool = False


class Ready(NamedTuple):
    """A plan, and what was read for it in words."""

    plan: Plan
    data: str
    evidence: str


def make_ready(wish: Wish, settings: Settings, folder: Path, judge: str, id: str = "") -> Ready:
    """Reads the questions, checks methods and folder, finds the evidence. Raises InputError, SettingsError, DatasetError, CorpusError.

    `id` = the name of a new evaluation; empty = one is made.
    """
    entrants = entrants_of(wish, settings)
    questions, data = _questions(wish, settings)
    terms = agree(folder, terms_of(wish, settings, judge).model_copy(update={"id": id}))
    evidence, said = _evidence(wish, settings, questions)
    return Ready(Plan(terms.id, entrants, questions, evidence, wish.repeats, wish.seed, wish.retry_failed), data, said)


def terms_of(wish: Wish, settings: Settings, judge: str) -> Terms:
    """What must stay the same over the sittings of this wish."""
    return Terms(
        id="", dataset=wish.dataset, split=wish.split, sample=wish.limit if wish.sample else None, seed=wish.seed, profile=settings.profile,
        corpus=settings.retriever.corpus, retriever=settings.retriever.kind, judge=judge,
        store=_PASSWORD.sub(r"\1…@", settings.database_url),
    )


def entrants_of(wish: Wish, settings: Settings) -> list[Entrant]:
    """The methods of a wish, each once, their settings checked. Raises InputError, SettingsError."""
    entrants = list({e.label: e for e in map(entrant, wish.methods)}.values())
    for e in entrants:
        check_settings(method_type(e.method).settings_type, {**settings.methods.get(e.method, {}), **e.settings}, e.method)
    return entrants


def _questions(wish: Wish, settings: Settings) -> tuple[list[Question], str]:
    if wish.sample and wish.limit is None:
        raise InputError("a sample needs a limit: how many questions to draw (--sample with --limit)")
    data = open_dataset(wish.dataset, wish.split, limit=None if wish.sample else wish.limit, aliases=wish.aliases, seed=wish.seed,
                        roots=[settings.data_dir / "datasets"])
    questions = data.sample(wish.limit, wish.seed) if wish.sample and wish.limit else list(data)
    drawn = f"{len(questions):,} drawn with seed {wish.seed} from " if wish.sample else ""
    return questions, drawn + data.report().summary()


def _evidence(wish: Wish, settings: Settings, questions: list[Question]) -> tuple[EvidenceMap | None, str]:
    if not wish.evidence:
        return None, "not looked for"
    if settings.retriever.kind == "http":
        return None, "unknown: the passages lie with a remote retriever"
    if not any(q.evidence for q in questions):
        return None, "the data set names none"
    found = map_evidence(questions, Corpus.open(settings.retriever.corpus).passages())
    hint = "" if found.mapped else f"; is {settings.retriever.corpus!r} the corpus of this data set? (--corpus)"
    return found, found.summary() + hint
