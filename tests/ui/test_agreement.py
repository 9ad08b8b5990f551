"""The Agreement page without a browser: what is shown to whom, and who may decide."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from storage import Store, open_store
from storage.agreement import agreement
from storage.values import LabelInput
from tests.core.test_accounts import HASH
from tests.ui.judging_helpers import EVIL, fill, judge_item, judged
from trio_core.accounts import Account, save_accounts
from trio_core.settings import load_settings
from ui.context import UiContext
from ui.pages.agreement import _Agreement
from ui.pages.annotate import _Annotate
from ui.render.agreement import agreement_html, people_html


@pytest.fixture
def ctx(tmp_path: Path) -> Iterator[UiContext]:
    save_accounts(tmp_path / "a.yaml", {"boss": Account(role="admin", password=HASH), "ann": Account(), "ben": Account(), "eve": Account()})
    settings = load_settings("scripted", env={}, flags=[f"data_dir={tmp_path}", f"server.accounts={tmp_path / 'a.yaml'}"])
    store = open_store(settings.database_url)
    yield UiContext(settings, store, None, None)  # type: ignore[arg-type]
    store.close()


def asked(who: str | None, **query: str) -> gr.Request:
    return gr.Request(username=who, query_params=query, cookies={})


def sent(**data: Any) -> Any:
    return SimpleNamespace(_data={"uuid": uuid.uuid4().hex, "note": "", **data})


def give(store: Store, item_id: int, who: str, value: str, note: str = "", reason: str = "") -> None:
    store.add_label(LabelInput.model_validate({
        "item_id": item_id, "annotator": who, "value": value, "client_uuid": uuid.uuid4().hex, "note": note, "reason": reason}))


def disputed(store: Store) -> int:
    item_id = judged(store, judge_item("Disputed?"), 0.7)
    give(store, item_id, "ann", "sufficient", "it says so")
    give(store, item_id, "ben", "insufficient", "it does not", "missing link")
    return item_id


def test_a_disagreement_shows_both_sides_with_their_notes(ctx: UiContext) -> None:
    disputed(ctx.store)
    html = _Agreement(ctx).opened(asked("boss"))["html"]
    assert "Disputed?" in html and "“it says so”" in html and "“it does not”" in html and "missing link" in html
    assert 'data-do="decide"' in html


def test_an_annotator_sees_only_what_they_have_answered(ctx: UiContext) -> None:
    item_id = disputed(ctx.store)
    page = _Agreement(ctx)
    assert "it does not" in page.opened(asked("ann"))["html"] and "data-do=\"decide\"" not in page.opened(asked("ann"))["html"]
    eves = page.opened(asked("eve"))["html"]
    assert "Disputed?" not in eves and "1 more item you have not answered yet" in eves
    one = page.opened(asked("eve", item=str(item_id)))
    assert one["tone"] == "error" and "answer this item first" in one["message"] and "html" not in one
    assert "History of this item" in page.opened(asked("ann", item=str(item_id)))["html"]


def test_only_an_admin_decides_and_it_holds(ctx: UiContext) -> None:
    item_id = disputed(ctx.store)
    page = _Agreement(ctx)
    for who in ("ann", "eve", None, "stranger"):
        assert page.decide(sent(item_id=item_id, label="sufficient"), asked(who))["tone"] == "error"
        assert page.known(sent(item_id=item_id, label="sufficient"), asked(who))["tone"] == "error"
    assert ctx.store.adjudication(item_id) is None and ctx.store.calibration_items() == []
    done = page.decide(sent(item_id=item_id, label="insufficient", note="the link is missing"), asked("boss"))
    assert done["message"] == "Decided: Insufficient." and "Nobody disagrees" in done["html"]
    held = ctx.store.adjudication(item_id)
    assert held is not None and (held.label, held.by, held.note) == ("insufficient", "boss", "the link is missing")
    history = page.opened(asked("boss", item=str(item_id)))["html"]
    assert "the link is missing" in history and "decided" in history
    page.undecide(sent(item_id=item_id), asked("boss"))
    assert ctx.store.adjudication(item_id) is None


@pytest.mark.parametrize("data", [{"item_id": 1, "label": "skip"}, {"item_id": -1, "label": "sufficient"}, {"item_id": "1", "label": "sufficient"},
                                  {"item_id": 4711, "label": "sufficient"}, {"item_id": 1, "label": "sufficient", "uuid": "x"}, {}])
def test_made_up_decisions_are_refused(ctx: UiContext, data: dict[str, Any]) -> None:
    disputed(ctx.store)
    assert _Agreement(ctx).decide(sent(**data), asked("boss"))["tone"] == "error" and ctx.store.adjudications() == []


def test_known_answers_are_listed_for_admins_only(ctx: UiContext) -> None:
    fill(ctx.store, 2)
    page = _Agreement(ctx)
    page.known(sent(item_id=1, label="sufficient", note="secret reason"), asked("boss", item="1"))
    assert "Question number 0?" in page.opened(asked("boss"))["html"]
    assert "Question number 0?" not in page.opened(asked("ann"))["html"]
    page.unknown(sent(item_id=1), asked("boss"))
    assert ctx.store.calibration_items() == []


def test_only_an_admin_edits_the_guidelines(ctx: UiContext) -> None:
    page = _Annotate(ctx)
    refused = page.guideline(sent(text="# New", base=0), asked("ann"))
    assert "only an admin" in refused["message"] and ctx.store.guidelines() == []
    saved = page.guideline(sent(text=f"# New {EVIL}", base=0), asked("boss"))
    assert "version 1" in saved["message"] and "version 1 · boss" in saved["guide"] and "<img" not in saved["guide"]
    lost = page.guideline(sent(text="# Other", base=0), asked("boss"))
    assert lost["tone"] == "error" and len(ctx.store.guidelines()) == 1
    assert "data-do=\"guideline\"" not in page.opened(asked("ann"))["guide"]


def test_everything_is_escaped(ctx: UiContext) -> None:
    item_id = judged(ctx.store, judge_item(EVIL), 0.4, judge=EVIL)
    for who, value in ((EVIL, "sufficient"), (f"b{EVIL}", "insufficient")):
        give(ctx.store, item_id, who, value, EVIL, EVIL)
    page = _Agreement(ctx)
    page.known(sent(item_id=item_id, label="sufficient", note=EVIL), asked("boss"))
    overview, one = page.opened(asked("boss")), page.opened(asked("boss", item=str(item_id)))
    for html in (overview["html"], one["html"]):
        assert "<img" not in html and "<script" not in html and "&lt;img" in html


def test_figures_worked_out_by_hand_and_undefined_ones_in_words() -> None:
    # Ten shared items, eight alike: observed 0.8; both say sufficient half of the time, chance 0.5; kappa 0.6.
    same = {n: {"ann": v, "ben": v} for n, v in enumerate(["sufficient"] * 4 + ["insufficient"] * 4)}
    figures = agreement(same | {8: {"ann": "sufficient", "ben": "insufficient"}, 9: {"ann": "insufficient", "ben": "sufficient"}})
    html = agreement_html(figures)
    assert '<td class="num">8 (80%)<td class="num">0.60' in html and "1× Sufficient / Insufficient" in html
    alone = agreement_html(agreement({1: {"ann": "sufficient"}}))
    assert "no item was labelled by two annotators yet" in alone
    assert "cannot be told from chance" in agreement_html(agreement({1: {"ann": "sufficient", "ben": "sufficient"}}))


def test_progress_of_each_person(ctx: UiContext) -> None:
    disputed(ctx.store)
    html = people_html(ctx.store.progress_by_annotator(), ctx.store.calibration_scores())
    assert "<td>ann" in html and "<td>ben" in html
    assert "Nobody has labelled" in people_html([], [])


def test_the_page_is_plain_data(ctx: UiContext) -> None:
    disputed(ctx.store)
    json.dumps(_Agreement(ctx).opened(asked("boss")))
