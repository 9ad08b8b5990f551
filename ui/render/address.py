"""Addresses of pages whose selection stands in the address."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode


def address_of(page: str, asked: Any) -> str:
    """`asked` = a named tuple with a default for every field; what is as usual is left out."""
    usual = asked._field_defaults
    given = {name: value for name, value in asked._asdict().items() if value != usual[name]}
    return f"./{page}" + (f"?{urlencode(given)}" if given else "")
