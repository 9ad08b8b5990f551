"""Names and roles over real HTTP: a typed name, accounts, and a proxy's header that others cannot forge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
from playwright.sync_api import Page, expect

from tests.e2e.judging_app import PASSWORD, serve
from tests.ui.judging_helpers import fill


def test_a_typed_name_is_kept_and_labels_carry_it(tmp_path: Path, page: Page) -> None:
    with serve(tmp_path) as app:
        fill(app.store, 3)
        page.goto(f"{app.url}/annotate")
        expect(page.locator(".top .me")).to_have_text("me")
        page.locator(".top .me").click()
        page.get_by_label("Your labels are stored under this name").fill("<b>")
        page.get_by_role("button", name="Use this name").click()
        expect(page.locator(".person .fault")).to_contain_text("cannot be a name")
        page.get_by_label("Your labels are stored under this name").fill("Zoë 1")
        page.keyboard.press("Enter")
        expect(page.locator(".top .me")).to_have_text("Zoë 1")
        page.wait_for_selector(".an[data-state=item]")
        page.wait_for_timeout(300)
        page.keyboard.press("1")
        expect(page.locator(".an-message")).to_contain_text("saved")
        assert [label.value for label in app.store.last_labels("Zoë 1")] == ["sufficient"]


def test_login_logout_and_wrong_password(tmp_path: Path, page: Page) -> None:
    with serve(tmp_path, people={"ann": "admin"}) as app:
        for name, word in (("ann", "wrong horse"), ("ben", PASSWORD), ("ann", "")):
            assert httpx.post(f"{app.url}/login", data={"username": name, "password": word}).status_code in (400, 422)
        assert httpx.get(f"{app.url}/config", headers={"X-Remote-User": "ann", "Cookie": "trioscope-name=ann"}).status_code == 401
        page.goto(f"{app.url}/judge")
        page.get_by_label("username").fill("ann")
        page.get_by_label("password").fill(PASSWORD)
        page.get_by_role("button", name="Login").click()
        expect(page.locator(".top .me")).to_have_text("ann")
        page.locator(".top .me").click()
        expect(page.locator(".person .known")).to_have_text("ann, admin")
        expect(page.locator(".person input")).not_to_be_visible()
        page.get_by_role("link", name="Log out").click()
        expect(page.get_by_role("button", name="Login")).to_be_visible()


def test_the_proxys_header_counts_from_a_trusted_address_only(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    (tmp_path / "a").mkdir()
    ann = {"X-Remote-User": "ann"}
    with serve(tmp_path / "a", flags=("server.proxy_header=X-Remote-User",)) as app:
        assert httpx.get(f"{app.url}/config").status_code == 401
        assert httpx.get(f"{app.url}/config", headers=ann | {"X-Forwarded-For": "203.0.113.9"}).status_code == 200
        page = new_page(extra_http_headers=ann)
        page.goto(f"{app.url}/annotate")
        expect(page.locator(".top .me")).to_have_text("ann")
    (tmp_path / "b").mkdir()
    with serve(tmp_path / "b", flags=("server.proxy_header=X-Remote-User", "server.trusted_proxies=[10.0.0.0/8]")) as app:
        assert httpx.get(f"{app.url}/config", headers=ann | {"X-Forwarded-For": "10.0.0.1"}).status_code == 401
