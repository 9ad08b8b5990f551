"""Settings: a profile file, then the user's file, then the environment, then flags; later ones win.

Profiles are YAML files in `trio_core/profiles`. The environment sets single values with `TRIOSCOPE__` and two underscores
for a dot (`TRIOSCOPE__ENGINE__TOTAL_S=60`); flags do the same with `--set engine.total_s=60`. An unknown key is
refused with the nearest valid name, whichever way it came.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, Field, ValidationError

from trio_core.engine_settings import EngineSettings
from trio_core.errors import SettingsError
from trio_core.server_settings import ServerSettings
from trio_core.values import Value

ENV_PREFIX = "TRIOSCOPE__"


class HttpRetrieverSettings(Value):
    """A remote retriever."""

    url: str = "http://127.0.0.1:8000/retrieve"
    profile: Literal["search_r1", "research", "r1_searcher", "ircot"] = "search_r1"
    """Whose protocol it speaks: search_r1 …/retrieve, research …/batch_search or …/search, r1_searcher …/queries, ircot …/retrieve/."""
    timeout_s: float = Field(default=20.0, gt=0)
    retries: int = Field(default=1, ge=0, le=5)
    corpus_name: str = ""
    """IRCoT: which of the server's corpora (`hotpotqa`, `musique`, …)."""
    document_type: str = "paragraph_text"
    """IRCoT: `paragraph_text`, `title_paragraph_text` or `title`."""


class RetrieverSettings(Value):
    """Where passages come from."""

    kind: Literal["dense", "bm25", "hybrid", "http"] = "dense"
    corpus: str = "demo"
    """`demo`, or a path: FlashRAG .jsonl, DPR .tsv, a folder of .txt/.md; .gz of the files."""
    index_dir: Path | None = None
    """Null = `<data_dir>/indexes/<name of the corpus>`."""
    encoder: str = "all-MiniLM-L6-v2"
    """`all-MiniLM-L6-v2` comes from a pip package; any other name or path is loaded by sentence-transformers."""
    query_prefix: str | None = None
    passage_prefix: str | None = None
    """Null = by model (E5: `query: ` and `passage: `)."""
    factory: str = "Flat"
    """`Flat`, `HNSW`, `IVF-SQ8`, `PQ` (see `index plan`), or a FAISS factory string."""
    parts: int = Field(default=1, ge=1, le=99)
    """Files that a large vector index is split into; a query is searched in all of them at once."""
    mmap: bool = False
    batch_size: int = Field(default=64, ge=1)
    reranker: str = ""
    """Name or folder of a cross-encoder that sorts what was found anew; empty = none."""
    rerank_depth: int = Field(default=50, ge=1, le=1000)
    """Passages that the reranker reads for each query."""
    http: HttpRetrieverSettings = HttpRetrieverSettings()


class JudgeSettings(Value):
    """How a verdict is read."""

    threshold: float = Field(default=0.5, ge=0, le=1)
    """P(sufficient) from which the verdict is `sufficient`; a promoted judge version brings its own."""


class RunSettings(Value):
    """Limits of the run hub."""

    max_running: int = Field(default=4, ge=1, le=256)
    """Runs that work at once; others wait in line, visibly."""
    time_limit_s: float = Field(default=1800.0, gt=0)
    question_chars: int = Field(default=4000, ge=100)


class TrainingSettings(Value):
    """Judge SFT (TRL, LoRA). Defaults are those of the CPU profile."""

    base_model: str = ""
    """A Hugging Face folder or hub name; empty = the embedded GGUF, dequantised once into the data folder."""
    lora_rank: int = Field(default=16, ge=1, le=256)
    lora_alpha: int = Field(default=32, ge=1)
    lora_layers: int = Field(default=10, ge=1)
    """How many of the last layers get an adapter."""
    learning_rate: float = Field(default=4e-4, gt=0)
    epochs: float = Field(default=1.0, gt=0)
    batch_size: int = Field(default=8, ge=1)
    max_tokens: int = Field(default=1400, ge=64)
    """Rows with longer prompts are left out, counted and named."""
    max_rows: int = Field(default=140, ge=2)
    seed: int = 13
    device: Literal["cpu", "cuda", "auto"] = "auto"


class Settings(Value):
    """All settings of one app."""

    profile: str = "embedded"
    data_dir: Path = Path("var")
    """Store, indexes, models, adapters and logs live here; relative to the project's folder."""
    store_url: str = ""
    """Empty = SQLite in the data folder."""
    store_opener: str = "storage:open_store"
    """`module:function` that opens the store for the command line, by its URL; empty = one that forgets."""
    annotator: str = "me"
    """Name that labels are stored under when nobody logs in and none is typed in the page's header."""
    data_folders: tuple[Path, ...] = ()
    """Folders beside `<data_dir>/datasets` whose data sets and corpora the Evaluate page may open; relative to the project's folder."""
    server: ServerSettings = ServerSettings()
    engine: EngineSettings = EngineSettings()
    retriever: RetrieverSettings = RetrieverSettings()
    judge: JudgeSettings = JudgeSettings()
    runs: RunSettings = RunSettings()
    training: TrainingSettings = TrainingSettings()
    methods: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Settings by method name; each method's own class checks them."""

    @property
    def database_url(self) -> str:
        """The store's URL."""
        return self.store_url or f"sqlite:///{self.data_dir / 'trioscope.db'}"

    def for_workers(self) -> str:
        """JSON for the workers of a cluster: without the store's URL, which may hold a password, for they store nothing."""
        return self.model_copy(update={"store_url": ""}).model_dump_json()


PROJECT_ROOT = Path(__file__).resolve().parent.parent


def profile_names() -> list[str]:
    """Names of the bundled profiles."""
    files = resources.files("trio_core.profiles").iterdir()
    return sorted(f.name.removesuffix(".yaml") for f in files if f.name.endswith(".yaml"))


def load_settings(
    profile: str | None = None,
    file: Path | None = None,
    env: Mapping[str, str] | None = None,
    flags: Iterable[str] = (),
) -> Settings:
    """Merges profile, file, environment and flags (`a.b=value`).

    `profile` defaults to `TRIOSCOPE_PROFILE`, then `embedded`; `file` to `TRIOSCOPE_SETTINGS`.
    Raises SettingsError with the offending key, the value and the nearest valid name.
    """
    env = os.environ if env is None else env
    name = profile or env.get("TRIOSCOPE_PROFILE") or "embedded"
    if name not in profile_names():
        raise SettingsError(f"profile {name!r} does not exist; choose one of {', '.join(profile_names())}{_hint(name, profile_names())}")
    merged = _read_yaml(resources.files("trio_core.profiles").joinpath(f"{name}.yaml"))
    merged["profile"] = name
    chosen = file or (Path(env["TRIOSCOPE_SETTINGS"]) if env.get("TRIOSCOPE_SETTINGS") else None)
    if chosen is not None:
        merged = _merge(merged, _read_yaml(chosen))
    for key, value in env.items():
        if key.startswith(ENV_PREFIX):
            _assign(merged, key[len(ENV_PREFIX):].lower().split("__"), value)
    for flag in flags:
        path, equals, value = flag.partition("=")
        if not equals:
            raise SettingsError(f"--set {flag!r} has no '='; write --set engine.total_s=60")
        _assign(merged, path.strip().split("."), value)
    return _validate(merged)


def _read_yaml(path: Any) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SettingsError(f"settings file {str(path)!r} does not exist") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"settings file {str(path)!r} is no valid YAML: {error}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise SettingsError(f"settings file {str(path)!r} must hold key: value lines, not {type(data).__name__}")
    return data


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, Mapping) else value
    return merged


def _assign(target: dict[str, Any], path: list[str], text: str) -> None:
    """A text setting keeps what was typed: a key of digits is no number, an empty name not null."""
    value, wanted = _read_value(text), _type_at(path)
    if not isinstance(value, str) and (wanted is str or wanted == str | None and value is not None):
        value = text
    for part in path[:-1]:
        inner = target.get(part)
        target[part] = dict(inner) if isinstance(inner, dict) else {}
        target = target[part]
    target[path[-1]] = value


def _read_value(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _type_at(path: list[str]) -> Any:
    """Type of a setting; null where there is none."""
    model: Any = Settings
    for part in path:
        field = getattr(model, "model_fields", {}).get(part)
        model = field.annotation if field else None
    return model


def _validate(data: dict[str, Any]) -> Settings:
    try:
        settings = Settings.model_validate(data)
    except ValidationError as error:
        raise SettingsError("; ".join(explain(e, Settings) for e in error.errors())) from error
    if not settings.data_dir.is_absolute():
        settings = settings.model_copy(update={"data_dir": PROJECT_ROOT / settings.data_dir})
    settings = settings.model_copy(update={"data_folders": tuple(PROJECT_ROOT / folder for folder in settings.data_folders)})
    accounts = settings.server.accounts
    if accounts is not None and not accounts.is_absolute():
        settings = settings.model_copy(update={"server": settings.server.model_copy(update={"accounts": PROJECT_ROOT / accounts})})
    return settings


def explain(error: Any, root: type[BaseModel]) -> str:
    """One pydantic error in plain words: the dotted key, the value and, for an unknown key, the nearest name."""
    location = [str(part) for part in error["loc"]]
    key = ".".join(location)
    if error["type"] == "extra_forbidden":
        return f"unknown setting {key!r}{_hint(location[-1], _names_at(root, location[:-1]))}"
    return f"setting {key!r}: {error['msg']} (got {error['input']!r})"


def _names_at(root: type[BaseModel], path: list[str]) -> list[str]:
    model: Any = root
    for part in path:
        field = model.model_fields.get(part) if hasattr(model, "model_fields") else None
        model = field.annotation if field else model
    return list(getattr(model, "model_fields", {}))


def _hint(name: str, valid: list[str]) -> str:
    near = difflib.get_close_matches(name, valid, n=1, cutoff=0.4)
    return f"; did you mean {near[0]!r}?" if near else f"; valid names: {', '.join(valid)}"
