"""Figures of a session, worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from storage.values import MachineVerdict, StoredLabel
from ui.render.desk import Answer
from ui.render.session import Session, session_of

START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def label(minute: float, value: str = "sufficient", ms: int = 4000) -> StoredLabel:
    return StoredLabel.model_validate({
        "id": 1, "item_id": 1, "question": "q", "annotator": "ann", "value": value, "milliseconds": ms, "client_uuid": "u",
        "created": START + timedelta(minutes=minute)})


def judged(given: StoredLabel) -> Answer:
    verdict = MachineVerdict(item_id=1, judge="j", label="sufficient", run_id="r", round=1, deciding=True, created=START)
    return Answer(given, [verdict], None)


def test_labels_since_the_last_long_pause() -> None:
    labels = [label(62, "insufficient", 8000), label(61, "unsure", 0), label(60, "sufficient", 2000), label(10), label(0)]
    assert session_of(labels, judged) == Session(labels=3, median_s=5.0, per_hour=60.0, agreed=1, compared=2)
    assert session_of(labels, judged).words() == "This session: 3 labels · 5.0 s median · 60 an hour · judge agreed on 1 of 2"


def test_no_rate_from_two_labels_and_no_words_without_any() -> None:
    assert session_of([label(1), label(0)], judged).per_hour is None
    assert session_of([], judged).words() == ""
