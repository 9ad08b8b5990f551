"""From settings to a retriever, and the index command."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from trio_core.cli import index as command
from trio_core.errors import CorpusError, UnfitIndexError
from trio_core.retrieval import build
from trio_core.retrieval.build import build_retriever, index_folder
from trio_core.retrieval.http import HttpRetriever
from trio_core.settings import Settings, load_settings

Write = Callable[..., Path]


def settings_for(folder: Path, *flags: str) -> Settings:
    return load_settings(env={}, flags=[f"data_dir={folder}", "retriever.encoder=hashed-words", *flags])


@pytest.mark.parametrize("kind", ["dense", "bm25", "hybrid"])
async def test_small_corpus_is_indexed_on_first_use(three: Path, tmp_path: Path, kind: str) -> None:
    settings = settings_for(tmp_path, f"retriever.corpus={three}", f"retriever.kind={kind}")
    phases: list[str] = []
    retriever = build_retriever(settings, lambda step: phases.append(step.phase))
    [result] = await retriever.search(["capital of Italy"], 1)
    assert result.hits[0].passage.title == "Rome" and phases[0] == "read"
    assert index_folder(settings) == tmp_path / "indexes" / "c-hashed-words"
    again: list[str] = []
    build_retriever(settings, lambda step: again.append(step.phase))
    assert again == []


async def test_changed_corpus_is_indexed_again_at_the_default_place(jsonl: Write, tmp_path: Path) -> None:
    path = jsonl(("1", "A", "alpha"), ("2", "B", "beta"))
    settings = settings_for(tmp_path, f"retriever.corpus={path}")
    build_retriever(settings)
    jsonl(("1", "A", "alpha"), ("3", "C", "gamma"))
    retriever = build_retriever(settings)
    assert [p.id for p in retriever.passages(["2", "3"])] == ["3"]


def test_named_index_is_never_replaced(jsonl: Write, tmp_path: Path) -> None:
    path = jsonl(("1", "A", "alpha"))
    flags = [f"retriever.corpus={path}", f"retriever.index_dir={tmp_path / 'mine'}"]
    build_retriever(settings_for(tmp_path, *flags))
    with pytest.raises(UnfitIndexError, match="query_prefix: '' against 'q: '"):
        build_retriever(settings_for(tmp_path, *flags, "retriever.query_prefix='q: '"))
    jsonl(("1", "A", "changed"))
    with pytest.raises(UnfitIndexError, match="index build --corpus"):
        build_retriever(settings_for(tmp_path, *flags))


def test_large_corpus_names_the_command(three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "FIRST_USE_PASSAGES", 2)
    settings = settings_for(tmp_path, f"retriever.corpus={three}")
    with pytest.raises(UnfitIndexError, match=rf"python -m trio_core index build --corpus '{three}' --out '{index_folder(settings)}' --kind dense --encoder 'hashed-words'"):
        build_retriever(settings)


async def test_index_serves_when_the_corpus_file_is_gone(three: Path, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, f"retriever.corpus={three}")
    build_retriever(settings)
    three.unlink()
    assert len((await build_retriever(settings).search(["Rome"], 1))[0].hits) == 1
    with pytest.raises(CorpusError, match="does not exist"):
        build_retriever(settings_for(tmp_path, f"retriever.corpus={tmp_path / 'never.jsonl'}"))


def test_http_kind_needs_no_corpus(tmp_path: Path) -> None:
    assert isinstance(build_retriever(settings_for(tmp_path, "retriever.kind=http")), HttpRetriever)


async def test_demo_corpus_by_words(tmp_path: Path) -> None:
    retriever = build_retriever(settings_for(tmp_path, "retriever.kind=bm25"))
    [result] = await retriever.search(["Who composed the opera William Tell?"], 5)
    assert any("William Tell" in hit.passage.title + hit.passage.text for hit in result.hits)
    assert retriever.identity()["corpus"] == "demo"


def call(*argv: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    args = parser.parse_args(["index", *argv])
    return int(args.run(args))


def test_command_builds_shows_and_searches(three: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--corpus", str(three), "--out", str(tmp_path / "i"), "--encoder", "hashed-words", "--kind", "hybrid"]
    assert call("build", *where) == 0
    told = capsys.readouterr()
    assert "3 passages from 1 file" in told.out and "built: " in told.out and "encode: 3 of 3" in told.err
    assert call("build", *where) == 0 and "up to date" in capsys.readouterr().out
    assert call("info", *where) == 0 and '"factory": "Flat"' in capsys.readouterr().out
    assert call("search", *where, "capital of Italy", "--k", "1") == 0
    assert "[2] Rome" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["build", "--corpus", "nowhere.jsonl"], "does not exist"),
        (["info"], "there is no index"),
        (["build", "--batch-size", "0"], "at least 1, got 0"),
        (["build", "--factory", "Nonsense"], "no FAISS factory string"),
        (["search", "x", "--k", "0"], "k must be from 1 to 1000, got 0"),
        (["build", "--set", "retriever.corpse=x"], "did you mean 'corpus'"),
    ],
)
def test_command_tells_errors(argv: list[str], said: str, three: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--corpus", str(three), "--out", str(tmp_path / "i"), "--encoder", "hashed-words"]
    assert call(argv[0], *where, *argv[1:]) == 2
    told = capsys.readouterr().err
    assert said in told and told.splitlines()[-1].startswith("error: ")


def test_importing_loads_no_model_library() -> None:
    heavy = ("torch", "faiss", "bm25s", "sentence_transformers", "transformers", "httpx")
    code = f"import sys, trio_core.retrieval.build, trio_core.cli.index; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert done.stdout.strip() == "[]"
