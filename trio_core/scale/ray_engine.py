"""Shards as tasks of Ray Core. Ray runs a task again when its worker, or the worker's node, is lost."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from trio_core.errors import SettingsError
from trio_core.scale.shards import EngineName
from trio_core.settings import PROJECT_ROOT

Shard = TypeVar("Shard")
Result = TypeVar("Result")
LOST_AT_MOST = 10
"""So often a shard is run again because its worker died, before it counts as the shard's own fault."""
AHEAD = 2
"""Shards handed out for each CPU of the cluster, so that the shards of a large corpus do not all lie in memory at once."""
PACKAGES = ("trio_core", "storage", "training")


class RayEngine:
    """A cluster that runs already (`address`), or one started on this machine for as long as this process lives."""

    name: EngineName = "ray"

    def __init__(self, address: str = "", cpus_per_shard: float = 1.0) -> None:
        """Joins or starts. Raises SettingsError where Ray is not installed or the cluster does not answer."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to anyone
        try:
            self._ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise SettingsError("--engine ray needs Ray: pip install -r requirements/ray.txt, or use --engine local") from error
        self._cpus = cpus_per_shard
        if not self._ray.is_initialized():
            self._join(address)

    def run(self, work: Callable[[Shard], Result], shards: Sequence[Shard]) -> Iterator[tuple[int, Result]]:
        """As they are ready. What the function raises is raised here as it is; tasks that still run are cancelled then."""
        task = self._ray.remote(num_cpus=self._cpus, max_retries=LOST_AT_MOST)(_shard)
        shared = self._ray.put(work)
        running: dict[Any, int] = {}
        todo = iter(enumerate(shards))
        try:
            while True:
                while len(running) < self._window() and (following := next(todo, None)) is not None:
                    running[task.remote(shared, following[1])] = following[0]
                if not running:
                    return
                ready, _ = self._ray.wait(list(running), num_returns=1)
                number, result = running.pop(ready[0]), self._result(ready[0])
                yield number, result
        finally:
            for reference in running:
                self._ray.cancel(reference)

    def _window(self) -> int:
        return max(AHEAD, round(AHEAD * self._ray.cluster_resources().get("CPU", 1) / self._cpus))

    def _result(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause or error) from None

    def _join(self, address: str) -> None:
        options: dict[str, Any] = {"address": address} if address else {"address": "local", "include_dashboard": False}
        # Machines of the cluster need this project's requirements; its code travels with the job.
        code = [str(PROJECT_ROOT / name) for name in PACKAGES] if address else None
        try:
            self._ray.init(**options, log_to_driver=False, runtime_env={"py_modules": code} if code else None)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise SettingsError(f"Ray at {address or 'this machine'!r} cannot be used ({type(error).__name__}: {str(error)[:200]})") from error


def _shard(work: Callable[[Any], Any], shard: Any) -> Any:
    return work(shard)
