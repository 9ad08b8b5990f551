"""Readers: each original format with its quirks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.datasets.samples import GPQA_HEADER, HOTPOT, MUSIQUE, PUBMED, TWO_WIKI, fanout, lines
from trio_core.datasets import Hop, Paragraph, Question, open_dataset
from trio_core.metrics import score


def read(tmp_path: Path, name: str, text: str, **options: Any) -> list[Question]:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return list(open_dataset(path, **options))


def test_hotpotqa_joins_sentences_as_they_are(tmp_path: Path) -> None:
    [q] = read(tmp_path, "a.json", json.dumps([HOTPOT]))
    film, maker = Paragraph(title="Alpha & Omega", text="Alpha is a film. Bea made it."), Paragraph(title="Bea Cole", text="Bea was born in Delft.")
    assert q == Question(id="h1", question="Where was the maker of Alpha born?", answers=("Delft",), dataset="hotpotqa", type="bridge", level="hard",
                         evidence=(film, maker), hops=(Hop(evidence=film), Hop(evidence=maker)))


def test_hotpotqa_in_the_hubs_layout_reads_the_same(tmp_path: Path) -> None:
    hub = {k: v for k, v in HOTPOT.items() if k != "_id"} | {
        "id": "h1", "supporting_facts": {"title": [t for t, _ in HOTPOT["supporting_facts"]], "sent_id": [1, 0, 0]},
        "context": {"title": [t for t, _ in HOTPOT["context"]], "sentences": [s for _, s in HOTPOT["context"]]},
    }
    assert read(tmp_path, "b.jsonl", lines(hub)) == read(tmp_path, "a.json", json.dumps([HOTPOT]))


def test_two_wiki_joins_with_spaces_and_takes_aliases_by_answer_id(tmp_path: Path) -> None:
    (tmp_path / "id_aliases.json").write_text(lines({"Q_id": "Q690", "aliases": ["Delft city"], "demonyms": ["Delftenaar"]}, {"Q_id": "Q1", "aliases": ["x"]}))
    [q] = read(tmp_path, "dev.json", json.dumps([TWO_WIKI]))
    assert q.dataset == "2wikimultihopqa" and q.answers == ("Delft", "Delft city", "Delftenaar")
    assert [(h.question, h.answer, h.evidence.text) for h in q.hops] == [
        ("director of Alpha & Omega", "Bea Cole", "Alpha is a film. Bea made it."), ("place of birth of Bea Cole", "Delft", "Bea was born in Delft.")]


def test_musique_fills_references_and_tells_paragraphs_of_one_title_apart(tmp_path: Path) -> None:
    twin = MUSIQUE | {"answerable": False}
    first, second = read(tmp_path, "a.jsonl", lines(MUSIQUE, twin))
    assert first.answers == ("Delft", "City of Delft") and first.type == "2hop"
    assert [h.question for h in first.hops] == ["Who made Alpha?", "Where was Bea Cole born, not #9?"]
    assert first.hops[1].evidence == Paragraph(title="Bea Cole", text="Bea was born in Delft.")
    assert {p.text for p in first.evidence} == {"Bea was born in Delft.", "Bea made it."}
    assert (second.id, second.answerable) == ("2hop__1_2~2", False) and (first.id, first.answerable) == ("2hop__1_2", True)


def test_nq_open_ids_are_stable_and_the_oracle_file_shares_them(tmp_path: Path) -> None:
    plain = [{"question": "who?", "answer": ["a", "b"]}, {"question": "where?", "answer": ["c"]}]
    oracle = [{"question": "where?", "answers": ["c"], "ctxs": [{"title": "T", "text": "In c.", "isgold": True}, {"title": "N", "text": "no", "isgold": False}]}]
    who, where = read(tmp_path, "a.jsonl", lines(*plain))
    assert read(tmp_path, "b.jsonl", lines(*reversed(plain))) == [where, who] and who.id != where.id and who.answers == ("a", "b")
    [gold] = read(tmp_path, "c.jsonl", lines(*oracle))
    assert gold.id == where.id and gold.evidence == (Paragraph(title="T", text="In c."),)


def test_popqa_reads_json_in_a_quoted_field(tmp_path: Path) -> None:
    table = ('id\tsubj\tprop\tobj\ts_aliases\to_aliases\ts_wiki_title\tquestion\tpossible_answers\n'
             '6\tBo\toccupation\tactor\t"[""B""]"\t"[""actress""]"\tBo (actor)\tWhat is Bo\'s occupation?\t"[""actor"", ""player, of parts""]"\n'
             '7\tCy\toccupation\tpoet\t[]\t"[""bard""]"\tCy\tWhat is Cy\'s?\t[]\n')
    first, second = read(tmp_path, "popQA.tsv", table)
    assert first.answers == ("actor", "player, of parts") and first.type == "occupation" and first.evidence == (Paragraph(title="Bo (actor)"),)
    assert second.answers == ("poet", "bard")


def test_bamboogle_has_two_answers_and_crlf(tmp_path: Path) -> None:
    first, second = read(tmp_path, "b.csv", 'Question,,,,Answer,Answer 2,\r\n"In 2016, who?",,,,Drew,Carey,\r\nHow many?,,,,131,,\r\n')
    assert (first.question, first.answers, second.answers) == ("In 2016, who?", ("Drew", "Carey"), ("131",))
    assert first.id.startswith("bamboogle-") and first.id != second.id


def test_gpqa_order_hangs_on_seed_and_record_alone(tmp_path: Path) -> None:
    rows = [f'r{n},"Line one\nline two {n}", right{n} ,w1,w2,w3,Physics' for n in range(12)]
    every = read(tmp_path, "g.csv", "\n".join([GPQA_HEADER, *rows]))
    last = read(tmp_path, "h.csv", "\n".join([GPQA_HEADER, *reversed(rows)]))
    assert {q.id: q.choices for q in every} == {q.id: q.choices for q in last}
    assert all(q.answers == (f"right{n}",) and sorted(q.choices) == [f"right{n}", "w1", "w2", "w3"] for n, q in enumerate(every))
    assert len({q.choices.index(q.answers[0]) for q in every}) > 1
    assert [q.choices for q in every] != [q.choices for q in read(tmp_path, "g.csv", "\n".join([GPQA_HEADER, *rows]), seed=1)]
    assert every[0].asked.startswith("Line one\nline two 0 (A) ") and "(D) " in every[0].asked


def test_pubmedqa_keeps_the_conclusion_to_itself(tmp_path: Path) -> None:
    [q] = read(tmp_path, "p.json", json.dumps({"123": PUBMED}))
    assert (q.id, q.answers, q.choices) == ("123", ("yes",), ("yes", "no", "maybe")) and "secret" not in q.model_dump_json()
    assert q.evidence == (Paragraph(title="PMID 123 METHODS", text="We tried."), Paragraph(title="PMID 123 RESULTS", text="It did."))
    hub = {"pubid": 123, "question": "Does it work?", "context": {"contexts": PUBMED["CONTEXTS"], "labels": PUBMED["LABELS"]}, "final_decision": "yes"}
    assert read(tmp_path, "p.jsonl", lines(hub)) == [q]


@pytest.mark.parametrize(("answer", "texts"), [
    (0, ("0",)), (False, ("no", "false")), (True, ("yes", "true")), (2.5, ("2.5",)), ("x", ("x",)), (["a", 0, False], ("a, 0, no",)),
    ({"a": 0, "b": ["c", "d"]}, ("a: 0, b: c, d",)),
])
def test_fanoutqa_takes_answers_of_any_kind(tmp_path: Path, answer: Any, texts: tuple[str, ...]) -> None:
    [q] = read(tmp_path, "f.json", json.dumps([fanout(answer)]))
    assert q.answers == texts and q.type == "Sports, Other"
    assert [(h.answer, h.evidence.title) for h in q.hops] == [("a, b", "List"), ("0", "A"), ("no", "B")]


def test_flashrag_choices_metadata_and_name(tmp_path: Path) -> None:
    (tmp_path / "nq").mkdir()
    meta = {"type": "bridge", "supporting_facts": {"title": ["Bea Cole"], "sent_id": [0]}, "context": {"title": ["Bea Cole"], "sentences": [["One.", " Two."]]}}
    rows = lines({"id": "t0", "question": "q", "golden_answers": ["a", "b"], "metadata": meta}, {"id": 1, "question": "q", "golden_answers": [1], "choices": ["x", "y"]},
                 {"question": "No id", "golden_answers": "one"})
    first, second, third = read(tmp_path, "nq/test.jsonl", rows)
    assert (first.dataset, first.answers, first.type, first.evidence) == ("nq", ("a", "b"), "bridge", (Paragraph(title="Bea Cole", text="One. Two."),))
    assert (second.id, second.answers, second.choices, second.asked) == ("1", ("y",), ("x", "y"), "q (A) x (B) y")
    assert third.answers == ("one",) and third.id.startswith("nq-")


def test_the_demo_questions_are_a_data_set_too() -> None:
    found = list(open_dataset("demo"))
    assert len(found) >= 70 and all(h.evidence and h.evidence.text for q in found for h in q.hops)
    assert any(not q.answerable for q in found) and all(score(q.answers[0], q.answers)["em"] == 1 for q in found if q.answerable)
