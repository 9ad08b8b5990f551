"""What the Evaluate page shows: parts of HTML of which a browser gets those that it does not have, files, and acts on one evaluation."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable
from typing import Any, NamedTuple

import gradio as gr
from pydantic import ValidationError

from trio_core.errors import InputError, TrioscopeError
from trio_core.evaluation.differences import Chosen, differences
from trio_core.evaluation.places import shown
from trio_core.evaluation.report import ROWS
from trio_core.evaluation.report_tables import tables
from trio_core.evaluation.service import Standing
from trio_core.evaluation.summary import COSTS, METRICS, Summary
from trio_core.evaluation.tables import comma_separated, latex, markdown
from ui.context import UiContext
from ui.render.evaluate import head_html, list_html
from ui.render.evaluate_plots import plots_html
from ui.render.evaluate_runs import differences_html, matrix_html, runs_html
from ui.render.evaluate_tables import tables_html

FORMS: dict[str, Callable[..., str]] = {"csv": comma_separated, "md": markdown, "tex": latex}
MOST_BYTES = 64 << 20


class Look(NamedTuple):
    """What a browser shows: an evaluation or the list, what is chosen in it, and the hashes of its parts."""

    id: str
    metric: str
    cost: str
    pair: tuple[str, str]
    chosen: Chosen
    pages: tuple[int, int]
    """Of the pair's questions, of the runs."""
    known: dict[str, str]


def read_look(data: object) -> Look:
    """Checks what the page's script sent; what is unknown falls back. Raises InputError for a choice that cannot be."""
    body = data if isinstance(data, dict) else {}

    def page(name: str) -> int:
        number = body.get(name)
        return number if isinstance(number, int) and 0 < number < 100_000 else 1

    metric, cost = (body.get(n) for n in ("metric", "cost"))
    known, chosen = (v if isinstance(v, dict) else {} for v in (body.get("known"), body.get("chosen")))
    try:
        wanted = Chosen.model_validate(chosen)
    except ValidationError as error:
        raise InputError("the address holds a choice that cannot be; open the evaluation from the list") from error
    return Look(str(body.get("id") or ""), metric if metric in METRICS else "em", cost if cost in COSTS else "calls",
                (str(body.get("first") or ""), str(body.get("second") or "")), wanted, (page("pairPage"), page("runsPage")),
                {str(k): str(v) for k, v in known.items()})


class EvaluateView:
    """Answers the page's script; acts find out who asks."""

    def __init__(self, ctx: UiContext) -> None:
        self._ctx = ctx

    async def look(self, data: Any) -> dict[str, Any]:
        """The parts that differ from what the browser has."""
        try:
            return await asyncio.to_thread(self._look, read_look(data))
        except TrioscopeError as error:
            return {"error": str(error)}

    async def file(self, data: Any) -> dict[str, Any]:
        """A table, all of them, or the rows, as text with a file name."""
        try:
            return await asyncio.to_thread(self._file, data if isinstance(data, dict) else {})
        except TrioscopeError as error:
            return {"error": str(error)}

    def halt(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """Stops an evaluation; what is done stays done."""
        return self._act(request, lambda name: self._ctx.evaluations.stop(name), event)

    def proceed(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """Goes on with an evaluation."""
        return self._act(request, lambda name: self._ctx.evaluations.go_on(name), event)

    def retry(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """Goes on and runs failed questions again."""
        return self._act(request, lambda name: self._ctx.evaluations.go_on(name, retry_failed=True), event)

    def _act(self, request: gr.Request, work: Callable[[str], None], event: gr.EventData) -> dict[str, Any]:
        try:
            self._ctx.who(request)
            work(str((event._data or {}).get("id") or ""))
        except TrioscopeError as error:
            gr.Warning(str(error), title="Not done")
        return {"serial": secrets.token_hex(4)}

    def _look(self, look: Look) -> dict[str, Any]:
        if not look.id:
            standings = self._ctx.evaluations.standings()
            return self._answer(look, {"list": list_html(standings, self._names(standings))}, any(s.active for s in standings))
        standing = self._ctx.evaluations.standing(look.id)
        return self._answer(look, self._parts(standing, look), standing.active)

    def _parts(self, s: Standing, look: Look) -> dict[str, str]:
        results, labels = self._ctx.evaluations.results, _labels(s)
        command = s.order.command(self._ctx.evaluations.folder(s.id), self._ctx.settings.profile) if s.order else ""
        parts = {"head": head_html(s, results.spent(s.id), self._names([s]), command)}
        rows = results.rows(s.id, labels)
        if not rows:
            return parts
        summary = self._summary(s, look.metric)
        known = [m for m in METRICS if any(m in e.micro for e in summary.entrants)]
        fitting = [r for r in rows if look.chosen.fits(r)]
        failed = sum(not r.finished for r in rows)
        parts |= {
            "plots": plots_html(summary, known, look.cost), "matrix": matrix_html(summary, *look.pair),
            "runs": runs_html(fitting, failed, len(rows), look.chosen, summary.metric, look.pages[1]),
            "tables": tables_html(tables(summary), [e.label for e in summary.entrants]),
        }
        if set(look.pair) <= {e.label for e in summary.entrants}:
            parts["pair"] = differences_html(differences(rows, *look.pair, summary.metric), *look.pair, look.pages[0])
        return parts

    def _summary(self, s: Standing, metric: str) -> Summary:
        return self._ctx.evaluations.results.summary(s.id, metric, _labels(s), s.order.wish.seed if s.order else 0)

    def _answer(self, look: Look, parts: dict[str, str], active: bool) -> dict[str, Any]:
        hashes = {name: hashlib.blake2b(html.encode("utf-8", "replace"), digest_size=8).hexdigest() for name, html in parts.items()}
        changed = {name: html for name, html in parts.items() if look.known.get(name) != hashes[name]}
        return {"parts": changed, "hashes": hashes, "active": active}

    def _names(self, standings: list[Standing]) -> dict[str, str]:
        orders = [s.order for s in standings if s.order]
        return {path: shown(path, self._ctx.settings) for o in orders for path in (o.wish.dataset, o.corpus) if path}

    def _file(self, body: dict[str, Any]) -> dict[str, Any]:
        look = read_look(body)
        standing = self._ctx.evaluations.standing(look.id)
        form, title = str(body.get("form") or ""), str(body.get("table") or "")
        if form == "jsonl":
            path = self._ctx.evaluations.folder(look.id) / ROWS
            if not path.exists() or path.stat().st_size > MOST_BYTES:
                raise InputError(f"the rows are too many to download here; they lie in {path}" if path.exists() else "there are no rows yet")
            return {"name": f"{look.id}-rows.jsonl", "text": path.read_text(encoding="utf-8")}
        if form not in FORMS:
            raise InputError(f"{form!r} is no form of a file; known are {', '.join(FORMS)} and jsonl")
        found = [t for t in tables(self._summary(standing, look.metric)) if not title or t.title == title]
        if not found:
            raise InputError(f"table {title!r} does not exist any more; reload the page")
        ending = "".join(c if c.isalnum() else "-" for c in title.lower()).strip("-")[:60] or "tables"
        return {"name": f"{look.id}-{ending}.{form}", "text": "\n".join(FORMS[form](t) for t in found)}


def _labels(s: Standing) -> tuple[str, ...]:
    return s.order.wish.methods if s.order else ()
