"""One training of the tiny model in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.training.conftest import row, rows, settings_for
from training.base_model import load_model, load_tokenizer
from training.evaluate import judge_rows, p_sufficient
from training.lower_layers import LowerLayers
from training.progress import ProgressLog, read_progress
from training.rows import write_rows
from training.sft import SftConfig, SftResult, main, run
from training.stop import StopRequest
from training.values import JobSettings


@pytest.fixture(scope="module")
def job(tiny: Path, tmp_path_factory) -> tuple[Path, SftConfig]:
    folder = tmp_path_factory.mktemp("job")
    write_rows(folder / "train.jsonl", rows(8))
    write_rows(folder / "held_out.jsonl", rows(4, "held_out", first=10))
    training = settings_for(tiny, folder).training.model_dump()
    config = SftConfig(settings=JobSettings(**{**training, "epochs": 2}), embedded={}, data_dir=folder, held_out_rows=7)
    (folder / "config.json").write_text(config.model_dump_json())
    return folder, config


@pytest.fixture(scope="module")
def result(job) -> SftResult:
    folder, _ = job
    assert run(folder / "config.json") == 0
    return SftResult.model_validate_json((folder / "result.json").read_text())


def test_it_leaves_curves_figures_and_both_adapters(job, result) -> None:
    folder, _ = job
    curves = read_progress(folder)
    assert [step for step, _ in curves.loss] == list(range(1, 9)) and result.step == 8
    assert [point.step for point in curves.held_out] == [0, 8]
    assert curves.loss[-1][1] < curves.loss[0][1]
    assert (result.evaluation.after.rows, result.evaluation.held_out_rows, result.evaluation.threshold_rows) == (4, 7, 8)
    assert (folder / "adapter.gguf").stat().st_size > 0 and result.gguf_note == ""


def test_what_made_the_adapter_lies_beside_it(job, result) -> None:
    made = json.loads((job[0] / "adapter" / "training.json").read_text())
    assert made["config"]["settings"]["seed"] == 13 and made["data_hash"] == result.data_hash
    assert set(made["versions"]) >= {"torch", "trl", "peft", "transformers"}


def test_only_the_last_layers_adapter_is_trained_in_float32(job, result) -> None:
    weights = load_file(job[0] / "adapter" / "adapter_model.safetensors")
    assert len(weights) == 14 and all(".layers.1." in name for name in weights)  # 7 modules, A and B, the last of 2 layers
    assert {w.dtype for w in weights.values()} == {torch.float32}
    assert all(w.abs().sum() > 0 for name, w in weights.items() if "lora_B" in name)  # B begins as zeros: it moved


def test_the_base_stays_as_it_was_and_the_adapter_reproduces_p(tiny, job, result) -> None:
    from peft import PeftModel

    tokenizer, (first, *_) = load_tokenizer(str(tiny)), rows(4, "held_out", first=10)
    model = PeftModel.from_pretrained(load_model(str(tiny), "cpu"), str(job[0] / "adapter")).eval()
    scored = result.evaluation.items[0]
    assert p_sufficient(model, tokenizer, first, LowerLayers(0)) == pytest.approx(scored.p_after, abs=1e-4)
    with model.disable_adapter():
        assert p_sufficient(model, tokenizer, first, LowerLayers(0)) == pytest.approx(scored.p_before, abs=1e-4)
    assert scored.p_before != scored.p_after


def test_a_stopped_evaluation_goes_on_where_it_was(tiny, tmp_path) -> None:
    (tmp_path / "p.jsonl").write_text("[0, 0.25]\n[1, 0.7")  # the last line was cut by a kill
    seen = []
    found = judge_rows(load_model(str(tiny), "cpu"), load_tokenizer(str(tiny)), rows(2), tmp_path / "p.jsonl",
                       lambda done, of, left: seen.append((done, of)))
    assert found[0] == 0.25 and seen == [(2, 2)]


def test_kept_lower_layers_give_the_same_p(tiny) -> None:
    model, tokenizer, (given,) = load_model(str(tiny), "cpu"), load_tokenizer(str(tiny)), rows(1)
    whole, lower = p_sufficient(model, tokenizer, given, LowerLayers(0)), LowerLayers(1)
    assert p_sufficient(model, tokenizer, given, lower) == p_sufficient(model, tokenizer, given, lower) == whole
    below = model.model.layers[0]
    below.forward = None  # the second pass must not need it
    assert p_sufficient(model, tokenizer, given, lower) == whole and len(model.model.layers) == 2


def test_kept_lower_layers_train_the_same(tiny, tmp_path) -> None:
    from training import trainer as t

    settings = JobSettings(**{**settings_for(tiny, tmp_path).training.model_dump(), "epochs": 2})
    model = t.with_adapter(load_model(str(tiny), "cpu"), settings)
    made = t.build_trainer(model, load_tokenizer(str(tiny)), rows(2), settings, tmp_path, "cpu", ProgressLog(tmp_path), StopRequest())
    batch = made.data_collator([made.train_dataset[0]])
    fresh, kept = (made.compute_loss(model, batch) for _ in range(2))
    made.lower = LowerLayers(0)
    assert fresh.item() == kept.item() == made.compute_loss(model, batch).item()
    two = made.compute_loss(model, made.data_collator(list(made.train_dataset)))
    assert two.item() > 0  # a batch of two goes the plain way


def test_a_failure_is_a_result_too(job, tmp_path) -> None:
    broken = job[1].model_copy(update={"settings": job[1].settings.model_copy(update={"base_model": str(tmp_path / "none")})})
    (tmp_path / "config.json").write_text(broken.model_dump_json())
    write_rows(tmp_path / "train.jsonl", rows(2))
    write_rows(tmp_path / "held_out.jsonl", rows(2))
    assert run(tmp_path / "config.json") == 1
    assert "training.base_model" in SftResult.model_validate_json((tmp_path / "result.json").read_text()).error


def test_lost_rows_stop_the_training(job, tmp_path, monkeypatch) -> None:
    from training import trainer
    from trio_core.errors import TrainingError

    monkeypatch.setattr(trainer.Dataset, "from_list", lambda found, real=trainer.Dataset.from_list: real(found[:-1]))
    for name in ("train.jsonl", "held_out.jsonl"):
        write_rows(tmp_path / name, rows(4))
    with pytest.raises(TrainingError, match="4 rows went to the trainer, 3 came out"):
        main(job[1], tmp_path)


@pytest.mark.parametrize("balance", ["weights", "sampling"])
def test_the_rarer_label_weighs_as_much_as_the_other(tiny, tmp_path, balance: str) -> None:
    from training import trainer as t

    given = [row(n, "sufficient" if n == 0 else "insufficient", words=5 + n) for n in range(4)]
    settings = JobSettings(**{**settings_for(tiny, tmp_path).training.model_dump(), "class_balance": balance})
    model = t.with_adapter(load_model(str(tiny), "cpu"), settings)
    made = t.build_trainer(model, load_tokenizer(str(tiny)), given, settings, tmp_path, "cpu", ProgressLog(tmp_path), StopRequest())
    assert len(made.train_dataset) == (6 if balance == "sampling" else 4)
    assert sorted(made.weights.values()) == pytest.approx([] if balance == "sampling" else [4 / 6, 2.0])
    if balance == "weights":
        one, other = (made.compute_loss(model, made.data_collator([made.train_dataset[i]])).item() for i in (0, 1))
        weights, made.weights = made.weights, {}
        assert one == pytest.approx(2 * made.compute_loss(model, made.data_collator([made.train_dataset[0]])).item())
        assert other == pytest.approx(2 / 3 * made.compute_loss(model, made.data_collator([made.train_dataset[1]])).item())
        assert set(weights) == set(t.label_ids(load_tokenizer(str(tiny)), given[0].messages))


def test_a_job_tunes_its_threshold_on_rows_that_were_kept_out(job, tiny, tmp_path) -> None:
    write_rows(tmp_path / "train.jsonl", rows(4))
    write_rows(tmp_path / "held_out.jsonl", rows(2, "held_out", first=10))
    write_rows(tmp_path / "calibration.jsonl", rows(2, first=20))
    result = main(job[1], tmp_path)
    judged = {int(line.split(",")[0][1:]) for line in (tmp_path / "p_after.jsonl").read_text().split("\n") if line}
    assert judged == {10, 11, 20, 21} and result.evaluation.threshold_rows == 2
    assert json.loads((tmp_path / "adapter" / "training.json").read_text())["labels"] == {"insufficient": 2, "sufficient": 2}
