"""The plan of a large index: sizes against FAISS's own files, growth, and the choice by memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from trio_core.__main__ import main
from trio_core.cli.index_plan import parse_size
from trio_core.errors import InputError
from trio_core.retrieval import faiss_index
from trio_core.retrieval.index_plan import plan, size_bytes
from trio_core.retrieval.kinds import KINDS, clusters, code_bytes, factory_of
from trio_core.retrieval.plan_figures import DIM, FIGURES, SOURCE
from trio_core.retrieval.vectors import Matrix

ROOT = Path(__file__).resolve().parents[2]
WIKIPEDIA = 21_015_324


@pytest.mark.parametrize("dim", [16, 24])
@pytest.mark.parametrize("kind", KINDS)
def test_sizes_are_those_of_faiss_s_files(kind: str, dim: int, tmp_path: Path) -> None:
    count = 4_000
    vectors = np.random.default_rng(1).standard_normal((count, dim), dtype=np.float32)

    def shards() -> Iterator[Matrix]:
        yield vectors

    faiss_index.build(tmp_path, dim, factory_of(kind, count, dim), count, shards)
    [file] = faiss_index.files(tmp_path)
    assert size_bytes(kind, count, dim) == pytest.approx(file.stat().st_size, rel=0.02)


@pytest.mark.parametrize(("count", "lists"), [(100, 2), (10_000, 256), (1_000_000, 2048), (WIKIPEDIA, 8192), (10**12, 65_536)])
def test_clusters_follow_the_root_of_the_count(count: int, lists: int) -> None:
    assert clusters(count) == lists


@pytest.mark.parametrize(("dim", "code"), [(384, 96), (768, 192), (1, 1), (7, 1), (30, 6)])
def test_codes_divide_the_dimensions(dim: int, code: int) -> None:
    assert code_bytes(dim) == code and dim % code == 0


@pytest.mark.parametrize(("memory", "choice"), [("64GB", "HNSW"), ("32GB", "IVF-SQ8"), ("8GB", "PQ"), ("1GB", None)])
def test_wikipedia_is_put_into_what_the_memory_allows(memory: str, choice: str | None) -> None:
    assert plan(WIKIPEDIA, parse_size(memory), cores=2).choice == choice


def test_a_small_corpus_needs_no_compression() -> None:
    assert plan(20_000, parse_size("4GB")).choice == "Flat"


def test_more_cores_build_faster_and_parts_need_less_memory() -> None:
    slow, fast = (plan(WIKIPEDIA, 10**11, cores=c, parts=p).estimates for c, p in ((1, 1), (8, 4)))
    for one, many in zip(slow, fast, strict=True):
        if one.kind in FIGURES:
            assert many.build_s == pytest.approx(one.build_s / 8) and many.search_ms == pytest.approx(one.search_ms / 4)
        assert many.build_bytes < one.build_bytes and many.index_bytes == one.index_bytes


def test_figures_are_those_of_the_committed_measurement() -> None:
    raw = json.loads((ROOT / SOURCE).with_suffix(".json").read_text(encoding="utf-8"))
    rows = {(row["kind"], row["passages"]): row for row in raw["rows"] if row["parts"] == 1}
    for kind, figure in FIGURES.items():
        row = rows[(kind, figure.passages)]
        assert row["dim"] == DIM and row["threads"] == 1
        assert figure.build_s == pytest.approx(row["build_cpu_s"], rel=0.02) and figure.search_ms == pytest.approx(row["cpu_p50_ms"], rel=0.02)
        assert figure.recall == pytest.approx(row["recall_at_5"], abs=0.002)
        assert size_bytes(kind, figure.passages, DIM) == pytest.approx(row["bytes"], rel=0.25)


@pytest.mark.parametrize(("text", "size"), [("32GB", 32_000_000_000), ("1.5 GiB", 1_610_612_736), ("7", 7), ("2tb", 2 * 10**12)])
def test_sizes_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-3GB", "3 apples"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="32GB"):
        parse_size(text)


def test_the_command_prints_every_kind_and_the_next_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "plan", "--passages", str(WIKIPEDIA), "--memory", "32GB"]) == 0
    out = capsys.readouterr().out
    assert all(kind in out for kind in KINDS) and "choice: IVF-SQ8" in out and "--factory IVF-SQ8" in out and SOURCE in out
    assert main(["index", "plan", "--passages", "0", "--memory", "32GB"]) == 2
    assert "passages must be at least 1, got 0" in capsys.readouterr().err
