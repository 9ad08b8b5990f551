"""Settings of the web server and of the people who use it."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path

from pydantic import Field, field_validator

from trio_core.values import Value


class ServerSettings(Value):
    """Where the web app listens, and how it knows people. Without `accounts` and `proxy_header` everybody is a local admin."""

    host: str = "127.0.0.1"
    port: int = Field(default=7860, ge=0, le=65535)
    root_path: str = ""
    accounts: Path | None = None
    """A YAML file of accounts (`python -m trio_core account add NAME`): people log in, and have the role that it gives them."""
    proxy_header: str = ""
    """A header that names the person, set by a proxy that has checked who it is (`X-Remote-User`); roles come from `accounts`."""
    trusted_proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    """Addresses or networks that the header is believed from; every other request is refused."""

    @field_validator("proxy_header")
    @classmethod
    def _is_header(cls, name: str) -> str:
        if name and not re.fullmatch(r"[A-Za-z0-9-]{1,64}", name):
            raise ValueError("a header's name has only letters, digits and -")
        return name

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, networks: tuple[str, ...]) -> tuple[str, ...]:
        for network in networks:
            ipaddress.ip_network(network)
        return networks
