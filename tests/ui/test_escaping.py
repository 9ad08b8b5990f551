"""Whatever stands in a question, a passage or a model's output: it is shown, never obeyed."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui.traces import failed, finished, info, label
from trio_core.demo import DemoQuestion
from trio_core.live_run import LiveText
from trio_core.settings import Settings
from trio_core.workbench import Status
from ui.render.base import esc
from ui.render.fix import fix_html
from ui.render.progress import live_html, rows_html
from ui.render.round import round_html
from ui.render.runs import Filter, found_html, runs_html
from ui.render.start import start_html
from ui.render.status import status_html
from ui.render.summary import Standing, summary_html

EVIL = '<evil onerror="x">'
_OURS = """
section div h2 h3 h4 p span b i u em ol ul li details summary pre a button input table thead tbody tr th td time label form select option dl
dt dd
"""
TAGS = frozenset(_OURS.split())


class Reader(HTMLParser):
    """Collects tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(text: str) -> Iterator[str]:
    """Everything that the pages can show of this text."""
    for trace in (finished(text), failed(text)):
        yield summary_html(trace, Standing(info(text), text, "failed", fault=text, step=text))
        yield round_html(trace, trace.rounds[0], "run1")
    yield live_html(finished(text), LiveText(1, text, text), "running")
    yield rows_html(1, [(text, finished(text).rounds[0]), (text, None)])
    yield fix_html("run1", 1, [label(text)], label(text).annotator)
    yield runs_html([info(text)], 80, Filter(search=text, dataset=text))
    yield found_html([info(text)], 3)
    question = DemoQuestion(id=text, question=text, answers=(text,), type=text, hops=())
    yield start_html([question], [info(text)], [info(text)])
    for state in ("failed", "starting", "ready"):
        yield status_html(Status(state=state, message=text, judge=text, notices=(text,)), Settings())  # type: ignore[arg-type]


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_becomes_markup(before: str, after: str) -> None:
    text = before + EVIL + '"\'>' + after
    for html in rendered(text):
        reader = Reader()
        reader.feed(html)
        assert "<evil" not in html
        assert reader.tags <= TAGS
        assert not [name for name, _ in reader.attributes if name.startswith("on") or name == "srcdoc"]


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "[x](javascript:alert(1))", "a < b && c > d", "$5 and $6", "{{value}} ${value}"])
def test_text_is_shown_to_the_letter(text: str) -> None:
    trace = finished(text)
    reader = Reader()
    reader.feed(round_html(trace, trace.rounds[0], "run1"))
    assert text in reader.text
    links = [value for name, value in reader.attributes if name in ("href", "src", "action", "formaction")]
    assert not [value for value in links if "javascript" in value]


def test_characters_that_no_page_can_carry_are_replaced() -> None:
    assert esc("a\x00b\ud800c") == "a\ufffdb\ufffdc"
    esc("a\ud800").encode()
