"""Settings of the model server: which one answers, and the limits of every call."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from trio_core.values import Value


class EmbeddedSettings(Value):
    """The embedded engine: a small GGUF model served by llama.cpp in a child process."""

    model_path: Path | None = None
    """A GGUF file; null = search the cache, the pip packages, then the hub."""
    sha256: str = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
    """Expected hash; empty = not checked (a model of your own)."""
    hub_repo: str = "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"
    hub_file: str = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    threads: int = Field(default=0, ge=0)
    """0 = the number of cores."""
    slots: int = Field(default=2, ge=1, le=16)
    context_tokens: int = Field(default=16384, ge=512)
    """Total over all slots."""
    cache_ram_mib: int = Field(default=1024, ge=0)
    port: int = Field(default=0, ge=0, le=65535)
    """0 = any free port."""


class VllmSettings(Value):
    """A vLLM server: attach to `engine.base_url`, or start one with this command."""

    start: bool = False
    command: str = "vllm"
    """The executable of vLLM's own environment (it cannot share the app's)."""
    tensor_parallel_size: int = Field(default=1, ge=1)
    """GPUs that one copy of the model is spread over."""
    data_parallel_size: int = Field(default=1, ge=1)
    """Copies of the model behind one address; each takes `tensor_parallel_size` GPUs."""
    distributed_executor_backend: Literal["mp", "ray"] | None = None
    """Who runs workers and copies: processes of one host, or a Ray cluster that stands already; null = vLLM's choice (one host)."""
    args: tuple[str, ...] = ()
    """More flags of `vllm serve`; they win over the ones above."""
    startup_s: float = Field(default=600.0, gt=0)
    adapters: dict[str, str] = Field(default_factory=dict)
    """Role -> PEFT folder on the server's machine; loaded at start as `<role>`."""


class RoleSettings(Value):
    """What one agent (role) uses in place of the defaults."""

    model: str | None = None
    adapter: str | None = None
    prompt_file: Path | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)


class EngineSettings(Value):
    """Which model server answers, and our limits on every call (seconds)."""

    kind: Literal["embedded", "openai", "vllm", "scripted"] = "embedded"
    base_url: str = "http://127.0.0.1:8000/v1"
    model: str = ""
    """Model name to ask for; empty = the first that the server lists."""
    api_key_env: str = "TRIOSCOPE_API_KEY"
    """Name of the environment variable that holds the key (keys never stand in files)."""
    connect_s: float = Field(default=5.0, gt=0)
    first_token_s: float = Field(default=180.0, gt=0)
    idle_s: float = Field(default=30.0, gt=0)
    total_s: float = Field(default=300.0, gt=0)
    retries: int = Field(default=1, ge=0, le=5)
    """Only where nothing has been emitted yet."""
    context_tokens: int | None = None
    """Overrides what the server says."""
    thinks: bool | None = None
    """Whether the model reasons before it answers (then no stop strings are sent, which would cut its reasoning); null = found out."""
    roles: dict[str, RoleSettings] = Field(default_factory=dict)
    embedded: EmbeddedSettings = EmbeddedSettings()
    vllm: VllmSettings = VllmSettings()
    script: Path | None = None
    """Scripted engine: a YAML file of replies."""
