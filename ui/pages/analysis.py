"""Analysis: how stored runs searched, stopped and judged; the papers' figures beside ours. The address holds the selection."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

import gradio as gr

from trio_core.analysis.facts import RunFacts, run_facts
from trio_core.analysis.report import KEYS, analyse
from trio_core.analysis.sheets import Analysis
from trio_core.analysis.source import MOST as MOST_RUNS
from trio_core.analysis.source import chosen
from trio_core.analysis.vectors import Vectors
from trio_core.errors import TrioscopeError
from trio_core.retrieval.build import encoder_of
from trio_core.retrieval.records import contents
from trio_core.runs import Origin, RunInfo
from ui.context import UiContext
from ui.render import analysis as parts
from ui.shell import error_html
from ui.theme import asset

log = logging.getLogger(__name__)
EMBEDDED = ("similarity", "momentum")
"""Sections that need texts as vectors: they come after the others."""
BEFORE = ("stopping", "judge")
KEPT_FACTS = 20_000
KNOWN_EVALUATIONS = 300
"""So many of the newest batch runs are looked through for the names of evaluations."""
WAIT = '<section class="al-card al-wait" role="status"><p>Embedding sub-queries and gold passages …</p></section>'


def build(ctx: UiContext, demo: gr.Blocks) -> None:
    """Six pieces, top to bottom; the embedded ones are filled last and take the place of a piece of the same height."""
    gr.HTML("", head=f"<style>{asset('analysis.css')}</style>", visible="hidden")
    outputs = [gr.HTML("", html_template="${value}", apply_default_css=False, js_on_load=None) for _ in range(6)]
    page = _Analysis(ctx)
    demo.load(page.show, None, outputs, show_progress="hidden", api_visibility="private")


def read_asked(query: Mapping[str, str]) -> parts.Asked:
    """The selection of an address; what is not a known value is left out."""
    limit = query.get("limit", "")
    return parts.Asked(
        evaluation=query.get("evaluation", "")[:400],
        run=query.get("run", "")[:4000],
        method=query.get("method", "")[:200],
        dataset=query.get("dataset", "")[:100],
        origin=query.get("origin", "") if query.get("origin") in get_args(Origin) else "",
        search=query.get("search", "")[:200],
        open=query.get("open", "")[:60],
        limit=min(max(int(limit), 1), MOST_RUNS) if limit.isascii() and limit.isdigit() and len(limit) < 7 else parts.MOST,
    )


class _Analysis:
    """Facts of runs and vectors of texts are kept: a figure that is opened makes nothing anew."""

    def __init__(self, ctx: UiContext) -> None:
        self._ctx, self._lock, self._embedding = ctx, threading.Lock(), threading.Lock()
        self._facts: dict[tuple[str, datetime | None], RunFacts] = {}
        self._vectors: Vectors | None = None

    def show(self, request: gr.Request) -> Iterator[list[Any]]:
        """Filters, opened figure, head and first sections; the embedded sections; the others; files to keep."""
        asked = read_asked(dict(request.query_params))
        filters = parts.filters_html(asked, self._evaluations())
        try:
            infos = chosen(self._ctx.store, asked.selection())
            runs = [self._read(info) for info in infos]
        except TrioscopeError as error:
            yield [filters + error_html(str(error)), "", "", "", "", ""]
            return
        if not runs:
            yield [filters + parts.nothing_html(asked), "", "", "", "", ""]
            return
        known = {info.id: info for info in infos}
        plain = analyse(runs, only=[key for key in KEYS if key not in EMBEDDED])
        later = [key for key in KEYS if key not in (*EMBEDDED, *BEFORE)]
        # The names of all sections are known before the embedded ones are made.
        titles = [(s.key, s.title) for s in analyse(runs[:0]).sections]
        first = [
            filters,
            self._opened(plain, asked, known),
            parts.head_html(plain, asked, titles) + parts.sections_html(plain, asked, BEFORE),
        ]
        rest = parts.sections_html(plain, asked, later)
        yield [*first, WAIT, rest, ""]
        try:
            embedded = self._embed(runs)
        except Exception as error:  # the other sections stand; this one says what is wrong
            log.exception("texts of runs cannot be embedded")
            yield [gr.skip(), gr.skip(), gr.skip(), error_html(f"Texts cannot be embedded: {error}"), gr.skip(), parts.files_html(plain)]
            return
        whole = plain.model_copy(
            update={
                "encoder": embedded.encoder,
                "sections": tuple(sorted((*plain.sections, *embedded.sections), key=lambda s: KEYS.index(s.key))),
            }
        )
        opened = self._opened(embedded, asked, known) or gr.skip()
        yield [gr.skip(), opened, gr.skip(), parts.sections_html(embedded, asked, EMBEDDED), gr.skip(), parts.files_html(whole)]

    def _opened(self, analysis: Analysis, asked: parts.Asked, known: Mapping[str, RunInfo]) -> str:
        opened = analysis.behind(asked.open) if asked.open else None
        return parts.opened_html(opened, known, asked) if opened is not None and opened.runs else ""

    def _evaluations(self) -> list[str]:
        runs, _ = self._ctx.store.list_runs(origin="batch", limit=KNOWN_EVALUATIONS)
        return list(dict.fromkeys(r.request.evaluation.id for r in runs if r.request.evaluation is not None))

    def _read(self, info: RunInfo) -> RunFacts:
        key = (info.id, info.ended)
        with self._lock:
            if key in self._facts:
                return self._facts[key]
        facts = run_facts(info, self._ctx.store.events(info.id))
        with self._lock:
            if len(self._facts) >= KEPT_FACTS:
                self._facts.clear()
            self._facts[key] = facts
        return facts

    def _embed(self, runs: Sequence[RunFacts]) -> Analysis:
        retriever = self._ctx.workbench.retriever
        with self._embedding:  # one page at a time fills the vectors
            if self._vectors is None:
                self._vectors = Vectors(getattr(retriever, "encoder", None) or encoder_of(self._ctx.settings.retriever))
            return analyse(runs, self._vectors, more_gold=self._gold(runs), only=EMBEDDED)

    def _gold(self, runs: Sequence[RunFacts]) -> dict[tuple[str, str], str]:
        """Gold passages of the app's own corpus that no run found."""
        retriever = self._ctx.workbench.retriever
        corpus = str(retriever.identity().get("corpus", "")) if retriever is not None else ""
        missing = {i for r in runs if corpus and r.corpus == corpus for i in r.gold if i not in r.gold_texts}
        return {(corpus, p.id): contents(p) for p in self._ctx.workbench.passages(sorted(missing))}
