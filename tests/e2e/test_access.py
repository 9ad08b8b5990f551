"""axe finds no serious fault on Annotate, its Agreement page and Judge, in both themes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from storage.values import LabelInput
from tests.e2e.judging_app import App, serve
from tests.ui.judging_helpers import fill


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder: Path = tmp_path_factory.mktemp("access")
    with serve(folder) as running:
        fill(running.store, 4)
        for who, value in (("ann", "sufficient"), ("me", "insufficient")):
            running.store.add_label(LabelInput.model_validate({
                "item_id": 1, "annotator": who, "value": value, "client_uuid": f"form-of-{who}", "note": "why", "reason": "other"}))
        yield running


def faults(page: Page) -> list[dict[str, Any]]:
    """Serious and critical findings, short enough to read."""
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [{"rule": v["id"], "help": v["help"], "where": [f"{n['target']} {n['failureSummary'][:200]}" for n in v["nodes"][:4]]}
            for v in found["violations"] if v["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("path", "ready"), [
    ("annotate", ".an[data-state=item]"), ("annotate?item=1", ".an[data-state=reviewing] .an-reveal"), ("agreement", ".ag-card"),
    ("agreement?item=1", ".ag-history"), ("judge", ".jd-figures b"), ("", "[data-pick]")])
def test_no_serious_fault(app: App, new_page: Callable[..., Page], path: str, ready: str, theme: str) -> None:
    page = new_page(color_scheme=theme)
    page.goto(f"{app.url}/{path}")
    page.wait_for_selector(ready)
    if path == "annotate":
        page.keyboard.press("g")
        page.locator(".an-queue > summary").click()
    page.wait_for_timeout(300)
    found = faults(page)
    assert not found, json.dumps(found, indent=1)
