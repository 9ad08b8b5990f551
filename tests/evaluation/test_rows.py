"""Rows by hand: metrics, recall by round, support; the file of rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.helpers import PASSAGES
from tests.evaluation.helpers import row
from trio_core.datasets import Question
from trio_core.errors import InputError
from trio_core.evaluation.rows import RowFile, latest, mend, read_rows, recall_by_round, row_of, scores_of, support
from trio_core.events import (
    Answered,
    LLMCalled,
    Retrieved,
    RetrievedHit,
    RunFailed,
    RunFinished,
    RunStarted,
    StoredEvent,
    Totals,
)
from trio_core.runs import EvaluationMark
from trio_core.values import Gold, Passage

MARK = EvaluationMark(id="e", label="trio:x=1", repeat=2, seed=5)
QUESTION = Question(id="q", question="Which?", answers=("the Old Town of Delft", "Delft"), dataset="d", type="bridge")


def found(round_: int, *ids: str) -> Retrieved:
    passages = PASSAGES | {"p9": Passage(id="p9", text="x")}
    hits = tuple(RetrievedHit(passage=passages[i], score=None, rank=n + 1, first_seen_round=round_) for n, i in enumerate(ids))
    return Retrieved(round=round_, query_index=0, query="q", hits=hits, k=5)


def run(answer: str) -> list[StoredEvent]:
    totals = Totals(rounds=2, calls=3, retrievals=2, prompt_tokens=100, cached_tokens=40, completion_tokens=9, seconds=1.5)
    return [RunStarted(question="Which?", method="trio"), found(1, "p1", "p9"), found(2, "p3", "p1"), LLMCalled(round=2, role="answer", messages=(), raw="", parse="failed"),
            Answered(answer=answer), RunFinished(reason="judge", totals=totals)]


def test_a_run_that_ended() -> None:
    made = row_of("r1", QUESTION, Gold(answers=QUESTION.answers, passage_ids=("p1", "p2", "p3")), "trio", MARK, run("Delft town"))
    assert (made.label, made.method, made.repeat, made.seed, made.status, made.reason, made.unparsed) == ("trio:x=1", "trio", 2, 5, "finished", "judge", 1)
    assert (made.rounds, made.calls, made.retrievals, made.prompt_tokens, made.cached_tokens, made.completion_tokens, made.seconds) == (2, 3, 2, 100, 40, 9, 1.5)
    s = made.scores
    # F1 with "Delft": P 1/2, R 1, F1 2/3; with "old town of delft": both tokens in it, P 1, R 1/2. Each metric takes its own best gold.
    assert (s["em"], s["precision"], s["cover_sub"], s["cover_token_seq"], s["answer_tokens"]) == (0, 1, 1, 1, 2) and s["f1"] == pytest.approx(2 / 3)
    # gold p1, p2, p3: p1 after round 1, p1 and p3 after round 2; retrieved p1, p9, p3
    assert made.recall == (pytest.approx(1 / 3), pytest.approx(2 / 3)) and made.gold == 3
    assert s["support_precision"] == s["support_recall"] == s["support_f1"] == pytest.approx(2 / 3) and "choice" not in s


def test_a_run_that_failed_scores_nothing_and_says_why() -> None:
    events = [*run("Delft")[:-1], RunFailed(status="failed", error="EngineTimeout", message="too slow", totals=Totals(calls=3))]
    made = row_of("r1", QUESTION, Gold(answers=QUESTION.answers), "trio", MARK, events)
    assert (made.status, made.reason, made.answer, made.calls) == ("failed", "EngineTimeout: too slow", "", 3) and set(made.scores.values()) == {0.0}
    assert row_of("r1", QUESTION, Gold(), "trio", MARK, ()).reason == "the run has no end event"


def test_a_continued_run_gives_its_last_answer() -> None:
    first = [*run("Rome")[:-1], RunFailed(status="interrupted", error="Interrupted", message="gone")]
    assert row_of("r1", QUESTION, Gold(answers=("Delft",)), "trio", MARK, [*first, *run("Delft")]).answer == "Delft"


def test_no_gold_no_scores_and_choices_add_theirs() -> None:
    assert scores_of("x", QUESTION.model_copy(update={"answers": ()})) == {}
    assert scores_of("(B)", QUESTION.model_copy(update={"choices": ("Rome", "Delft")}))["choice"] == 1.0


def test_recall_and_support_edges() -> None:
    assert recall_by_round([found(1, "p1")], ()) == () and recall_by_round([], ("p1",)) == ()
    assert recall_by_round([found(1), found(3, "p1"), found(3, "p2")], ("p1", "p2")) == (0.0, 1.0)
    assert support([], ("p1",)) == {"support_f1": 0.0, "support_precision": 0.0, "support_recall": 0.0}
    assert support([found(1, "p1", "p2", "p3", "p9")], ("p1",)) == {"support_f1": pytest.approx(0.4), "support_precision": 0.25, "support_recall": 1.0}


def test_the_file_survives_a_cut_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    file = RowFile(path)
    file.append(row(question="q1", reason="first"))
    file.append(row(question="q2"))
    assert len(list(read_rows(path))) == 2  # while the file is open
    file.close()
    with path.open("a") as cut:
        cut.write('{"run_id": "cut')
    assert [r.question_id for r in read_rows(path)] == ["q1", "q2"]
    mend(path)
    file.append(row(question="q1", reason="later"))
    rows = latest(read_rows(path))
    assert len(rows) == 2 and rows[("trio", "d", "q1", 0)].reason == "later"
    path.write_text("{}\n" + path.read_text())
    with pytest.raises(InputError, match="line 1 is no row"):
        list(read_rows(path))
    mend(tmp_path / "none")
    assert list(read_rows(tmp_path / "none")) == []
