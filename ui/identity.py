"""Who is behind a request, and what they may do.

Three ways, by the settings: **local** (no accounts: a name typed in the header and kept in a cookie, else `annotator`; everybody
is admin), **accounts** (Gradio's login against the accounts file), **proxy** (a header, believed only from a trusted address;
roles from the accounts file, people who are not in it are annotators). Every handler that changes something asks here.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import os
import secrets
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import unquote

import gradio as gr

from trio_core.accounts import NAME_RULE, Accounts, Role, check_name
from trio_core.errors import InputError, SettingsError
from trio_core.settings import Settings

COOKIE = "trioscope-name"
"""Set by assets/trioscope.js when somebody types a name; only believed where there are no accounts and no proxy."""
Way = Literal["local", "accounts", "proxy"]


class Forbidden(InputError):
    """This person may not do that."""


class People:
    """Names and roles behind requests."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        server = settings.server
        self.way: Way = "proxy" if server.proxy_header else "accounts" if server.accounts else "local"
        self._accounts = Accounts(server.accounts) if server.accounts else None
        self._trusted = [ipaddress.ip_network(network) for network in server.trusted_proxies]
        self._secret = secrets.token_bytes(32)
        self._checks = asyncio.Semaphore(2)  # a password check costs 16 MiB and a core for a moment

    def name(self, request: gr.Request | None) -> str:
        """The person's name. Raises InputError where nobody is known."""
        if self.way == "local":
            return self._typed(request) or self._settings.annotator
        name = request.username if request is not None else None
        if not name:
            raise Forbidden("nobody is logged in; log in again")
        if self.way == "accounts":
            self._role_of(name)  # a person who was removed has a session still
        return name

    def role(self, request: gr.Request | None) -> Role:
        """`admin` or `annotator`. Raises InputError where nobody is known."""
        return "admin" if self.way == "local" else self._role_of(self.name(request))

    def require_admin(self, request: gr.Request | None) -> str:
        """The admin's name. Raises Forbidden for everybody else."""
        if self.role(request) != "admin":
            raise Forbidden(f"only an admin may do that; {self.name(request)!r} is an annotator")
        return self.name(request)

    def _typed(self, request: gr.Request | None) -> str | None:
        cookies = getattr(request, "cookies", None) if request is not None else None
        typed = cookies.get(COOKIE) if isinstance(cookies, Mapping) else getattr(cookies, COOKIE, None)
        try:
            return check_name(unquote(str(typed))) if typed else None
        except InputError:
            return None  # the page refuses such a name when it is typed; what else comes in a cookie is no name

    def _role_of(self, name: str) -> Role:
        try:
            account = self._accounts.get(name) if self._accounts else None
        except SettingsError as error:
            raise Forbidden(f"the accounts cannot be read, so nothing can be changed now: {error}") from error
        if account is not None:
            return account.role
        if self.way == "accounts":
            raise Forbidden(f"{name!r} has no account any more")
        return "annotator"

    def login(self) -> dict[str, Any]:
        """What Gradio's `launch` needs. Raises SettingsError for accounts that cannot be used."""
        if self._accounts is not None:
            self._accounts.get("")  # a broken file ends the start, not the first login
        if self.way == "accounts":
            return {"auth": self._check, "auth_message": "Trioscope"}
        if self.way == "proxy":
            # uvicorn would put X-Forwarded-For in place of the address of the proxy, which is the one to be trusted.
            os.environ["FORWARDED_ALLOW_IPS"] = ""
            return {"auth_dependency": self.from_proxy}
        return {}

    async def _check(self, name: str, password: str) -> bool:
        assert self._accounts is not None
        async with self._checks:
            return await asyncio.to_thread(self._accounts.check, name, password)

    def from_proxy(self, request: Any) -> str | None:
        """The name that a trusted proxy gives a request (Starlette's); None refuses it."""
        given = request.headers.getlist(self._settings.server.proxy_header)
        if request.client is None or not self._is_trusted(request.client.host) or len(given) != 1:
            return None
        try:
            return check_name(given[0])
        except InputError:
            return None

    def _is_trusted(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network for network in self._trusted)

    def shown(self, request: gr.Request | None) -> dict[str, str]:
        """What the header shows: name, role, way, and why when nobody is known."""
        try:
            name = self.name(request)
            return {"name": name, "role": self.role(request), "way": self.way, "rule": NAME_RULE, "error": "", "pass": self.pass_of(name)}
        except InputError as error:
            return {"name": "", "role": "", "way": self.way, "rule": NAME_RULE, "error": str(error), "pass": ""}

    def pass_of(self, name: str) -> str:
        """Shows to a server function, which cannot ask who is logged in, who reads; good until the app ends."""
        return f"{self._sign(name)}:{name}"

    def of_pass(self, given: object) -> str | None:
        """The name of a pass of ours, or None."""
        signature, _, name = given.partition(":") if isinstance(given, str) else ("", "", "")
        return name if name and hmac.compare_digest(signature.encode(), self._sign(name).encode()) else None

    def _sign(self, name: str) -> str:
        return hmac.new(self._secret, name.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
