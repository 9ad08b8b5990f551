"""What the browser tests do again and again."""

from __future__ import annotations

from urllib.parse import parse_qs, urlparse

from playwright.sync_api import Page, expect

QUESTION = "In which city was the director of the film Casablanca born?"
BOX = "#ts-question textarea"


def ask(page: Page, question: str = QUESTION) -> None:
    """Types a question and presses Enter."""
    page.locator(BOX).fill(question)
    page.locator(BOX).press("Enter")


def run_ids(page: Page) -> list[str]:
    """The runs in the page's address."""
    query = parse_qs(urlparse(page.url).query)
    return [i for value in (query.get("run") or query.get("runs") or []) for i in value.split(",")]


def wait_end(page: Page, runs: int = 1, state: str = "finished") -> None:
    """Waits until so many columns stand in this state."""
    expect(page.locator(f"#ts-board .state.{state}")).to_have_count(runs, timeout=90_000)


def no_sideways_scroll(page: Page) -> bool:
    """True where the page is no wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"))
