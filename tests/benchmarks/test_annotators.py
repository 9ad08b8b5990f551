"""The load test itself, small: the same requests against the real app, counted by acts, not by the clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import postgres
from tests.benchmarks.annotators import MUST_BE_ZERO, measure, report


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty store's URL; empty text = a new SQLite file."""
    if request.param == "sqlite":
        yield ""
        return
    if postgres.programs() is None:
        pytest.skip(postgres.ABSENT)
    with postgres.server(durable=False) as running:
        yield running


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_label_is_lost_or_doubled(url: str) -> None:
    found = measure(people=6, items=40, seconds=500, overlap=2, seed=1, url=url, think_s=(0.0, 0.02), acts=12)
    assert {key: found["check"][key] for key in MUST_BE_ZERO} == dict.fromkeys(MUST_BE_ZERO, 0) and found["faults"] == []
    assert found["check"]["acknowledged"] > 40 and found["check"]["most_labels_of_an_item"] == 2
    assert any("processor time an act" in line for line in report({"harsh": found}))
