"""Prompt files: strict variables, one pass, a user's own file."""

from __future__ import annotations

from pathlib import Path

import pytest

from trio_core.engine_settings import RoleSettings
from trio_core.errors import SettingsError
from trio_core.methods import METHODS
from trio_core.prompting import RolePrompt, load_prompts


@pytest.mark.parametrize("name", list(METHODS))
def test_each_method_has_a_prompt_for_each_role(name: str) -> None:
    book = load_prompts(name)
    assert set(METHODS[name].roles) <= set(book.roles)


def test_agents_of_one_run_share_the_prefix() -> None:
    book = load_prompts("trio")
    values = {"pool": "POOL", "question": "Q", "used": "U", "hint": ""}
    prefixes = {book[r].render(**values)[0].content + book[r].render(**values)[1].content.split("POOL")[0] for r in ("query", "judge", "answer")}
    assert len(prefixes) == 1


def test_slots_are_filled_once_and_missing_ones_are_listed() -> None:
    prompt = RolePrompt(user="{{a}} {{ b }}", source="x")
    assert prompt.render(a="{{b}}", b="2")[0].content == "{{b}} 2"
    with pytest.raises(SettingsError, match=r"\['a', 'b'\]"):
        prompt.render()


def test_a_prompt_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    own = tmp_path / "judge.yaml"
    roles = {"judge": RoleSettings(prompt_file=own)}
    own.write_text("user: 'One: {{pool}} {{question}}'\n")
    first = load_prompts("trio", roles)
    assert load_prompts("trio", roles) is first
    own.write_text("user: 'Another: {{pool}} {{question}}'\n")
    assert load_prompts("trio", roles)["judge"].user.startswith("Another")
    own.unlink()
    with pytest.raises(SettingsError, match="does not exist"):
        load_prompts("trio", roles)


def test_a_users_prompt_changes_the_version_and_may_not_ask_for_more(tmp_path: Path) -> None:
    own = tmp_path / "judge.yaml"
    own.write_text("user: 'Pool: {{pool}} Q: {{question}}'\nmax_tokens: 5\n")
    book = load_prompts("trio", {"judge": RoleSettings(prompt_file=own)})
    assert book["judge"].max_tokens == 5 and book.version != load_prompts("trio").version
    own.write_text("user: '{{gold}}'")
    with pytest.raises(SettingsError, match="offers no \\['gold'\\]"):
        load_prompts("trio", {"judge": RoleSettings(prompt_file=own)})
