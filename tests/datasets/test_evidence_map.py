"""Gold paragraphs in a corpus; and the real samples."""

from __future__ import annotations

import pytest

from tests.datasets.samples import sample
from trio_core.datasets import Paragraph, Question, map_evidence, open_dataset
from trio_core.retrieval.corpus import Corpus
from trio_core.values import Passage

LONG = "Bea Cole was a Dutch film maker who was born in the old city of Delft in 1931 and lived there all her life"


def question(id_: str, *evidence: tuple[str, str], answers: tuple[str, ...] = ("Delft",)) -> Question:
    return Question(id=id_, question="?", answers=answers, dataset="d", evidence=tuple(Paragraph(title=t, text=x) for t, x in evidence))


def passage(id_: str, title: str, text: str) -> Passage:
    return Passage(id=id_, title=title, text=text)


def test_the_same_text_wins_over_a_similar_one_and_of_equals_the_first() -> None:
    q = question("q", ("Bea &amp; Co", "One.  Two."), ("B", LONG))
    found = map_evidence([q], [passage("0", "Bea & Co", "One. Three."), passage("1", "Bea & Co", "one.two."), passage("2", "Bea & Co", "One. Two."),
                               passage("3", "B", LONG + " with cats"), passage("4", "b", LONG)])
    assert found.found == {"q": ("1", "4")} and found.gold(q).passage_ids == ("1", "4") and not found.unmapped
    assert found.passage_id(q, q.evidence[1]) == "4" and found.passage_id(q, None) == ""


def test_of_chunks_the_one_with_the_larger_share_and_never_a_few_words() -> None:
    words = LONG.split()
    chunks = [passage("a", "B", " ".join(words[:9])), passage("b", "B", " ".join(words[9:])), passage("c", "B", "born in Delft"),
              passage("d", "Other", " ".join(words[:15]))]
    assert map_evidence([question("q", ("B", LONG))], chunks).found == {"q": ("b",)}


def test_what_is_not_found_is_listed() -> None:
    q = question("q", ("B", LONG), ("None", "Nothing like it."), ("Text", "elsewhere under a name of its own"))
    found = map_evidence([q], [passage("1", "B", "All different words that share nothing with it at all, no."), passage("2", "X", "Elsewhere under a name of its own")])
    assert found.found == {"q": ("", "", "2")} and (found.paragraphs, found.mapped) == (3, 1) and found.passage_ids(q) == ("2",)
    assert [(u.title, u.why) for u in found.unmapped] == [("B", "another text under this title"), ("None", "no such title or text")]
    assert "1 of 3" in found.summary()


def test_a_title_alone_takes_the_only_passage_or_the_one_with_the_answer() -> None:
    corpus = [passage("1", "Solo", "Text."), passage("2", "Duo", "It is in Paris."), passage("3", "Duo", "It is in Delft."), passage("4", "Trio", "Delft."), passage("5", "Trio", "Delft!")]
    found = map_evidence([question("q", ("Solo", ""), ("Duo", ""), ("Trio", ""), ("Gone", ""))], corpus)
    assert found.found == {"q": ("1", "3", "", "")} and found.unmapped[0].why == "2 passages have this title, 2 hold the answer"


def test_demo_evidence_is_where_the_demo_says() -> None:
    from trio_core import demo

    questions = list(open_dataset("demo"))
    found = map_evidence(questions, Corpus.open("demo").passages())
    assert {q.id: set(found.passage_ids(q)) for q in questions} == {q.id: set(q.gold.passage_ids) for q in demo.questions()}


@pytest.mark.parametrize(("file", "corpus", "n", "hops"), [
    ("hotpotqa/hotpot_dev_distractor_v1.sample.json", "hotpotqa/corpus.jsonl.gz", 150, 2), ("2wikimultihopqa/dev.sample.json", "2wikimultihopqa/psgs.tsv.gz", 80, 2),
    ("2wikimultihopqa/train.sample.json", "2wikimultihopqa/corpus.jsonl.gz", 70, 2), ("musique/musique_ans_v1.0_dev.sample.jsonl", "musique/corpus.jsonl.gz", 100, 2),
    ("musique/musique_ans_v1.0_train.sample.jsonl", "musique/corpus.jsonl.gz", 50, 2), ("nq_open/nq-open-oracle.sample.jsonl", "nq_open/corpus.jsonl", 150, 1),
    ("popqa/popQA.sample.tsv", "popqa/corpus.jsonl", 150, 1), ("pubmedqa/ori_pqal.sample.json", "pubmedqa/corpus.jsonl", 150, 1),
])
def test_every_gold_paragraph_of_the_samples_is_found(file: str, corpus: str, n: int, hops: int) -> None:
    data = open_dataset(sample(file))
    questions = list(data)
    assert len(questions) == n and not data.report().broken and len({q.id for q in questions}) == n
    found = map_evidence(questions, Corpus.open(sample(corpus)).passages())
    assert found.unmapped == () and min(len(found.found[q.id]) for q in questions) >= hops


@pytest.mark.parametrize(("file", "n"), [
    ("bamboogle/bamboogle.sample.csv", 62), ("nq_open/NQ-open.dev.sample.jsonl", 150), ("fanoutqa/fanout-final-dev.sample.json", 150), ("flashrag_quickstart/nq/test.jsonl", 17),
])
def test_samples_without_evidence_texts_are_read_whole(file: str, n: int) -> None:
    data = open_dataset(sample(file))
    questions = list(data)
    assert len(questions) == n == data.report().read and all(q.answers for q in questions)


def test_the_samples_musique_questions_have_no_reference_left() -> None:
    questions = list(open_dataset(sample("musique/musique_ans_v1.0_dev.sample.jsonl")))
    assert not [h.question for q in questions for h in q.hops if "#1" in h.question] and all(h.evidence in q.evidence for q in questions for h in q.hops)
