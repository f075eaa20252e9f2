"""Who may do what: hosts, origins, tokens, sessions and rates, at times that stand still."""

from __future__ import annotations

import os
import stat
import threading
from dataclasses import replace
from typing import Any

import pytest
from multidict import CIMultiDict

from tests.rows import each_row
from webcrawl.web.access import (
    CSRF_HEADER,
    SESSION_SECONDS,
    Access,
    Asked,
    Denial,
    Operator,
    Rate,
    RateLimiter,
    Right,
    Sessions,
    TokenFile,
    client_name,
)
from webcrawl.web.dashboard.operators import OperatorsFile

NOW = 1_700_000_000.0
TOKEN = "t0ken"
OWNER = Operator("", Right.WRITE, TOKEN)
ANNA = Operator("anna", Right.READ, "a" * 20)


def asked(
    method: str = "GET",
    *,
    host: str = "127.0.0.1:8765",
    cookies: dict[str, str] | None = None,
    client: str = "127.0.0.1",
    **headers: str,
) -> Asked:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Asked(method, CIMultiDict({"Host": host, **named}), cookies or {}, client)


def access(bound_to: str = "127.0.0.1", **options: Any) -> Access:
    return Access(bound_to, TOKEN, **options)


def status_of(function: Any, *arguments: Any, **options: Any) -> int:
    """The status of a denial, 0 if there is none."""
    try:
        function(*arguments, **options)
    except Denial as denial:
        return denial.status if denial.sentence else -1
    return 0


def logged_in(one: Access, method: str = "POST", *, csrf: bool = True, **headers: str) -> Asked:
    cookie, session = one.sessions.begin(OWNER, NOW)
    more = {CSRF_HEADER: session.csrf} if csrf else {}
    return asked(method, cookies={one.sessions.cookie: cookie}, **more, **headers)


# -- the token -------------------------------------------------------------------------------------------------


def test_the_token_is_made_once_and_only_its_owner_can_read_it(tmp_path):
    path = tmp_path / "state/dashboard.token"
    tokens = []
    threads = [threading.Thread(target=lambda: tokens.append(TokenFile(path).token())) for _ in range(8)]
    before = os.umask(0)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        os.umask(before)
    assert len(set(tokens)) == 1
    assert len(tokens[0]) >= 43
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_others_can_read_is_closed_to_them_and_an_empty_one_is_replaced(tmp_path):
    path = tmp_path / "token"
    path.write_text("chosen-by-hand\n")
    path.chmod(0o644)
    assert TokenFile(path).token() == "chosen-by-hand"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("\n")
    assert len(TokenFile(path).token()) >= 43


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_text("secret")
    (tmp_path / "token").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        TokenFile(tmp_path / "token").token()


def test_a_token_gives_the_right_to_write_and_a_wrong_one_none():
    dashboard_access = access()
    assert dashboard_access.granted(asked(Authorization=f"Bearer {TOKEN}"), NOW).right is Right.WRITE
    for wrong in ("Bearer", "Bearer ", f"Bearer {TOKEN}x", "Bearer \ud800", f"Basic {TOKEN}", TOKEN):
        assert status_of(dashboard_access.granted, asked(Authorization=wrong), NOW) == 401


def test_wrong_tokens_are_answered_more_slowly_and_the_right_one_always_passes():
    dashboard_access = access()
    statuses = [status_of(dashboard_access.authenticate, "wrong", asked(), NOW) for _ in range(12)]
    assert statuses == [401] * 10 + [429] * 2
    assert status_of(dashboard_access.authenticate, "wrong", asked(client="192.0.2.1"), NOW) == 401
    assert status_of(dashboard_access.authenticate, TOKEN, asked(), NOW) == 0
    assert status_of(dashboard_access.authenticate, "wrong", asked(), NOW + 5) == 401


def test_without_a_token_and_in_public_mode_nobody_has_a_right():
    request = asked(Authorization=f"Bearer {TOKEN}")
    assert Access("127.0.0.1", None, public=True).granted(request, NOW).right is Right.NONE
    assert access(public=True).granted(request, NOW).right is Right.NONE


# -- reading ---------------------------------------------------------------------------------------------------


@each_row("headers", [{}, {"X_Forwarded_For": "192.0.2.1"}, {"Cookie": "a=b"}])
@each_row("host", ["127.0.0.1:8765", "localhost:9999", "[::1]:8765", "crawl.example.org"])
def test_reading_needs_a_token_from_wherever_it_comes(host, headers):
    """A proxy on this machine may send no header that tells of it."""
    assert access().granted(asked(host=host, **headers), NOW).right is Right.NONE
    assert access(is_open=True).granted(asked(host=host, **headers), NOW).right is Right.READ


# -- operators -------------------------------------------------------------------------------------------------


def test_an_operator_by_name_has_the_right_of_the_file_and_a_session_of_his_own():
    dashboard_access = access(operators=lambda: (ANNA,))
    by_token = dashboard_access.granted(asked(Authorization=f"Bearer {ANNA.token}"), NOW)
    assert (by_token.right, by_token.name) == (Right.READ, "anna")
    cookie, _ = dashboard_access.sessions.begin(ANNA, NOW)
    request = asked(cookies={dashboard_access.sessions.cookie: cookie})
    assert (dashboard_access.granted(request, NOW).right, dashboard_access.granted(request, NOW).name) == (
        Right.READ,
        "anna",
    )
    # The cookie is the owner's with another name in it, and that of somebody whose line is gone.
    forged = cookie.replace(".anna.", "..")
    assert (
        dashboard_access.granted(asked(cookies={dashboard_access.sessions.cookie: forged}), NOW).right
        is Right.NONE
    )
    assert access().granted(request, NOW).right is Right.NONE
    other = access(operators=lambda: (Operator("anna", Right.WRITE, "b" * 20),))
    assert other.granted(request, NOW).right is Right.NONE


def test_the_file_of_operators_is_read_again_when_it_changes(tmp_path, caplog):
    path = tmp_path / "dashboard.operators"
    file = OperatorsFile(path)
    assert file.operators() == ()
    text = f"# comment\n\nanna read {'a' * 20}\nbert operate {'b' * 30}\n"
    path.write_text(text)
    path.chmod(0o644)
    assert file.operators() == ()
    assert caplog.messages == [
        f"{path} can be read by others than its owner; chmod 600 it: nobody in it has a right"
    ]
    path.chmod(0o600)
    assert file.operators() == (ANNA, Operator("bert", Right.WRITE, "b" * 30))
    path.write_text(text.replace(f"anna read {'a' * 20}\n", ""))
    assert [operator.name for operator in file.operators()] == ["bert"]
    path.unlink()
    assert file.operators() == ()


@pytest.mark.parametrize(
    "line",
    [
        "anna read",
        f"anna write {'x' * 20}",
        f"anna operate {'x' * 19}",
        f"a.b read {'x' * 20}",
        f"anna read {'x' * 20} more",
        f"bert operate {'x' * 20}",
    ],
)
def test_a_wrong_line_gives_nobody_a_right_and_is_not_quoted(tmp_path, caplog, line):
    path = tmp_path / "operators"
    path.touch(0o600)
    path.write_text(f"bert read {'b' * 20}\n{line}\n")
    assert OperatorsFile(path).operators() == (Operator("bert", Right.READ, "b" * 20),)
    assert "line 2 gives nobody a right" in caplog.text
    assert "xxx" not in caplog.text


# -- hosts and origins -----------------------------------------------------------------------------------------


@each_row(
    ("bound_to", "host", "status"),
    [
        ("127.0.0.1", "127.0.0.1:8765", 0),
        ("127.0.0.1", "LOCALHOST:1", 0),
        ("127.0.0.1", "localhost.", 0),
        ("127.0.0.1", "[::1]", 0),
        ("127.0.0.1", "crawl.example.org", 0),
        ("127.0.0.1", "192.0.2.7", 421),
        ("127.0.0.1", "evil.example:8765", 421),
        ("127.0.0.1", "127.0.0.1.evil.example", 421),
        ("127.0.0.1", "localhost.evil.example", 421),
        ("127.0.0.1", "", 421),
        ("127.0.0.1", "localhost@evil.example", 421),
        ("127.0.0.1", "localhost/evil", 421),
        ("127.0.0.1", "localhost:port", 421),
        ("127.0.0.1", "[::1", 421),
        ("0.0.0.0", "192.0.2.7:8765", 0),
        ("0.0.0.0", "evil.example:8765", 421),
        ("192.0.2.7", "192.0.2.7:8765", 0),
        ("192.0.2.7", "192.0.2.8:8765", 421),
    ],
)
def test_the_host_must_be_an_address_or_an_allowed_name(bound_to, host, status):
    dashboard_access = access(bound_to, allowed_hosts=("crawl.example.org",))
    assert status_of(dashboard_access.check_host, asked(host=host)) == status


@each_row(
    ("target", "status"),
    [
        ("/", 0),
        ("//other/", 0),
        ("http://127.0.0.1:8765/", 0),
        ("http://other/", 421),
        ("http://other?x", 421),
        ("http://user@127.0.0.1:8765/", 421),
        ("http:///", 421),
        ("other:80", 421),
        ("http:other", 421),
    ],
)
def test_a_request_target_with_an_authority_must_name_the_host(target, status):
    assert status_of(access().check_host, replace(asked(), target=target)) == status


@each_row(
    ("headers", "is_page", "status"),
    [
        ({}, False, 0),
        ({"Origin": "http://127.0.0.1:8765"}, False, 0),
        ({"Origin": "http://127.0.0.1:8766"}, False, 403),
        ({"Origin": "https://evil.example"}, False, 403),
        ({"Origin": "null"}, False, 403),
        ({"Origin": "http://127.0.0.1:8765.evil.example"}, False, 403),
        ({"Origin": "ftp://127.0.0.1:8765"}, False, 403),
        ({"Sec_Fetch_Site": "same-origin"}, False, 0),
        ({"Sec_Fetch_Site": "none"}, False, 0),
        ({"Sec_Fetch_Site": "cross-site"}, False, 403),
        ({"Sec_Fetch_Site": "same-site"}, False, 403),
        (
            {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"},
            True,
            0,
        ),
        (
            {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"},
            True,
            403,
        ),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}, True, 403),
    ],
)
def test_requests_of_other_origins_are_refused_but_links_to_the_page(headers, is_page, status):
    assert status_of(access().check_origin, asked(**headers), is_page=is_page) == status


def test_a_proxy_may_speak_https_with_the_browser():
    request = asked(host="crawl.example.org", Origin="https://crawl.example.org")
    assert status_of(access().check_origin, request, is_page=False) == 0


# -- changes ---------------------------------------------------------------------------------------------------

JSON = {"Content_Type": "application/json"}
OWN = {"Origin": "http://127.0.0.1:8765"}


def test_a_change_with_a_session_needs_origin_and_the_value_of_the_header():
    dashboard_access = access()

    def status(given: Asked) -> int:
        return status_of(dashboard_access.check_change, given, dashboard_access.granted(given, NOW))

    assert status(logged_in(dashboard_access, **JSON, **OWN)) == 0
    assert status(logged_in(dashboard_access, **JSON, Sec_Fetch_Site="same-origin")) == 0
    assert status(logged_in(dashboard_access, **JSON)) == 403
    assert status(logged_in(dashboard_access, **JSON, **OWN, csrf=False)) == 403
    other = Sessions(TOKEN).begin(OWNER, NOW)[1].csrf
    assert status(logged_in(dashboard_access, **JSON, **OWN, csrf=False, **{CSRF_HEADER: other})) == 403
    assert status(asked("POST", **JSON, **OWN)) == 401
    assert status(asked("POST", **JSON, Authorization=f"Bearer {TOKEN}")) == 0


@each_row(
    "kind",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "text/plain; application/json",
    ],
)
def test_content_types_of_forms_are_refused(kind):
    dashboard_access = access()
    request = asked("POST", Content_Type=kind, Authorization=f"Bearer {TOKEN}")
    assert status_of(dashboard_access.check_change, request, dashboard_access.granted(request, NOW)) == 415


def test_a_session_ends_with_its_time_and_with_its_token():
    sessions = Sessions(TOKEN)
    cookie, begun = sessions.begin(OWNER, NOW)
    assert sessions.check(cookie, [ANNA, OWNER], NOW + SESSION_SECONDS - 1) == (OWNER, begun)
    assert sessions.check(cookie, [OWNER], NOW + SESSION_SECONDS + 1) is None
    assert sessions.check(cookie, [Operator("", Right.WRITE, "another")], NOW) is None
    expiry, nonce, name, mac = cookie.split(".")
    for forged in (
        None,
        "",
        ".",
        "..",
        "a.b.c",
        f"{int(expiry) + 9}.{nonce}.{name}.{mac}",
        f"{expiry}.{nonce}x.{name}.{mac}",
        f"{expiry}.{nonce}.anna.{mac}",
        f"{expiry}.{nonce}.{name}.\udc80",
        f"{expiry}.{nonce}.{name}.{mac}0",
    ):
        assert sessions.check(forged, [ANNA, OWNER], NOW) is None
    assert sessions.cookie != Sessions("another").cookie


# -- rates -----------------------------------------------------------------------------------------------------


def test_a_rate_has_a_burst_and_says_how_long_to_wait():
    limiter = RateLimiter(Rate(2.0, 3))
    assert [limiter.take("a", NOW) for _ in range(4)] == [0, 0, 0, 0.5]
    assert limiter.take("b", NOW) == 0
    assert limiter.take("a", NOW + 0.5) == 0
    # A clock that is set back grants nothing, and takes nothing.
    assert limiter.take("a", NOW - 100) == 0.5


def test_a_rate_remembers_a_bounded_number_of_names():
    limiter = RateLimiter(Rate(1.0, 1), names_max=2)
    assert [limiter.take(name, NOW) for name in ("a", "b", "c")] == [0, 0, 0]
    assert limiter.take("c", NOW) > 0
    assert limiter.take("a", NOW) == 0


def test_a_network_of_ipv6_is_one_client():
    assert (
        client_name("2001:db8:1:2::3")
        == client_name("2001:db8:1:2:ffff::1")
        != client_name("2001:db8:1:3::3")
    )
    assert client_name("::ffff:192.0.2.1") == client_name("192.0.2.1") == "192.0.2.1"
    assert client_name("fe80::1%eth0") == "fe80::/64"
    assert client_name(None) == ""
