"""Finding and checking the model file. Small stand-ins take the place of the gigabyte."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from trio_core.engine_settings import EmbeddedSettings
from trio_core.engines import model_file
from trio_core.engines.model_file import check_file, find_model, installed_parts, join_parts
from trio_core.errors import ModelFileError

CONTENT = b"GGUF" + b"weights" * 100
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    files = [tmp_path / f"part{n}.bin" for n in range(3)]
    for n, file in enumerate(files):
        file.write_bytes(CONTENT[n * 250 : (n + 1) * 250])
    return files


def test_parts_are_joined_in_order_and_progress_is_told(parts: list[Path], tmp_path: Path) -> None:
    told: list[float] = []
    target = join_parts(parts, tmp_path / "models" / "m.gguf", SHA, lambda what, share: told.append(share))
    assert target.read_bytes() == CONTENT
    assert told[-1] == 1.0


def test_wrong_parts_leave_no_file_and_name_both_hashes(parts: list[Path], tmp_path: Path) -> None:
    parts[1].write_bytes(b"x" * 250)
    with pytest.raises(ModelFileError, match=f"sha256 .* expected {SHA}.*pip install"):
        join_parts(parts, tmp_path / "models" / "m.gguf", SHA, lambda what, share: None)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_missing_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="nowhere.gguf.*engine.embedded.model_path"):
        find_model(EmbeddedSettings(model_path=tmp_path / "nowhere.gguf"), tmp_path)


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.gguf").write_bytes(b"<html>")
    with pytest.raises(ModelFileError, match="no GGUF"):
        check_file(tmp_path / "page.gguf", "")


def test_a_hash_is_computed_once_and_again_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(CONTENT)
    check_file(file, SHA)
    with monkeypatch.context() as patch:
        patch.setattr(model_file, "_hash", lambda path, progress: pytest.fail("hashed again"))
        check_file(file, SHA)
    file.write_bytes(CONTENT + b"!")
    with pytest.raises(ModelFileError, match="wrong content"):
        check_file(file, SHA)


def test_a_model_of_ones_own_is_not_hashed(tmp_path: Path) -> None:
    file = tmp_path / "own.gguf"
    file.write_bytes(CONTENT)
    assert find_model(EmbeddedSettings(model_path=file, sha256=""), tmp_path) == file


def test_the_cache_comes_before_packages_and_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "installed_parts", lambda: pytest.fail("looked at packages"))
    settings = EmbeddedSettings(sha256=SHA)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / settings.hub_file).write_bytes(CONTENT)
    assert find_model(settings, tmp_path).read_bytes() == CONTENT


def test_without_any_source_the_message_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "installed_parts", lambda: [])
    with pytest.raises(ModelFileError, match="0 of 22 packages.*requirements/model.txt"):
        find_model(EmbeddedSettings(hub_repo="nobody/nothing"), tmp_path)


@pytest.mark.slow
def test_the_packages_hold_22_parts_in_order() -> None:
    names = [path.name for path in installed_parts()]
    assert names == [f"part{n:02d}.bin" for n in range(1, 23)]


def test_a_read_only_folder_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(CONTENT)
    monkeypatch.setattr(Path, "write_text", lambda *a, **k: (_ for _ in ()).throw(OSError("read-only")))
    assert check_file(file, SHA) == file
    assert not os.path.exists(str(file) + ".sha256.json")
