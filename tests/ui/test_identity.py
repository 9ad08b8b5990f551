"""Who is behind a request: forged headers and cookies, roles, accounts that are gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from starlette.requests import Request

from tests.core.test_accounts import HASH
from trio_core.accounts import Account, save_accounts
from trio_core.errors import InputError, SettingsError
from trio_core.settings import Settings, load_settings
from ui.identity import People


def settings(*flags: str) -> Settings:
    return load_settings("scripted", env={}, flags=flags)


def raw(*headers: tuple[str, str], host: str | None = "127.0.0.1") -> Request:
    scope: dict[str, Any] = {"type": "http", "headers": [(k.lower().encode(), v.encode("latin1")) for k, v in headers]}
    return Request(scope | ({"client": (host, 1234)} if host else {"client": None}))


def asked(*headers: tuple[str, str], username: str | None = None) -> gr.Request:
    return gr.Request(raw(*headers), username=username)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    save_accounts(tmp_path / "a.yaml", {"ann": Account(role="admin", password=HASH), "ben": Account(password=HASH)})
    return tmp_path / "a.yaml"


def test_the_local_person_is_admin_under_the_typed_name() -> None:
    people = People(settings("annotator=Lab"))
    assert (people.name(asked()), people.role(asked())) == ("Lab", "admin")
    assert people.name(asked(("Cookie", "trioscope-name=Zo%C3%AB"))) == "Zoë" and people.require_admin(asked()) == "Lab"
    assert people.login() == {}


@pytest.mark.parametrize("cookie", ["", "%3Cb%3E", "a" * 60, "%0A", "%00x", "%ff"])
def test_a_cookie_that_is_no_name_is_none(cookie: str) -> None:
    assert People(settings()).name(asked(("Cookie", f"trioscope-name={cookie}"))) == "me"


def test_headers_and_cookies_mean_nothing_with_accounts(file: Path) -> None:
    people = People(settings(f"server.accounts={file}"))
    forged = (("X-Remote-User", "ann"), ("Cookie", "trioscope-name=ann"), ("Remote-User", "ann"), ("X-Forwarded-User", "ann"))
    with pytest.raises(InputError, match="log in"):
        people.name(asked(*forged))
    assert people.name(asked(*forged, username="ben")) == "ben"
    with pytest.raises(InputError, match="only an admin"):
        people.require_admin(asked(*forged, username="ben"))
    assert people.require_admin(asked(username="ann")) == "ann"


async def test_login_checks_the_password(file: Path) -> None:
    check = People(settings(f"server.accounts={file}")).login()["auth"]
    assert await check("ben", "correct horse")
    assert not await check("ben", "wrong horse") and not await check("eve", "correct horse") and not await check("ben", "")


def test_a_removed_person_and_a_broken_file_are_refused_at_once(file: Path) -> None:
    people = People(settings(f"server.accounts={file}"))
    assert people.role(asked(username="ann")) == "admin"
    save_accounts(file, {"ben": Account(role="admin")})
    with pytest.raises(InputError, match="no account any more"):
        people.name(asked(username="ann"))
    assert people.role(asked(username="ben")) == "admin"
    file.write_text("accounts: [")
    with pytest.raises(InputError, match="cannot be read"):
        people.name(asked(username="ben"))
    assert "cannot be read" in people.shown(asked(username="ben"))["error"]


@pytest.mark.parametrize("text", ["accounts: [", "accounts: {ann: {role: king}}"])
def test_a_broken_file_ends_the_start(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(SettingsError, match="accounts file"):
        People(settings(f"server.accounts={file}")).login()


def test_the_header_is_believed_from_the_proxy_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    people = People(settings("server.proxy_header=X-Remote-User", "server.trusted_proxies=[10.1.0.0/16]"))
    ask = people.login()["auth_dependency"]
    ann = ("X-Remote-User", "ann")
    assert ask(raw(ann, host="10.1.2.3")) == "ann" and ask(raw(ann, host="::ffff:10.1.2.3")) == "ann"
    assert ask(raw(ann, host="10.2.2.3")) is None and ask(raw(ann, host="127.0.0.1")) is None
    assert ask(raw(ann, host=None)) is None and ask(raw(ann, host="proxy")) is None
    assert ask(raw(("X-Forwarded-For", "10.1.2.3"), ann, host="192.168.0.9")) is None
    assert ask(raw(ann, ("X-Remote-User", "admin"), host="10.1.2.3")) is None, "two values: one of them was forged"
    assert ask(raw(("X-Remote-User", "<b>"), host="10.1.2.3")) is None and ask(raw(host="10.1.2.3")) is None


def test_roles_behind_a_proxy_come_from_the_accounts(file: Path) -> None:
    flags = ("server.proxy_header=X-Remote-User", f"server.accounts={file}")
    people = People(settings(*flags))
    assert [people.role(asked(username=name)) for name in ("ann", "ben", "stranger")] == ["admin", "annotator", "annotator"]
    assert People(settings(flags[0])).role(asked(username="ann")) == "annotator"


@pytest.mark.parametrize("flag", ["server.trusted_proxies=[10.0.0.300]", "server.proxy_header='X User:'"])
def test_settings_that_cannot_be(flag: str) -> None:
    with pytest.raises(SettingsError, match=flag.split("=")[0]):
        settings(flag)
