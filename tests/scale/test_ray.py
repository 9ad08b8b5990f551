"""Ray with two worker nodes on this machine: same results as the local engine, also when a worker or a node is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from storage.store import open_store
from tests.evaluation.helpers import PLAIN, questions
from tests.scale.work import bad, counted, killed_once, slow, squares
from tests.training.conftest import judge_item
from training.work import main
from training.work_values import VotesTask, WorkConfig
from trio_core.engines.base import JudgeAdapter
from trio_core.evaluation.batch import Plan
from trio_core.evaluation.elsewhere import run_elsewhere
from trio_core.evaluation.rows import row_of
from trio_core.memory_store import MemoryStore
from trio_core.retrieval import faiss_index
from trio_core.retrieval.corpus import Corpus
from trio_core.retrieval.index import build_index
from trio_core.retrieval.models import HashedWords
from trio_core.scale.shards import ShardEngine, cut, kept_shards, map_shards, shard_engine
from trio_core.settings import load_settings

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray = pytest.importorskip("ray", reason="Ray is an extra: pip install -r requirements/ray.txt")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SHARDS = cut(range(24), 2)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without CPUs and two worker nodes of one CPU each."""
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    found.nodes = [found.add_node(num_cpus=1) for _ in range(2)]
    found.wait_for_nodes()
    yield found
    ray.shutdown()
    found.shutdown()


@pytest.fixture
def engine(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> ShardEngine:
    """An engine that has joined the cluster, with the tests' own functions on the workers."""
    monkeypatch.setattr("trio_core.scale.ray_engine.PACKAGES", ("trio_core", "storage", "training", "tests"))
    return shard_engine("ray", cluster.address)


def test_same_results_on_both_nodes(engine: ShardEngine, tmp_path: Path) -> None:
    (tmp_path / "ran").mkdir()
    found = kept_shards(engine, partial(slow, str(tmp_path / "ran")), SHARDS[:6], tmp_path / "kept")
    assert found == [squares(shard) for shard in SHARDS[:6]]
    assert len({path.name.split("-")[1] for path in (tmp_path / "ran").iterdir()}) == 2, "both workers had shards"


def test_a_killed_worker_is_replaced(engine: ShardEngine, tmp_path: Path) -> None:
    found = dict(map_shards(engine, partial(killed_once, str(tmp_path), 9), SHARDS))
    assert [found[n] for n in range(len(SHARDS))] == [squares(shard) for shard in SHARDS]
    assert len(list(tmp_path.glob("8-*"))) == 2, "the shard of the killed worker ran twice"


def test_shards_that_are_kept_are_not_sent(engine: ShardEngine, tmp_path: Path) -> None:
    (tmp_path / "ran").mkdir()
    work = partial(counted, str(tmp_path / "ran"))
    kept_shards(shard_engine(), work, SHARDS[:8], tmp_path / "kept")
    assert kept_shards(engine, work, SHARDS, tmp_path / "kept") == [squares(shard) for shard in SHARDS]
    assert len(list((tmp_path / "ran").iterdir())) == len(SHARDS)


def test_an_error_of_the_function_is_raised_as_it_is(engine: ShardEngine) -> None:
    with pytest.raises(ValueError, match="cannot be worked on"):
        list(map_shards(engine, bad, SHARDS[:3]))


def test_an_index_encoded_by_ray_is_the_local_one(engine: ShardEngine, tmp_path: Path) -> None:
    corpus = tmp_path / "c.tsv"
    corpus.write_text("id\ttext\ttitle\n" + "".join(f"{n}\tword{n} other{n % 7}\tTitle {n}\n" for n in range(120)), encoding="utf-8")
    indexes = []
    for name, where in (("local", None), ("ray", engine)):
        built = build_index(Corpus.open(corpus), tmp_path / name, "dense", HashedWords(), shard_rows=16, engine=where)
        [file] = faiss_index.files(tmp_path / name / built.manifest.dense.folder)  # type: ignore[union-attr]
        indexes.append(np.fromfile(file, dtype=np.uint8))
    assert np.array_equal(*indexes)


def test_votes_by_ray_are_those_of_this_process(engine: ShardEngine, cluster: Any, tmp_path: Path) -> None:
    found = []
    for name in ("local", "ray"):
        data = tmp_path / name
        data.mkdir()
        settings = load_settings("scripted", env={}, flags=[f"data_dir={data}"])
        store = open_store(settings.database_url)
        for number in range(20):
            store.add_item(judge_item(f"question {number}", f"passage {number}"), "test", question_id=str(number))
        questions = "".join(json.dumps({"id": n, "question": f"question {n}", "golden_answers": ["Delft"]}) + "\n" for n in range(16))
        (tmp_path / "asked.jsonl").write_text(questions, encoding="utf-8")
        task = VotesTask(samples=3, answers_file=tmp_path / "asked.jsonl", engine=name, address=cluster.address if name == "ray" else "")
        found.append((main(WorkConfig(settings=settings, task=task, job_id=1), data), store.vote_counts()))
        store.close()
    assert found[0] == found[1] and found[0][0].report["items"] == 16


def test_an_evaluation_by_ray_is_that_of_this_process(engine: ShardEngine, tmp_path: Path) -> None:
    chosen, settings = questions(6), load_settings("scripted", env={}, flags=[f"data_dir={tmp_path}"])
    plan, found = Plan("eval-1", (PLAIN,), chosen), []
    for where in (shard_engine(), engine):
        store = MemoryStore()
        assert run_elsewhere(plan, settings, JudgeAdapter(), store, where) == 6
        assert run_elsewhere(plan, settings, JudgeAdapter(), store, where) == 0, "what is stored is not run again"
        rows = [row_of(r.id, q, plan.gold(q), "no_retrieval", r.request.evaluation, store.events(r.id))  # type: ignore[arg-type]
                for q in chosen for r in store.runs_of_group("eval-1") if r.question_id == q.id]
        found.append([row.model_dump(exclude={"run_id", "seconds"}) for row in rows])
    assert found[0] == found[1] and [row["status"] for row in found[0]] == ["finished"] * 6


def test_a_lost_node_costs_no_shard(cluster: Any, engine: ShardEngine, tmp_path: Path) -> None:
    results = map_shards(engine, partial(slow, str(tmp_path)), SHARDS[:8])
    found = dict([next(results), next(results)])
    cluster.remove_node(cluster.nodes.pop(), allow_graceful=False)
    found |= dict(results)
    assert [found[n] for n in range(8)] == [squares(shard) for shard in SHARDS[:8]]
