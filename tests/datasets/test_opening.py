"""Opening: shapes, gz, names and splits, broken records, samples; streaming."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.datasets.samples import HOTPOT, MUSIQUE, lines
from trio_core.datasets import json_stream as streaming
from trio_core.datasets import open_dataset
from trio_core.errors import DatasetError

NQ = lines(*({"question": f"q{n}?", "answer": [str(n)]} for n in range(100)))


def test_broken_records_are_counted_and_named_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "nq.jsonl"
    path.write_text(lines({"question": "a?", "answer": ["1"]}) + '{"question": "cut\n\n' + lines({"question": "b?", "answer": []}, [1], {"question": "c?", "answer": "2"}, {"question": "d?", "answer": ["4"]}))
    data = open_dataset(path)
    assert [q.question for q in data] == ["a?", "d?"]
    report = data.report()
    assert (report.read, report.kept, report.broken) == (6, 2, 4)
    assert [(e.file, e.line) for e in report.examples] == [("nq.jsonl", n) for n in (2, 4, 5, 6)]
    assert "no valid JSON" in str(report.examples[0]) and "no answer" in str(report.examples[1]) and "not a list" in str(report.examples[3])
    assert "4 broken" in report.summary() and [q.question for q in data] == ["a?", "d?"] and data.report() == report


def test_a_json_list_names_the_line_of_a_broken_record(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    bad = HOTPOT | {"_id": "h2", "context": [["T"]]}
    path.write_text("[\n" + ",\n".join(json.dumps(r) for r in (HOTPOT, bad, HOTPOT | {"_id": "h3"}, HOTPOT | {"answer": {}, "_id": "h4"}, {"question": "?"})) + "\n]\n")
    data = open_dataset(path)
    assert [q.id for q in data] == ["h1", "h3", "h4"] and [(e.line) for e in data.report().examples] == [3, 6]
    path.write_text("[\n" + json.dumps(HOTPOT) + ",\n{\"_id\": \"cut")
    with pytest.raises(DatasetError, match="no valid JSON from line 3 on"):
        list(open_dataset(path))


def test_gz_bom_and_crlf_read_the_same(tmp_path: Path) -> None:
    plain, packed, windows = tmp_path / "nq.jsonl", tmp_path / "nq.jsonl.gz", tmp_path / "w.jsonl"
    plain.write_text(NQ)
    packed.write_bytes(gzip.compress(NQ.encode()))
    windows.write_bytes(b"\xef\xbb\xbf" + NQ.replace("\n", "\r\n").encode())
    assert list(open_dataset(plain)) == list(open_dataset(packed)) == list(open_dataset(windows))
    packed.write_bytes(gzip.compress(NQ.encode())[:-20])
    with pytest.raises(DatasetError, match="damaged|cannot be read"):
        list(open_dataset(packed))


def test_unknown_fields_say_what_was_tried(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(lines({"query": "q", "target": "t"}))
    with pytest.raises(DatasetError, match=r"read as JSON lines, but its records have the fields 'query', 'target'.*hotpotqa needs"):
        open_dataset(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DatasetError, match="read as a CSV table.*gpqa needs"):
        open_dataset(path)
    path.write_text(" \n")
    with pytest.raises(DatasetError, match="is empty"):
        open_dataset(path)


def test_splits_of_a_folder_and_names_in_roots(tmp_path: Path) -> None:
    folder = tmp_path / "musique"
    folder.mkdir()
    for split in ("train", "dev"):
        (folder / f"musique_ans_{split}.jsonl").write_text(lines(MUSIQUE | {"id": f"2hop__{split}"}))
    (folder / "corpus.jsonl").write_text(lines({"id": 1, "contents": "x"}))
    assert [q.id for q in open_dataset("musique", split="dev", roots=[tmp_path])] == ["2hop__dev"]
    with pytest.raises(DatasetError, match="2 files of questions.*musique_ans_dev.jsonl, musique_ans_train.jsonl"):
        open_dataset(folder)
    with pytest.raises(DatasetError, match="no file of questions for split 'test'"):
        open_dataset(folder, split="test")
    with pytest.raises(DatasetError, match="'nowhere' does not exist; looked in"):
        open_dataset("nowhere", roots=[tmp_path])


def test_limit_and_sample(tmp_path: Path) -> None:
    path = tmp_path / "nq.jsonl"
    path.write_text(NQ)
    assert [q.question for q in open_dataset(path, limit=3)] == ["q0?", "q1?", "q2?"]
    data = open_dataset(path)
    chosen = [int(q.answers[0]) for q in data.sample(20, seed=5)]
    assert chosen == sorted(set(chosen)) and len(chosen) == 20 and max(chosen) > 50
    assert chosen == [int(q.answers[0]) for q in data.sample(20, seed=5)] != [int(q.answers[0]) for q in data.sample(20, seed=6)]
    assert len(data.sample(1000)) == 100
    # every question is as likely as any other: 400 draws of 20 in 100, so 80 each, give or take 5 standard deviations of 8
    counts = [0] * 100
    for seed in range(400):
        for q in data.sample(20, seed):
            counts[int(q.answers[0])] += 1
    assert min(counts) > 40 and max(counts) < 120


class Counted(io.StringIO):
    """Knows how far it was read."""

    taken = 0

    def read(self, size: int | None = -1) -> str:
        text = super().read(size)
        self.taken += len(text)
        return text


def test_a_long_list_is_read_piece_by_piece() -> None:
    text = json.dumps([{"n": n, "pad": "x" * 1000} for n in range(2000)])
    stream = Counted(text)
    items = streaming.stream_list(stream, "it")
    assert next(items)[1]["n"] == 0 and stream.taken < len(text) / 10
    assert [item["n"] for _, item in items] == list(range(1, 2000))


@settings(deadline=None)
@given(st.lists(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=3), x, max_size=3))),
       st.integers(1, 7), st.sampled_from([None, 1]))
def test_streams_what_json_loads(values: list[object], chunk: int, indent: int | None) -> None:
    before, streaming.CHUNK = streaming.CHUNK, chunk
    try:
        assert [v for _, v in streaming.stream_list(io.StringIO(json.dumps(values, indent=indent)), "it")] == values
        members = {str(n): v for n, v in enumerate(values)}
        assert {k: v for _, k, v in streaming.stream_object(io.StringIO(json.dumps(members, indent=indent)), "it")} == members
    finally:
        streaming.CHUNK = before


def test_a_question_of_the_middle_is_the_same_whatever_is_read_before(tmp_path: Path) -> None:
    rows = NQ.splitlines()
    random.Random(1).shuffle(rows)
    (tmp_path / "a.jsonl").write_text(NQ)
    (tmp_path / "b.jsonl").write_text("\n".join(rows[:30]))
    assert set(open_dataset(tmp_path / "b.jsonl")) < set(open_dataset(tmp_path / "a.jsonl"))
