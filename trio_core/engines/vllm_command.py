"""The command line that starts vLLM: how many GPUs a model is spread over, how many copies answer, and who runs the workers."""

from __future__ import annotations

from urllib.parse import urlsplit

from trio_core.engine_settings import EngineSettings
from trio_core.errors import SettingsError


def serve_command(settings: EngineSettings) -> list[str]:
    """`vllm serve MODEL …`; what `engine.vllm.args` says comes last, so that it wins. Raises SettingsError without a model name."""
    if not settings.model:
        raise SettingsError("engine.vllm.start needs engine.model: the model that vLLM is to serve")
    where, vllm = urlsplit(settings.base_url), settings.vllm
    flags = {"--host": where.hostname or "127.0.0.1", "--port": where.port or 8000}
    if vllm.tensor_parallel_size > 1:
        flags["--tensor-parallel-size"] = vllm.tensor_parallel_size
    if vllm.distributed_executor_backend is not None:
        flags["--distributed-executor-backend"] = vllm.distributed_executor_backend
    if vllm.data_parallel_size > 1:
        flags["--data-parallel-size"] = vllm.data_parallel_size
        # vLLM starts as many front ends as copies; with more than one it refuses to load adapters while it runs, which judges need.
        flags["--api-server-count"] = 1
        if vllm.distributed_executor_backend == "ray":
            flags["--data-parallel-backend"] = "ray"
    return [vllm.command, "serve", settings.model, *(str(part) for pair in flags.items() for part in pair), *vllm.args]
