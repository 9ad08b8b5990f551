"""The Evaluate page's form, its answers to the script, its HTML and the files that it hands out."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.helpers import row
from tests.ui.judging_helpers import EVIL
from tests.ui.test_escaping import TAGS, Reader
from trio_core.errors import InputError
from trio_core.evaluation.differences import Chosen, differences
from trio_core.evaluation.order import Order, write_order
from trio_core.evaluation.report import ROWS
from trio_core.evaluation.report_tables import tables
from trio_core.evaluation.results import Spent
from trio_core.evaluation.rows import RowFile
from trio_core.evaluation.service import EvaluationService, Standing
from trio_core.evaluation.summary import summarize
from trio_core.evaluation.values import Progress, Row
from trio_core.evaluation.wish import Wish
from trio_core.settings import Settings
from ui.pages.evaluate import label, order_of, variant_lines
from ui.pages.evaluate_view import EvaluateView, read_look
from ui.render.evaluate import head_html, list_html
from ui.render.evaluate_plots import colour_of, nice, plots_html
from ui.render.evaluate_runs import differences_html, matrix_html, runs_html
from ui.render.evaluate_tables import tables_html

FIELDS = ("demo", "", 20, False, 0, 1, 2)


def test_the_form_as_an_order() -> None:
    order = order_of(["trio", "trio", "maps"], ("demo", None, None, True, 3.0, 2, 4), "ann")
    assert order.wish == Wish(dataset="demo", methods=("trio", "maps"), limit=None, sample=True, seed=3, repeats=2)
    assert (order.corpus, order.concurrency, order.by, order.total) == ("", 4, "ann", 0)
    for fields, said in ((("demo", "", 0, False, 0, 1, 2), "questions: .*greater"), (("demo", "", 2, False, 0, 1, 0), "runs at once"),
                         (("demo", "", 2, False, 0, None, 1), "repeats")):
        with pytest.raises(InputError, match=said):
            order_of(["trio"], fields, "ann")
    with pytest.raises(InputError, match="no method"):
        order_of([], FIELDS, "ann")


def test_settings_and_variants_become_labels() -> None:
    assert label("trio", {}) == "trio" and label("trio", {"judge_initial": False, "top_k": 3}) == "trio:judge_initial=false:top_k=3"
    with pytest.raises(InputError, match="colon"):
        label("trio", {"preset": "a:b"})
    assert variant_lines(" trio:top_k=1 \n\n maps") == ["trio:top_k=1", "maps"] and variant_lines(None) == []
    with pytest.raises(InputError, match="too many"):
        variant_lines("trio\n" * 41)


def test_what_a_script_sends_is_checked() -> None:
    look = read_look({"id": "e", "metric": "nonsense", "cost": 3, "chosen": {"label": "trio"}, "pairPage": -1, "runsPage": 2, "known": [1]})
    assert (look.metric, look.cost, look.pages, look.chosen, look.known) == ("em", "calls", (1, 2), Chosen(label="trio"), {})
    assert read_look("x").id == ""
    with pytest.raises(InputError):
        read_look({"chosen": {"rounds": "many"}})


def some_rows(text: str = "trio", other: str = "maps") -> list[Row]:
    def made(label: str, question: str, em: float, **more: Any) -> Row:
        made = row(label, question, em=em, **{"answer": text, "rounds": 1, "recall": (0.5, 1.0), "hops": 2, "type": text, **more})
        return made.model_copy(update={"question": text, "answers": (text,)})
    return [made(text, "q1", 1.0, run_id="run-a"), made(other, "q1", 0.0, run_id="run-b"), made(text, "q2", 0.0, rounds=3), made(other, "q2", 1.0),
            made(text, text, 0.0, status="failed", reason=text, run_id=""), made(other, text, 0.0, calls=1200)]


def every_part(text: str) -> list[str]:
    rows = some_rows(text)
    s = summarize(rows, draws=20)
    order = Order(wish=Wish(dataset=text, methods=(text,)), corpus=text, by=text, created=datetime.now(UTC), data=text, evidence=text, error=text)
    states = [Standing(id="eval-1", state=state, order=order, progress=Progress(total=4, done=2, failed=1, seconds=3, last=text), message=text)  # type: ignore[arg-type]
              for state in ("running", "failed", "done")]
    return [
        list_html(states, {}), *(head_html(s, Spent(runs=2), {text: text}, text) for s in states), plots_html(s, ["em"], "calls"), matrix_html(s, text, "maps"),
        differences_html(differences(rows, text, "maps", "em"), text, "maps", 1), runs_html(rows, 1, 6, Chosen(label=text, type=text), "em", 1),
        tables_html(tables(s), [text, "maps"]),
    ]


@pytest.mark.parametrize("text", [EVIL, "a < b", "${7*7} {{value}}"])
def test_text_stays_text(text: str) -> None:
    ours = TAGS | {"svg", "g", "path", "circle", "text", "title", "figure", "figcaption", "i", "small", "ol"}
    for html in every_part(text):
        reader = Reader()
        reader.feed(html)
        assert reader.tags <= ours, reader.tags - ours
        assert not [name for name, _ in reader.attributes if name.startswith("on")]
        assert text.split()[0] in reader.text or text in [v for _, v in reader.attributes]


def test_every_figure_opens_runs() -> None:
    rows = some_rows()
    s = summarize(rows, draws=20)
    reader = Reader()
    reader.feed(plots_html(s, ["em", "f1"], "calls"))
    chosen = [json.loads(value) for name, value in reader.attributes if name == "data-chosen"]
    assert {"label": "trio", "rounds": 3} in chosen and {"label": "maps", "hops": 2} in chosen and {"label": "trio", "type": "trio"} in chosen
    assert all(any(Chosen(**c).fits(r) for r in rows) for c in chosen)
    html = differences_html(differences(rows, "trio", "maps", "em"), "trio", "maps", 1)
    assert 'href="./?run=run-a"' in html and 'href="./compare?runs=run-a,run-b"' in html and "1 better, 1 worse" in html
    assert "failed" in runs_html([rows[4]], 1, 6, Chosen(failed=True), "em", 1)


def test_axes_and_colours() -> None:
    assert [nice(v) for v in (0, 0.3, 1, 1.01, 37, 4100)] == [1, 0.4, 1, 2, 40, 6000]
    assert colour_of("trio") == colour_of("trio:max_extensions=1") != colour_of("maps")


class _Workplace:
    """As much of the app's context as the view needs."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(data_dir=folder)
        self.evaluations = EvaluationService(self.settings, None, None)  # type: ignore[arg-type]

    def who(self, request: Any) -> str:
        raise InputError("nobody is logged in; log in again")


@pytest.fixture
def workplace(tmp_path: Path) -> _Workplace:
    folder = tmp_path / "evaluations" / "eval-1"
    write_order(folder, Order(wish=Wish(dataset="demo", methods=("trio", "maps")), created=datetime.now(UTC), questions=3))
    with closing(RowFile(folder / ROWS)) as file:
        for r in some_rows():
            file.append(r)
    return _Workplace(tmp_path)


async def test_a_browser_gets_only_what_it_does_not_have(workplace: _Workplace) -> None:
    view = EvaluateView(workplace)  # type: ignore[arg-type]
    first = await view.look({"id": "eval-1", "first": "trio", "second": "maps"})
    assert set(first["parts"]) == set(first["hashes"]) == {"head", "plots", "matrix", "pair", "runs", "tables"} and not first["active"]
    again = await view.look({"id": "eval-1", "known": first["hashes"]})
    assert set(again["hashes"]) == set(first["hashes"]) - {"pair"} and set(again["parts"]) == {"matrix"}  # its chosen cell is free again
    assert "eval-1" in (await view.look({}))["parts"]["list"] and "does not exist" in (await view.look({"id": "../x"}))["error"]


@pytest.mark.parametrize(("form", "fits"), [
    ("csv", lambda t: t.startswith("method,runs,failed,EM")), ("md", lambda t: t.startswith("## Answers")), ("tex", lambda t: r"\toprule" in t),
    ("jsonl", lambda t: len(t.splitlines()) == 6), ("exe", None),
])
async def test_files(workplace: _Workplace, form: str, fits: Callable[[str], bool] | None) -> None:
    got = await EvaluateView(workplace).file({"id": "eval-1", "form": form, "table": "" if form == "jsonl" else "Answers"})  # type: ignore[arg-type]
    assert "no form of a file" in got["error"] if fits is None else fits(got["text"]) and got["name"].startswith("eval-1-")


def test_who_is_unknown_changes_nothing(workplace: _Workplace) -> None:
    class Event:
        _data = {"id": "eval-1"}
    workplace.evaluations.go_on = lambda *_, **__: pytest.fail("worked for nobody")  # type: ignore[method-assign]
    EvaluateView(workplace).proceed(Event(), None)  # type: ignore[arg-type]
