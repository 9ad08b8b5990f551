"""Profiles, files, environment, flags, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from trio_core.errors import SettingsError
from trio_core.settings import Settings, load_settings, profile_names


@pytest.mark.parametrize("name", ["embedded", "vllm", "scripted"])
def test_every_profile_loads(name: str) -> None:
    assert load_settings(name, env={}).profile == name
    assert name in profile_names()


def test_later_sources_win(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("engine: {total_s: 10, idle_s: 7}\n")
    settings = load_settings("scripted", file, {"TRIOSCOPE__ENGINE__TOTAL_S": "20"}, ["engine.connect_s=3"])
    assert (settings.engine.total_s, settings.engine.idle_s, settings.engine.connect_s) == (20, 7, 3)


@pytest.mark.parametrize(("flag", "words"), [
    ("engine.total=60", "did you mean 'total_s'"), ("engin.x=1", "did you mean 'engine'"), ("engine.total_s=-1", "got -1"), ("nonsense", "no '='"),
    ("server.port=99999", "server.port"),
])
def test_a_wrong_setting_is_named(flag: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        load_settings("scripted", env={}, flags=[flag])


def test_unknown_profile_and_broken_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="did you mean 'embedded'"):
        load_settings("embeded", env={})
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [")
    with pytest.raises(SettingsError, match="no valid YAML"):
        load_settings("scripted", broken, {})
    with pytest.raises(SettingsError, match="does not exist"):
        load_settings("scripted", tmp_path / "none.yaml", {})


def test_text_stays_as_it_was_typed() -> None:
    settings = load_settings("scripted", env={}, flags=["store_url=0123", "retriever.corpus=", "retriever.query_prefix='query: '",
                                                        "retriever.passage_prefix=null", "methods.trio.top_k=2"])
    assert settings.store_url == "0123" and settings.retriever.corpus == "" and settings.retriever.query_prefix == "query: "
    assert settings.retriever.passage_prefix is None and settings.methods["trio"]["top_k"] == 2


def test_workers_get_no_password() -> None:
    settings = load_settings("scripted", env={}, flags=["store_url=postgresql://me:s3cret@host/db"])
    sent = settings.for_workers()
    assert "s3cret" not in sent and Settings.model_validate_json(sent).engine == settings.engine
