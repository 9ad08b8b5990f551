"""The list of runs, and the life of the app around it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
import yaml
from playwright.sync_api import Page, expect

from tests.e2e.conftest import ROOT, App, end, launch, slow_script
from tests.e2e.helpers import ask, run_ids, wait_end


def test_an_empty_store_says_what_to_do(start_app: Callable[..., App], page: Page) -> None:
    fresh = start_app()
    page.goto(f"{fresh.url}/runs?origin=live")
    expect(page.locator(".empty")).to_contain_text("No run fits")
    page.goto(f"{fresh.url}/runs?origin=batch&search=zz")
    expect(page.locator(".empty a")).to_have_attribute("href", "./runs")


def test_find_open_and_compare(app: App, page: Page) -> None:
    for question in ("Who composed Rusalka?", "Who composed Aida?"):
        page.goto(app.url)
        ask(page, question)
        wait_end(page)
    page.goto(f"{app.url}/runs")
    page.get_by_label("Search").fill("rusalka")
    page.get_by_label("Search").press("Enter")
    expect(page.locator("table.runs tbody tr")).to_have_count(1)
    assert "search=rusalka" in page.url
    page.locator("td.q a").click()
    wait_end(page)
    page.goto(f"{app.url}/runs?search=composed")
    expect(page.locator("input[name=tick]")).to_have_count(2)
    for tick in page.locator("input[name=tick]").all():
        tick.check()
    page.locator("a.go").click()
    wait_end(page, 2)


def test_filters_take_no_nonsense(app_url: str, page: Page) -> None:
    page.goto(f"{app_url}/runs?method=<b>&status=x&page=-1&origin=%00")
    expect(page.locator("form.filters")).to_be_visible()


def test_a_run_that_the_app_left_behind_is_continued(tmp_path_factory: pytest.TempPathFactory, page: Page) -> None:
    folder = tmp_path_factory.mktemp("left")
    (folder / "script.yaml").write_text(yaml.safe_dump(slow_script(0.5)))
    flag = f"engine.script={folder / 'script.yaml'}"
    first = launch(folder, flag)
    page.goto(first.url)
    ask(page)
    expect(page.locator("#ts-board .cell")).to_have_count(2)
    (run_id,) = run_ids(page)
    assert end(first) == 0
    expect(page.locator(".note-line")).to_contain_text("connection to the app is lost")
    second = launch(folder, flag)
    page.goto(f"{second.url}/runs?status=interrupted")
    expect(page.locator("table.runs .tag")).to_contain_text("can be continued")
    page.goto(f"{second.url}/?run={run_id}")
    wait_end(page, state="interrupted")
    page.locator("[data-do=resume]").click()
    wait_end(page)
    expect(page.locator(".ans")).to_contain_text("Budapest")
    end(second)


@pytest.mark.parametrize("flags", [["--profile", "nosuch"], ["--set", "engine.totl_s=3"], ["--set", "store_url=sqlite:////proc/nowhere/x.db"]])
def test_a_start_that_cannot_be_is_explained(flags: list[str], tmp_path: object) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("TRIOSCOPE")}
    ran = subprocess.run(
        [sys.executable, "app.py", "--set", f"data_dir={tmp_path}", *flags], cwd=ROOT, env=env, capture_output=True, text=True, timeout=100, check=False
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith("trioscope: ") and "Traceback" not in ran.stderr
