"""Reading corpora: formats, and everything that can be wrong with a file."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trio_core.errors import CorpusError
from trio_core.retrieval.chunks import chunks, words
from trio_core.retrieval.corpus import Corpus
from trio_core.values import Passage

Write = Callable[..., Path]
IN_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
line_text = st.text(st.characters(exclude_characters="\n\r\x00", exclude_categories=["Cs"]), min_size=1)
any_text = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1).filter(str.strip)


def read(path: Path) -> list[Passage]:
    return list(Corpus.open(path).passages())


def test_flashrag_quoted_title_is_taken_off(jsonl: Write) -> None:
    [passage] = read(jsonl('{"id": 0, "contents": "\\"The \\"Who\\"\\"\\nA band.\\nFrom London."}'))
    assert passage == Passage(id="0", title='The "Who"', text="A band.\nFrom London.")


@pytest.mark.parametrize(
    ("line", "title", "text"),
    [
        ('{"id": "1", "contents": "Only text."}', "", "Only text."),
        ('{"_id": "1", "title": "T", "text": "BEIR."}', "T", "BEIR."),
        ('{"id": "1", "text": "No title."}', "", "No title."),
        ('{"id": "1", "title": "T", "contents": "\\"T\\"\\nBody"}', "T", "Body"),
        ('{"id": "1", "text": "lone \\ud800 surrogate"}', "", "lone \ufffd surrogate"),
    ],
)
def test_json_variants(jsonl: Write, line: str, title: str, text: str) -> None:
    assert read(jsonl(line)) == [Passage(id="1", title=title, text=text)]


def test_dpr_tsv_with_header_quotes_and_carriage_return(tmp_path: Path) -> None:
    path = tmp_path / "psgs.tsv"
    path.write_bytes(b'\xef\xbb\xbfid\ttext\ttitle\r\n1\ta\rcd\tT\r\n2\t"say ""hi""\there"\t"""Weird"" Al"\r\n3\t"A" b\tU\r\n')
    assert read(path) == [
        Passage(id="1", title="T", text="a\rcd"),
        Passage(id="2", title='"Weird" Al', text='say "hi"\there'),
        Passage(id="3", title="U", text='"A" b'),
    ]


def test_line_separator_inside_a_record_and_bom(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes("\ufeff".encode() + '{"id": "1", "text": "a\u2028b\u0085c"}\r\n'.encode())
    assert read(path) == [Passage(id="1", text="a\u2028b\u0085c")]


@pytest.mark.parametrize("name", ["c.jsonl.gz", "wiki-18.jsonl.gz"])
def test_gz_and_tar_that_calls_itself_gz(three: Path, tmp_path: Path, name: str) -> None:
    packed = io.BytesIO()
    if name.startswith("wiki"):
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(three, "data00/wiki_dump.jsonl")
    else:
        packed.write(three.read_bytes())
    path = tmp_path / name
    path.write_bytes(gzip.compress(packed.getvalue()))
    assert read(path) == read(three)


def test_damaged_gz(three: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(three.read_bytes())[:-20])
    with pytest.raises(CorpusError, match="damaged after line"):
        read(path)


def test_text_folder_is_chunked_with_titles_and_stable_ids(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "long.md").write_text("# The title\n\n" + "One sentence of six words here. " * 50)
    (tmp_path / "plain.txt").write_text("Short.")
    (tmp_path / ".hidden.txt").write_text("No.")
    found = read(tmp_path)
    assert [(p.id, p.title) for p in found[:2]] == [("plain.txt#1", "plain"), ("sub/long.md#1", "The title")]
    assert len(found) == 4 and all(words(p.text) <= 120 for p in found)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_chunks_lose_no_characters(text: str) -> None:
    assert "".join("".join(chunks(text)).split()) == "".join(text.split())


def test_chunks_of_text_without_spaces_are_small() -> None:
    assert all(len(chunk) <= 200 for chunk in chunks("東京は日本の首都" * 200))


def test_broken_lines_are_counted_and_named(jsonl: Write) -> None:
    corpus = Corpus.open(jsonl("{oops", "[1]", '{"id": "a", "text": "Good."}', '{"id": "b", "text": " "}', '{"id": "c", "text": 5}'))
    assert [p.id for p in corpus.passages()] == ["a"]
    report = corpus.report()
    assert (report.read, report.kept, report.broken, report.untitled) == (5, 1, 4, 1)
    assert [e.line for e in report.examples] == [1, 2, 4, 5]
    assert "no valid JSON" in report.summary() and "line 2" in report.summary()


def test_duplicate_ids_same_content_left_out_other_content_renamed(jsonl: Write) -> None:
    rows = [("1", "A", "x"), ("2", "B", "y"), ("1", "A", "x"), ("1", "A", "z"), ("1", "A", "z"), ("x", "", "q"), ("x", "", "r")]
    corpus = Corpus.open(jsonl(*rows))
    assert [p.id for p in corpus.passages()] == ["1", "2", "1~2", "x", "x~2"]
    assert (corpus.report().duplicates, corpus.report().renamed) == (2, 2)


@given(st.lists(st.one_of(st.integers(0, 30).map(str), st.sampled_from(["00", "01", "a", "", "9" * 5000])), max_size=60))
def test_ids_are_always_unique_and_nothing_different_is_lost(ids: list[str]) -> None:
    from trio_core.retrieval.report import Tally

    tally = Tally()
    kept = [tally.accept(Passage(id=name or "none", text=str(n))) for n, name in enumerate(ids)]
    assert len({p.id for p in kept if p}) == len(ids)


def test_wrong_encoding_names_file_line_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "latin.jsonl"
    path.write_bytes(b'{"id": "1", "text": "ok"}\n{"id": "2", "text": "caf\xe9"}\n')
    with pytest.raises(CorpusError, match=r"latin\.jsonl' line 2: byte 0xe9 .*iconv -f latin1"):
        read(path)
    path.write_bytes('{"id": "1"}'.encode("utf-16"))
    with pytest.raises(CorpusError, match="UTF-16"):
        read(path)


@pytest.mark.parametrize("content", ["", "\n\n", "id\ttext\ttitle\n"])
def test_zero_passages(tmp_path: Path, content: str) -> None:
    path = tmp_path / "c.tsv"
    path.write_text(content)
    with pytest.raises(CorpusError, match="no usable passage: the files are empty"):
        read(path)


def test_misspelt_text_field_names_what_was_found(jsonl: Write) -> None:
    with pytest.raises(CorpusError, match=r"fields found: 'id', 'content'.*'contents'"):
        read(jsonl(*['{"id": "1", "content": "x"}'] * 3))


@pytest.mark.parametrize("name", ["missing.jsonl", "c.pdf", "", "x" * 300])
def test_unusable_sources(tmp_path: Path, name: str) -> None:
    (tmp_path / "c.pdf").touch()
    with pytest.raises(CorpusError, match=r"does not exist|unknown ending|holds no"):
        Corpus.open(tmp_path / name)


def test_fingerprint_follows_the_file(jsonl: Write) -> None:
    before = Corpus.open(jsonl(("1", "A", "x"))).fingerprint()
    assert Corpus.open(jsonl(("1", "A", "xy"))).fingerprint() != before


@IN_FOLDER
@given(st.lists(st.tuples(st.text("abc019", min_size=1), any_text, any_text), min_size=1, unique_by=lambda row: row[0]))
def test_json_round_trip(tmp_path: Path, rows: list[tuple[str, str, str]]) -> None:
    path = tmp_path / "r.jsonl"
    dumped = [json.dumps({"id": i, "title": t.strip(), "text": x}, ensure_ascii=False) for i, t, x in rows]
    path.write_bytes("\n".join(dumped).encode())
    assert [(p.id, p.title, p.text) for p in read(path)] == [(i, t.strip(), x) for i, t, x in rows]


@IN_FOLDER
@given(st.lists(st.tuples(line_text.filter(str.strip), line_text), min_size=1))
def test_tsv_round_trip(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(["id", "text", "title"])
    writer.writerows([n, text, title] for n, (text, title) in enumerate(rows))
    path = tmp_path / "r.tsv"
    path.write_bytes(out.getvalue().encode())
    assert [(p.id, p.text, p.title) for p in read(path)] == [(str(n), x, t.strip()) for n, (x, t) in enumerate(rows)]
