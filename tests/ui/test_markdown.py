"""The markdown of the guidelines: what it knows, and that nothing else gets through."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui.judging_helpers import EVIL
from ui.render.markdown import markdown_html

ALLOWED = re.compile(r"</?(?:h[2-4]|p|ul|ol|li|b|em|code)>")


@pytest.mark.parametrize(("text", "html"), [
    ("one\ntwo\n\nthree", "<p>one two</p><p>three</p>"), ("# A\ntext", "<h2>A</h2><p>text</p>"), ("#### D", "<h4>D</h4>"),
    ("text\n- a\n- b\n  more", "<p>text</p><ul><li>a</li><li>b more</li></ul>"), ("1. a\n2) b", "<ol><li>a</li><li>b</li></ol>"),
    ("**bold** and *em* and `a*b*c`", "<p><b>bold</b> and <em>em</em> and <code>a*b*c</code></p>"),
    ("2 * 3 * 4 and snake*case*x", "<p>2 * 3 * 4 and snake*case*x</p>"), ("#no heading", "<p>#no heading</p>"),
    ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>"), ("**a <b> `c`**", "<p>**a &lt;b&gt; <code>c</code>**</p>"), ("", "")])
def test_what_is_known(text: str, html: str) -> None:
    assert markdown_html(text) == html


def test_markup_is_text() -> None:
    html = markdown_html(f"# {EVIL}\n\n- {EVIL}\n\n**{EVIL}** `{EVIL}`")
    assert "<" not in ALLOWED.sub("", html) and "&lt;img" in html


@given(st.text(alphabet="ab *`#-1.<>&\"'\n\\_[]()"))
def test_only_known_tags_come_out(text: str) -> None:
    assert not set("<>\"'") & set(ALLOWED.sub("", markdown_html(text)))
