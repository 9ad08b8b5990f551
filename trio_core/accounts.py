"""Accounts: names, roles and hashed passwords in a YAML file that only its owner may read.

    accounts:
      ann: {role: admin, password: "scrypt$16384$8$1$<salt>$<hash>"}

The file is read again when it changes, so that a removed person is out and a changed role holds without a restart. A file that
cannot be read lets nobody in.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
import stat
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

import yaml
from pydantic import ValidationError

from trio_core.errors import InputError, SettingsError
from trio_core.values import Value

Role = Literal["annotator", "admin"]
NAME = re.compile(r"\w(?:[\w .@+'-]{0,38}[\w.])?")
NAME_RULE = "1 to 40 letters, digits, spaces or . _ - @ + ', beginning and ending with a letter, digit or _"
PASSWORD_CHARS = 8
_N, _R, _P, _MAX_N = 2**14, 8, 1, 2**17
"""scrypt's cost: 16 MiB and some 50 ms a check; a file may ask for more, up to `_MAX_N`."""


class Account(Value):
    """One person. An empty `password` lets nobody log in with it (a proxy says who it is)."""

    role: Role = "annotator"
    password: str = ""


class _File(Value):
    accounts: dict[str, Account]


def check_name(name: str) -> str:
    """A person's name without spaces around it. Raises InputError."""
    text = name.strip()
    if not NAME.fullmatch(text):
        raise InputError(f"{name[:60]!r} cannot be a name; use {NAME_RULE}")
    return text


def hash_password(password: str) -> str:
    """`scrypt$n$r$p$salt$hash`, both in base64. Raises InputError for a short password."""
    if len(password) < PASSWORD_CHARS:
        raise InputError(f"the password has {len(password)} characters; at least {PASSWORD_CHARS} are needed")
    salt = secrets.token_bytes(16)
    return f"scrypt${_N}${_R}${_P}${_text(salt)}${_text(_scrypt(password, salt, _N, _R, _P))}"


def verify(password: str, stored: str) -> bool:
    """True when the password fits; takes the same time for a wrong password as for a right one. Raises SettingsError."""
    n, r, p, salt, expected = _parts(stored)
    return hmac.compare_digest(_scrypt(password, salt, n, r, p), expected)


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    secret = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(secret, salt=salt, n=n, r=r, p=p, maxmem=256 * n * r, dklen=32)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _parts(stored: str) -> tuple[int, int, int, bytes, bytes]:
    try:
        kind, n, r, p, salt, expected = stored.split("$")
        parts = int(n), int(r), int(p), base64.b64decode(salt, validate=True), base64.b64decode(expected, validate=True)
    except ValueError:
        kind, parts = "", (0, 0, 0, b"", b"")
    cost, block, parallel, salt_bytes, digest = parts
    sound = 2**14 <= cost <= _MAX_N and cost & (cost - 1) == 0 and 1 <= block <= 16 and 1 <= parallel <= 4
    if kind != "scrypt" or not sound or len(salt_bytes) < 16 or len(digest) != 32:
        raise SettingsError("a password in the accounts file is no scrypt hash of ours; set it again with "
                            "`python -m trio_core account add NAME`")
    return parts


def load_accounts(path: Path) -> dict[str, Account]:
    """Reads a file of accounts. Raises SettingsError, which says what to do."""
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o007:
            raise SettingsError(f"the accounts file {path} can be read by every user of this machine; run: chmod 600 {path}")
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SettingsError(f"the accounts file {path} does not exist; make it with `python -m trio_core account add NAME --role admin`") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"the accounts file {path} cannot be read: {error}") from error
    try:
        accounts = dict(_File.model_validate(data).accounts)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        roles = " or ".join(get_args(Role))
        raise SettingsError(f"the accounts file {path}: {where or 'content'}: {error.errors()[0]['msg']}; an account is "
                            f"`name: {{role: …, password: …}}` under `accounts:`, its role {roles}") from error
    for name, account in accounts.items():
        if not NAME.fullmatch(name):
            raise SettingsError(f"the accounts file {path}: {name[:60]!r} cannot be a name; use {NAME_RULE}")
        if account.password:
            _parts(account.password)
    return accounts


def save_accounts(path: Path, accounts: Mapping[str, Account]) -> None:
    """Writes the file whole or not at all, readable by its owner only (mode 600). Raises SettingsError."""
    text = yaml.safe_dump({"accounts": {n: a.model_dump() for n, a in sorted(accounts.items())}}, sort_keys=False, allow_unicode=True)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 600 from the first byte on
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise SettingsError(f"the accounts file {path} cannot be written: {error.strerror}") from error


class Accounts:
    """The accounts of one file, as they are now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._known: dict[str, Account] = {}
        self._decoy = hash_password(secrets.token_hex(16))

    def get(self, name: str) -> Account | None:
        """The account of this name, or None. Raises SettingsError when the file cannot be read."""
        with self._lock:
            now = self._mark()
            if now is None or now != self._seen:
                self._known, self._seen = load_accounts(self._path), now
            return self._known.get(name)

    def _mark(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def check(self, name: str, password: str) -> bool:
        """True for the right password. An unknown name takes as long as a wrong password."""
        account = self.get(name)
        known = account is not None and bool(account.password)
        fits = verify(password, account.password if account is not None and known else self._decoy)
        return known and fits
