"""axe finds no serious fault on Annotate, its Agreement page, Judge, Analysis, Evaluate and Training, in both themes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from storage.values import LabelInput
from tests.analysis.helpers import fill as fill_runs
from tests.e2e.judging_app import App, serve
from tests.evaluation.helpers import row
from tests.training.pipeline.folder import make_run
from tests.ui.judging_helpers import fill
from trio_core.evaluation.order import Order, write_order
from trio_core.evaluation.report import ROWS
from trio_core.evaluation.rows import RowFile
from trio_core.evaluation.wish import Wish


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder: Path = tmp_path_factory.mktemp("access")
    with serve(folder, flags=("retriever.encoder=hashed-words",)) as running:
        fill(running.store, 4)
        fill_runs(running.store)
        for who, value in (("ann", "sufficient"), ("me", "insufficient")):
            running.store.add_label(LabelInput.model_validate({
                "item_id": 1, "annotator": who, "value": value, "client_uuid": f"form-of-{who}", "note": "why", "reason": "other"}))
        evaluation(folder / "evaluations" / "eval-1")
        make_run(folder / "run")
        yield running


def evaluation(folder: Path) -> None:
    """One with a difference, rounds, hops, recall and a failed run."""
    write_order(folder, Order(wish=Wish(dataset="demo", methods=("trio", "maps")), created=datetime.now(UTC), by="ann", questions=2))
    with closing(RowFile(folder / ROWS)) as file:
        for method, ems in (("trio", (1.0, 0.0)), ("maps", (0.0, 0.0))):
            for n, em in enumerate(ems):
                file.append(row(method, f"q{n}", em=em, run_id=f"{method}{n}", rounds=1 + n, hops=2, type="bridge", recall=(0.5, 1.0), answer="Delft"))
        file.append(row("maps", "q2", em=0.0, run_id="gone", status="failed", reason="EngineTimeout: no token for 30 s"))


def faults(page: Page) -> list[dict[str, Any]]:
    """Serious and critical findings, short enough to read."""
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [{"rule": v["id"], "help": v["help"], "where": [f"{n['target']} {n['failureSummary'][:200]}" for n in v["nodes"][:4]]}
            for v in found["violations"] if v["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("path", "ready"), [
    ("annotate", ".an[data-state=item]"), ("annotate?item=1", ".an[data-state=reviewing] .an-reveal"), ("agreement", ".ag-card"),
    ("agreement?item=1", ".ag-history"), ("judge", ".jd-figures b"), ("analysis", "#al-momentum .al-table"), ("", "[data-pick]"), ("evaluate", ".ev .runs a"),
    ("evaluate?id=eval-1&first=trio&second=maps", "[data-part=pair] li"), ("training", "#ts-training .runs"),
    ("training?run=run&step=debate", ".tr-row"), ("training?run=run&step=answer", ".tr-plots"), ("training?run=run&step=judge", ".tr-vote")])
def test_no_serious_fault(app: App, new_page: Callable[..., Page], path: str, ready: str, theme: str) -> None:
    page = new_page(color_scheme=theme)
    page.goto(f"{app.url}/{path}")
    page.wait_for_selector(ready)
    if path == "annotate":
        page.keyboard.press("g")
        page.locator(".an-queue > summary").click()
    page.evaluate("document.querySelectorAll('#ts-training details').forEach((d) => { d.open = true; })")
    page.wait_for_timeout(300)
    found = faults(page)
    assert not found, json.dumps(found, indent=1)
