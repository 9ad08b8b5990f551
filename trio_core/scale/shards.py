"""`map_shards`: a function over shards, here one after the other, or as tasks of a Ray cluster.

    engine = shard_engine("ray", address="ray-head:6379")
    for number, result in map_shards(engine, partial(work, settings), shards): keep(number, result)

The function is a module's own (a partial of one, too), takes one shard and returns one result; both can be pickled. It must give the
same result wherever and however often it runs: a shard whose worker dies is run again elsewhere. Results come as they are ready, so the
caller keeps each at once and gives only the missing shards next time; `kept_shards` does that for results that are JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from trio_core.errors import SettingsError

Shard = TypeVar("Shard")
Result = TypeVar("Result")
EngineName = Literal["local", "ray"]
ENGINES: tuple[EngineName, ...] = ("local", "ray")


class ShardEngine(Protocol):
    """Where shards are worked on."""

    name: EngineName

    def run(self, work: Callable[[Shard], Result], shards: Sequence[Shard]) -> Iterator[tuple[int, Result]]:
        """(number of the shard, result) as they are ready. Raises what the function raises."""


class LocalEngine:
    """In this process, one shard after the other."""

    name: EngineName = "local"

    def run(self, work: Callable[[Shard], Result], shards: Sequence[Shard]) -> Iterator[tuple[int, Result]]:
        """In order."""
        return ((number, work(shard)) for number, shard in enumerate(shards))


def shard_engine(name: str = "local", address: str = "") -> ShardEngine:
    """The engine of that name; `address` of a Ray cluster, empty = this machine. Raises SettingsError (unknown, Ray not installed)."""
    if name == "local":
        if address:
            raise SettingsError(f"--address {address!r} is Ray's; add --engine ray, or leave it out")
        return LocalEngine()
    if name == "ray":
        from trio_core.scale.ray_engine import RayEngine  # Ray is an extra

        return RayEngine(address)
    raise SettingsError(f"there is no engine {name!r}; choose one of {', '.join(ENGINES)}")


def map_shards(engine: ShardEngine, work: Callable[[Shard], Result], shards: Sequence[Shard]) -> Iterator[tuple[int, Result]]:
    """(number of the shard, result) of every shard, in the order in which they are ready."""
    return engine.run(work, shards)


def kept_shards(engine: ShardEngine, work: Callable[[Any], Any], shards: Sequence[Any], folder: Path,
                on_done: Callable[[int], None] = lambda done: None) -> list[Any]:
    """Results (JSON) in the order of the shards (JSON); each is a file in `folder`, and one that is there is not worked on again.

    The folder's name must stand for the function and its settings. `on_done` gets the number of shards that are done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{_key(shard)}.json" for shard in shards]
    missing = [number for number, file in enumerate(files) if not file.exists()]
    on_done(len(files) - len(missing))
    for done, (at, result) in enumerate(map_shards(engine, work, [shards[number] for number in missing]), len(files) - len(missing) + 1):
        # Renamed when complete: a file that bears the name is whole.
        temporary = folder / "unfinished"
        temporary.write_text(json.dumps(result, ensure_ascii=False), encoding="utf-8")
        temporary.replace(files[missing[at]])
        on_done(done)
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def cut(items: Sequence[Shard], size: int) -> list[list[Shard]]:
    """The items in shards of `size`, the last one shorter."""
    return [list(items[at:at + size]) for at in range(0, len(items), size)]


def add_engine_flags(parser: Any) -> None:
    """Adds --engine and --address to an argparse parser."""
    parser.add_argument("--engine", choices=ENGINES, default="local", help="where the heavy part runs (default local)")
    parser.add_argument("--address", default="", metavar="HOST:PORT", help="Ray cluster to join; without it Ray is started on this machine")


def _key(shard: Any) -> str:
    return hashlib.sha256(json.dumps(shard, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:24]
