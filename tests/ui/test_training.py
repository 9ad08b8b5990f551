"""The Training page's HTML: text is never markup, and whatever a report holds, words come of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.training.pipeline.folder import make_run
from tests.ui.judging_helpers import EVIL
from tests.ui.test_escaping import TAGS, Reader
from training.footprint import Folder, Footprint, Sizes, Slots
from training.pipeline.browse import Curve, open_run
from training.pipeline.data import files_of, read_data
from ui.pages.training import read_asked, shown
from ui.render.training import Asked, footprint_html, list_html, manifest_html, run_html, step_html
from ui.render.training_plot import plots_html
from ui.render.training_rows import rows_html
from ui.render.training_words import TITLES, doubts, left_out, made

JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=4), max_leaves=8)
KEYS = st.sampled_from(("ends", "malformed", "stage1", "stage2", "outputs", "moved", "trained", "shared", "separate", "merged", "disk", "answer", "easy"))
PAGE_TAGS = TAGS | {"q", "h1", "h5", "nav", "svg", "g", "line", "text", "polyline", "circle", "figure", "figcaption", "pre"}


@given(st.sampled_from(list(TITLES)), st.dictionaries(KEYS, JSON, max_size=8) | JSON)
def test_any_report_gives_words(step: str, report: Any) -> None:
    assert all(isinstance(text, str) for text in (*made(step, report), *left_out(step, report), *doubts(step, report)))


def test_what_was_left_out_is_counted_with_its_reason() -> None:
    assert left_out("query", {"too_long": 2, "outputs": {"valid": 5, "too_long": 3}}) == [
        "2 too long for the prompt limit", "3 invalid query: too long"]
    assert left_out("judge", {"mixed": 1234, "too_long": 0}) == ["1,234 mixed: some sampled answers right, some wrong"]


@pytest.mark.parametrize(("moved", "frozen", "words"), [(28, True, []), (27, True, ["27 of 28 adapter tensors moved"]),
                                                        (28, False, ["28 of 28 adapter tensors moved; frozen parameters changed"])])
def test_a_training_that_moved_the_wrong_parameters_is_told(moved: int, frozen: bool, words: list[str]) -> None:
    assert doubts("query", {"moved": moved, "trained": 28, "frozen_same": frozen}) == words


@pytest.mark.parametrize("text", [EVIL, "\"'><b onclick=x>\u2028\r\n" + EVIL, "\ufffd\x00 | " + EVIL])
def test_no_text_becomes_markup(text: str, tmp_path: Path) -> None:
    make_run(tmp_path / "run", text)
    run = open_run(tmp_path, "run")
    pieces = [list_html([run], [text], text), run_html(run, Asked("run"))]
    for step in run.steps:
        pieces.append(step_html(step, Asked("run", step.name, text), shown(run, Asked("run", step.name))))
        pieces += [manifest_html(step.manifest)] if step.manifest else []
        for file in files_of(run, step.name):
            data = read_data(run, step.name, file, 1)
            assert data.rows and not any(row.problem for row in data.rows)
            pieces.append(rows_html(data))
    for html in pieces:
        reader = Reader()
        reader.feed(html)
        assert "<img" not in html and reader.tags <= PAGE_TAGS
        assert not [name for name, _ in reader.attributes if name.startswith("on")]


def test_both_ways_of_serving_stand_side_by_side() -> None:
    folder = Folder(name=EVIL, path="x", parameters=1_500_000, disk=3_000_000, weights=3_000_000, rank=8)
    html = footprint_html(Footprint(dtype="bfloat16", base=folder, adapters=(folder,), slots=Slots(loras=1, rank=8, bytes=16_000),
                                    shared=Sizes(disk=3_100_000, memory=3_016_000), separate=Sizes(disk=9_000_000, memory=9_000_000)))
    assert "<img" not in html and "3.02 MB" in html and "9 MB" in html and "1 slot of rank 8" in html


@pytest.mark.parametrize("points", [[], [(1, 0.0)], [(1, 0.5), (2, 0.5)], [(1, -2.0), (900, 1e9)]])
def test_plots_of_odd_curves(points: list[tuple[int, float]]) -> None:
    html = plots_html(Curve(tuple((step, {"reward": y}) for step, y in points), len(points), 1))
    assert ("nan" not in html) and ("Mean reward" in html) == bool(points)


@pytest.mark.parametrize("page", ["", "0", "-1", "x", "1" * 50, "١"])
def test_an_address_that_cannot_be_falls_back(page: str) -> None:
    assert read_asked({"page": page, "run": "r" * 1000}).page in (0, 1) and len(read_asked({"run": "r" * 1000}).run) == 400
