"""From pressing Run to the first event in the page, in a real Chromium against a running app (embedded profile by default)."""

from __future__ import annotations

import argparse
import time

from tests.benchmarks.common import demo_questions, median, table, write_report
from trio_core.settings import load_settings

TARGET_S = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags."""
    parser.add_argument("--url", default="http://127.0.0.1:7860")
    parser.add_argument("--limit", type=int, default=5)


def main(args: argparse.Namespace) -> None:
    """Presses Run n times; each run is stopped once its first round is on the page."""
    from playwright.sync_api import sync_playwright

    from tests.e2e.conftest import CHROMIUM, FLAGS

    seconds = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for question in demo_questions(args.limit):
            page = browser.new_page()
            page.goto(args.url)
            box = page.locator("#ts-question textarea")
            box.wait_for()
            page.wait_for_timeout(1500)
            box.fill(question.question)
            began = time.monotonic()
            page.locator("#ts-run").click()
            page.locator("#ts-board .board > *").first.wait_for(timeout=60_000)
            seconds.append(time.monotonic() - began)
            page.locator("#ts-stop").click()
            page.wait_for_timeout(3000)
            page.close()
        browser.close()
    body = table(["n", "median s", "worst s", "target s"], [[len(seconds), f"{median(seconds):.2f}", f"{max(seconds):.2f}", f"{TARGET_S:g}"]])
    write_report("first_event", "From Run to the first event on the page", body, {"seconds": seconds}, load_settings("embedded", env={}))
