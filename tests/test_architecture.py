"""Imports go one way (the table of the README), and no module costs what it need not."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FORBIDDEN = {
    "trio_core": {"gradio", "sqlalchemy", "alembic", "trl", "storage", "ui", "training"},
    "storage": {"gradio", "trl", "ui", "training"},
    "training": {"gradio", "ui"},
    "ui": {"sqlalchemy", "alembic", "trl"},
}


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").split(".")[0])
    return found


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_imports_go_one_way(package: str) -> None:
    files = list((ROOT / package).rglob("*.py"))
    assert files
    assert {str(f.relative_to(ROOT)): sorted(bad) for f in files if (bad := imported(f) & FORBIDDEN[package])} == {}


def test_the_top_level_is_the_agreed_one() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    top = {name.split("/")[0] for name in tracked}
    assert top <= {
        "app.py", "trio_core", "ui", "training", "storage", "tests", "requirements.txt", "README.md", "pyproject.toml", "Makefile",
        ".ci", "requirements", "LICENSE", ".gitignore", "CHANGELOG.md", "docs", "docker",
    }


def test_the_command_line_starts_without_torch() -> None:
    code = "import sys, trio_core.__main__; sys.exit(any(m in sys.modules for m in ('torch', 'transformers', 'faiss')))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
