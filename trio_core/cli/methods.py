"""`methods`: what can be run, with each method's settings and their defaults."""

from __future__ import annotations

import argparse
import json
from typing import Any

from trio_core.methods import METHODS


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser("methods", help="list the methods")
    parser.add_argument("--json", action="store_true", help="one JSON array")


def describe(kind: type[Any]) -> dict[str, Any]:
    """A method in plain data."""
    fields = kind.settings_type.model_fields
    calls, searches = kind(kind.settings_type(), None).max_calls()
    settings = {name: {"default": f.default, "type": str(getattr(f.annotation, "__name__", f.annotation))} for name, f in fields.items()}
    return {
        "name": kind.name, "title": kind.title, "about": kind.about, **kind.page._asdict(), "max_calls": calls, "max_retrievals": searches,
        "roles": list(kind.roles), "settings": settings, "presets": {k: dict(v) for k, v in getattr(kind.settings_type, "presets", {}).items()},
    }


def run(args: argparse.Namespace) -> int:
    """Prints the list."""
    rows = [describe(kind) for kind in METHODS.values()]
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        print(f"{row['name']:16} {row['title']}: {row['about']}")
        calls, searches = row["max_calls"], row["max_retrievals"]
        print(f"{'':16}   at most {calls} call{'s'[:calls != 1]}, {searches} retrieval{'s'[:searches != 1]} by default")
        print(f"{'':16}   needs: {row['needs']}")
        print(f"{'':16}   differs: {row['differs']}")
        for name, field in row["settings"].items():
            print(f"{'':16}   {name} = {field['default']}")
        for name, filled in row["presets"].items():
            print(f"{'':16}   preset {name}: {', '.join(f'{k} = {v}' for k, v in filled.items()) or 'the defaults'}")
    return 0
