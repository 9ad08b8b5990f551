"""Accounts: hashes, the file, and what happens when it is broken."""

from __future__ import annotations

import io
import stat
from pathlib import Path

import pytest

from trio_core import accounts
from trio_core.__main__ import main
from trio_core.accounts import Account, Accounts, check_name, hash_password, load_accounts, save_accounts, verify
from trio_core.errors import InputError, SettingsError

HASH = hash_password("correct horse")


def test_a_password_fits_its_own_hash_only() -> None:
    assert verify("correct horse", HASH) and not verify("correct horsf", HASH)
    assert "correct" not in HASH and hash_password("correct horse") != HASH  # salted


def test_the_hash_is_plain_scrypt() -> None:
    import base64
    import hashlib

    _, n, r, p, salt, digest = HASH.split("$")
    known = hashlib.scrypt(b"correct horse", salt=base64.b64decode(salt), n=int(n), r=int(r), p=int(p), maxmem=2**26, dklen=32)
    assert base64.b64encode(known).decode() == digest


@pytest.mark.parametrize("stored", ["", "plain", "md5$1$1$1$aa$bb", HASH.replace("16384", "16383"), HASH.replace("16384", "16"),
                                    HASH.replace("16384", str(2**30)), HASH[:-8], "scrypt$16384$8$1$$"],
                         ids=range(8))  # the hash has a new salt in every process; xdist wants the same names in all
def test_what_is_no_hash_of_ours_is_refused(stored: str) -> None:
    with pytest.raises(SettingsError, match="account add"):
        verify("x", stored)


@pytest.mark.parametrize("name", ["", " ", "a" * 41, "a\nb", "<b>", "../x", "-a", "a;b"])
def test_names_that_cannot_be(name: str) -> None:
    with pytest.raises(InputError, match="cannot be a name"):
        check_name(name)


def test_names_that_can_be() -> None:
    assert [check_name(n) for n in (" Ann ", "Jürgen O'Neil", "a.b@c", "李", "x")] == ["Ann", "Jürgen O'Neil", "a.b@c", "李", "x"]


@pytest.mark.parametrize(("text", "words"), [
    ("- a\n- b\n", "accounts"), ("accounts: {ann: {role: king}}", "role"), ("accounts: {ann: {role: admin, pass: x}}", "ann"),
    ("accounts: {ann: {password: plain}}", "scrypt"), ("accounts: {'<b>': {role: admin}}", "cannot be a name"), ("accounts: [", "cannot be read"),
    ("", "content"), ("\x80", "cannot be read")])
def test_a_broken_file_is_refused_with_the_reason(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "accounts.yaml"
    file.write_bytes(text.encode("latin1"))
    file.chmod(0o600)
    with pytest.raises(SettingsError, match=words):
        load_accounts(file)


def test_a_file_for_everybody_is_refused(tmp_path: Path) -> None:
    save_accounts(tmp_path / "a.yaml", {"ann": Account()})
    (tmp_path / "a.yaml").chmod(0o644)
    with pytest.raises(SettingsError, match="chmod 600"):
        load_accounts(tmp_path / "a.yaml")


def test_a_missing_file_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="account add"):
        load_accounts(tmp_path / "none.yaml")


def test_the_file_is_read_again_and_a_broken_one_lets_nobody_in(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    save_accounts(file, {"ann": Account(role="admin", password=HASH), "proxied": Account()})
    known = Accounts(file)
    assert known.check("ann", "correct horse") and not known.check("ann", "wrong") and not known.check("ben", "correct horse")
    assert not known.check("proxied", "")
    save_accounts(file, {"ann": Account(password=HASH)})
    account = known.get("ann")
    assert account is not None and account.role == "annotator"
    file.write_text("accounts: [")
    for _ in range(2):
        with pytest.raises(SettingsError):
            known.check("ann", "correct horse")


def test_an_unknown_name_costs_a_hash_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_accounts(tmp_path / "a.yaml", {"ann": Account(password=HASH)})
    known = Accounts(tmp_path / "a.yaml")
    asked: list[str] = []
    monkeypatch.setattr(accounts, "verify", lambda password, stored: asked.append(stored) or True)
    assert not known.check("nobody", "x") and len(asked) == 1 and asked[0] != HASH


def test_the_command_adds_changes_lists_and_removes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "deep" / "accounts.yaml"

    def call(*args: str, typed: str = "") -> int:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        return main(["account", *args, "--file", str(file)])

    assert call("add", "ann", "--role", "admin", typed="correct horse\n") == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and Accounts(file).check("ann", "correct horse")
    assert "--set server.accounts=" in capsys.readouterr().out
    assert call("add", "ben", "--no-password") == 0 and call("list") == 0
    assert "admin      ann\nannotator  ben  (no password)\n" in capsys.readouterr().out
    assert call("add", "eve", typed="short\n") == 2 and "at least 8" in capsys.readouterr().err
    assert call("remove", "eve") == 2 and call("remove", "ben") == 0 and list(load_accounts(file)) == ["ann"]
    assert [path.name for path in file.parent.iterdir()] == ["accounts.yaml"]
