"""Prompts are files: one YAML a method, strict variables, a version by content hash.

A file maps role -> {system, user, max_tokens, temperature}. `{{name}}` is filled in one pass, so braces inside a passage
stay as they are. A role may be pointed at a prompt file of the user's own (`engine.roles.<role>.prompt_file`), since a
trained checkpoint wants the prompt it was trained on; its variables are checked against those the method offers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from trio_core.engine_settings import RoleSettings
from trio_core.errors import SettingsError
from trio_core.values import Message, Value

_SLOT = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class RolePrompt(Value):
    """The prompt of one agent."""

    system: str = ""
    user: str
    max_tokens: int = Field(default=64, ge=1)
    temperature: float = Field(default=0.0, ge=0, le=2)
    source: str = ""

    def variables(self) -> set[str]:
        """Names of the slots in both texts."""
        return set(_SLOT.findall(self.system + self.user))

    def render(self, **values: str) -> tuple[Message, ...]:
        """Messages with every slot filled. Raises SettingsError that lists all missing names."""
        missing = sorted(self.variables() - set(values))
        if missing:
            raise SettingsError(f"prompt {self.source!r} uses {missing}; this role offers {sorted(values)}")
        filled = [(role, _SLOT.sub(lambda m: values[m.group(1)], text).strip()) for role, text in (("system", self.system), ("user", self.user))]
        return tuple(Message(role=role, content=text) for role, text in filled if text)  # type: ignore[arg-type]


class PromptBook(Value):
    """The prompts of one method by role."""

    method: str
    version: str
    """First 12 hex digits of sha256 over all prompt texts in use."""
    roles: dict[str, RolePrompt]

    def __getitem__(self, role: str) -> RolePrompt:
        return self.roles[role]


@lru_cache
def _bundled(name: str) -> Mapping[str, Any]:
    text = resources.files("trio_core.prompts").joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def load_prompts(method: str, overrides: Mapping[str, RoleSettings] | None = None) -> PromptBook:
    """The method's bundled prompts and the judge's, with a user's files, temperatures and limits in their place.

    Raises SettingsError for a file that is absent, no YAML, or uses a variable that the role does not offer.
    """
    own = tuple((role, settings, _stamp(settings.prompt_file)) for role, settings in (overrides or {}).items())
    return _loaded(method, own)


Stamp = tuple[int, int, int] | None


def _stamp(path: Path | None) -> Stamp:
    """Changes when the file does; costs no reading."""
    try:
        stat = path.stat() if path else None
    except OSError:
        return None
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns) if stat else None


@lru_cache(maxsize=128)
def _loaded(method: str, own: tuple[tuple[str, RoleSettings, Stamp], ...]) -> PromptBook:
    """Made once for each method and state of a user's files: every run asks for it."""
    overrides = {role: settings for role, settings, _ in own}
    roles = {}
    for source in (f"{method}", "judge"):
        data = _bundled(source)
        for role, entry in data["roles"].items():
            bundled = _role(entry, data.get("system", ""), f"{source}.yaml:{role}")
            roles[role] = _override(role, bundled, overrides.get(role))
    digest = hashlib.sha256("\x00".join(f"{r}\x00{p.system}\x00{p.user}" for r, p in sorted(roles.items())).encode())
    return PromptBook(method=method, version=digest.hexdigest()[:12], roles=roles)


def _role(entry: Any, system: str, source: str) -> RolePrompt:
    try:
        return RolePrompt.model_validate({"system": system, **entry, "source": source})
    except (ValidationError, TypeError) as error:
        raise SettingsError(f"prompt {source!r} must hold user (text) and may hold system, max_tokens, temperature: {error}") from error


def _override(role: str, bundled: RolePrompt, settings: RoleSettings | None) -> RolePrompt:
    if settings is None:
        return bundled
    prompt = _read(settings.prompt_file, role) if settings.prompt_file else bundled
    unknown = sorted(prompt.variables() - bundled.variables())
    if unknown:
        raise SettingsError(f"prompt file {prompt.source!r}: role {role!r} offers no {unknown}; it offers {sorted(bundled.variables())}")
    changes = {k: v for k, v in (("max_tokens", settings.max_tokens), ("temperature", settings.temperature)) if v is not None}
    return prompt.model_copy(update=changes)


def _read(path: Path, role: str) -> RolePrompt:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SettingsError(f"prompt file {str(path)!r} for role {role!r} does not exist") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"prompt file {str(path)!r} is no valid YAML: {error}") from error
    return _role(data, "", str(path))
