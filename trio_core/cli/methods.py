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
    settings = {name: {"default": f.default, "type": str(getattr(f.annotation, "__name__", f.annotation))} for name, f in fields.items()}
    return {"name": kind.name, "title": kind.title, "about": kind.about, "roles": list(kind.roles), "settings": settings}


def run(args: argparse.Namespace) -> int:
    """Prints the list."""
    rows = [describe(kind) for kind in METHODS.values()]
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        print(f"{row['name']:14} {row['title']}: {row['about']}")
        for name, field in row["settings"].items():
            print(f"{'':14}   {name} = {field['default']}")
    return 0
