"""The dashboard on a real socket: what it answers to browsers, scripts and strangers."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import sys
from functools import wraps

import pytest
from aiohttp import web

from tests.unit.web.dashboard.serving import HOSTILE, NOBODY, SECONDS, TOKEN, answer_from, serving
from webcrawl.errors import CrawlError, StorageAway, StorageFull
from webcrawl.web import connections
from webcrawl.web.access import SESSION_SECONDS, Operator, Right
from webcrawl.web.dashboard import reading, server
from webcrawl.web.dashboard.api import ENDPOINTS
from webcrawl.web.dashboard.endpoints import events

BEARER = {"Authorization": f"Bearer {TOKEN}"}


def on_loopback(function):
    """Run a coroutine with a dashboard of its own."""

    @wraps(function)
    def run(*args, **kwargs):
        async def whole():
            async with serving() as site:
                await function(site, *args, **kwargs)

        asyncio.run(whole())

    # What pytest gives it: all but the dashboard.
    parameters = list(inspect.signature(function).parameters.values())[1:]
    run.__signature__ = inspect.Signature(parameters)
    return run


# -- answers ---------------------------------------------------------------------------------------------------


@on_loopback
async def test_a_crawl_is_json_in_ascii_whatever_it_is_called(site):
    answer = await site.ask()
    assert answer.status == 200
    assert answer.told == {
        "name": HOSTILE,
        "state": "running",
        "rates": {"pages": None},
        "public": False,
    }
    assert answer.headers["content-type"] == "application/json"


@on_loopback
async def test_metrics_without_their_library_say_what_to_install(site, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    answer = await site.ask(path="/metrics")

    assert answer.status == 501
    assert "pip install prometheus-client" in json.dumps(answer.told)


@on_loopback
async def test_every_answer_has_the_headers_that_protect_it(site):
    answers = [
        await site.ask(),
        await site.ask(path="/"),
        await site.ask(path="/nothing"),
        await site.ask("POST"),
        await site.ask(headers={"Host": "evil.example"}),
        await site.ask("HEAD", "/"),
        await site.raw(b"nonsense\r\n\r\n"),
    ]
    assert [answer.status for answer in answers] == [200, 200, 404, 405, 421, 200, 400]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["server"] == "webcrawl"
        assert "access-control-allow-origin" not in answer.headers


@on_loopback
async def test_head_is_get_without_a_body_and_other_methods_say_which_there_are(site):
    answer = await site.ask("HEAD")
    assert (answer.status, answer.body) == (200, b"")
    assert int(answer.headers["content-length"]) > 0
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
        answer = await site.ask(method)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
        assert f"{method} is not allowed here" in answer.error
    assert (await site.ask("BREW")).status == 400


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e%2fprocess.py",
        "/static//etc/passwd",
        "/static/",
        "/static/%00",
        "//etc/passwd",
        "/../../../etc/passwd",
        "/dashboard.token",
        "/api/v1/",
        "/api/v1/crawl/",
        "/%ff",
    ],
)
@on_loopback
async def test_there_is_nothing_but_the_page_and_the_api(site, path):
    answer = await site.ask(path=path)
    assert (answer.status, answer.error) == (404, "there is nothing at this address")


@on_loopback
async def test_the_files_of_the_page_have_their_types(site):
    page = await site.ask(path="/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for path, content, kind in server.static_files():
        answer = await site.ask(path=path)
        assert (answer.status, answer.body) == (200, content)
        assert answer.headers["content-type"].partition(";")[0] == kind


@on_loopback
async def test_health_needs_nothing(site):
    assert (await site.ask(path="/healthz")).told == {"status": "ok"}


# -- bad input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("", "url is missing"),
        ("url=", "url must be text of 1 to 8192 characters"),
        ("url=a&url=b", "url is given twice"),
        ("url=a&other=b", "'other' is not known here; known: url"),
        ("url=%ff", "the query must be UTF-8"),
        ("url=%00", "url must be text"),
        ("&".join(f"a{number}=1" for number in range(100)), "at most 50 parameters"),
    ],
)
@on_loopback
async def test_a_wrong_query_is_a_sentence(site, query, error):
    answer = await site.ask(path=f"/api/v1/url?{query}")
    assert answer.status == 400
    assert error in answer.error


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"token"',
        b"\xff",
        b"[" * 100_000,
        b'{"token": NaN}',
        b'{"token": Infinity}',
        b'{"token": 1}',
        b'{"token": null}',
        b'{"token": ""}',
        b'{"token": "a", "token": "b"}',
        b'{"token": "\\ud800"}',
        b'{"token": "\\u0000"}',
        b'{"token": "a", "b": 1}',
        b"1" * 5000,
        b'{"token": "' + b"a" * 2000 + b'"}',
    ],
)
@on_loopback
async def test_a_wrong_body_is_a_sentence(site, body):
    answer = await site.ask("POST", "/api/v1/session", body)
    assert answer.status == 400
    assert answer.error


@on_loopback
async def test_a_body_of_two_megabytes_and_an_address_of_two_are_too_long(site):
    body = json.dumps({"token": "a" * (2 << 20)}).encode()
    answer = await site.ask("POST", "/api/v1/session", body)
    assert (answer.status, answer.error) == (413, "the body is longer than 1048576 bytes")
    chunk = b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
    head = b"POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    answer = await site.raw(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk)
    assert (answer.status, answer.error) == (413, "the body is longer than 1048576 bytes")
    answer = await site.raw(
        b"GET /api/v1/url?url=http://" + b"a" * (2 << 20) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    assert (answer.status, answer.error) == (414, "the address or a header is longer than 16384 bytes")


@on_loopback
async def test_a_compressed_body_is_refused(site):
    answer = await site.ask("POST", "/api/v1/session", b"\x1f\x8b", {"Content-Encoding": "gzip"})
    assert (answer.status, answer.error) == (415, "the body must not be compressed")


@pytest.mark.parametrize(
    "given",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n\r\n\r\n\x00\r\n\r\n",
    ],
)
@on_loopback
async def test_what_is_no_http_is_answered_and_closed(site, given):
    answer = await site.raw(given)
    assert (answer.status, answer.error) == (400, "the request is no HTTP")


@on_loopback
async def test_a_url_is_explained_and_a_wrong_one_is_a_sentence(site):
    answer = await site.ask(path="/api/v1/url?url=http://h/%E2%80%AE%3Cb%3E")
    assert answer.told["url"] == {"written": "http://h/\u202e<b>"}
    site.crawl.fails = CrawlError("'x' is no URL:\n it has no host")
    answer = await site.ask(path="/api/v1/url?url=x")
    assert (answer.status, answer.error) == (400, "'x' is no URL: it has no host")


@on_loopback
async def test_a_failure_is_logged_and_fails_one_request(site, caplog):
    site.crawl.fails = ZeroDivisionError("the/secret/path")
    answer = await site.ask(path="/api/v1/url?url=x")
    assert (answer.status, answer.error) == (500, "the dashboard failed; its log says how")
    assert "ZeroDivisionError" in caplog.text
    site.crawl.fails = None
    assert (await site.ask(path="/api/v1/url?url=x")).status == 200


# -- a crawl that cannot be read -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            StorageAway("Redis at h:6379: refused"),
            "the crawl's storage cannot be reached: Redis at h:6379: refused",
        ),
        (StorageFull("frontier.db: disk full"), "the crawl's storage is full: frontier.db: disk full"),
        (CrawlError("it is gone"), "it is gone"),
        (OSError(28, "No space left on device"), "the crawl cannot be read: No space left on device"),
    ],
)
@on_loopback
async def test_a_crawl_that_cannot_be_read_is_a_sentence_until_it_can(site, error, sentence):
    site.crawl.fails = error
    answer = await site.ask()
    assert (answer.status, answer.error) == (503, sentence)
    assert int(answer.headers["retry-after"]) >= 5
    site.crawl.fails = None
    assert (await site.ask()).status == 200


# -- rights ----------------------------------------------------------------------------------------------------


@on_loopback
async def test_a_browser_logs_in_and_out(site):
    before = (await site.ask(path="/api/v1/session", headers=NOBODY)).told
    assert (before["read"], before["write"], before["csrf"]) == (False, False, None)
    answer = await site.ask("POST", "/api/v1/session", {"token": TOKEN})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Path=/" in cookie
    assert TOKEN not in cookie
    pair = cookie.partition(";")[0]
    within = (await site.ask(path="/api/v1/session", headers={"Cookie": pair})).told
    assert (within["write"], within["csrf"]) == (True, answer.told["csrf"])
    answer = await site.ask("DELETE", "/api/v1/session", {}, {"Cookie": pair})
    assert f'{pair.partition("=")[0]}=""' in answer.headers["set-cookie"]
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert SESSION_SECONDS > 0


@on_loopback
async def test_wrong_tokens_are_refused_logged_and_slowed_down(site, caplog):
    caplog.set_level(logging.WARNING)
    answers = [await site.ask("POST", "/api/v1/session", {"token": "wrong\n"}) for _ in range(11)]
    assert [answer.status for answer in answers] == [401] * 10 + [429]
    assert answers[0].headers["www-authenticate"] == "Bearer"
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert "set-cookie" not in answers[0].headers
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0].startswith("A request from 127.0.0.1 was refused: the token is wrong;")
    assert len(lines) == 5
    assert "wrong\n" not in caplog.text
    assert (await site.ask("POST", "/api/v1/session", {"token": TOKEN})).status == 200


@on_loopback
async def test_pages_of_other_origins_can_neither_read_nor_log_in(site):
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert (await site.ask(headers=headers)).status == 403
        assert (await site.ask("POST", "/api/v1/session", {"token": TOKEN}, headers)).status == 403
        assert (await site.ask("DELETE", "/api/v1/session", {}, headers)).status == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = await site.ask("POST", "/api/v1/session", {"token": TOKEN}, {"Content-Type": kind})
        answer = (
            answer
            if kind
            else await site.ask("DELETE", "/api/v1/session", {}, {"Content-Type": "text/plain"})
        )
        assert (answer.status, answer.error) == (415, "the content type must be application/json")


@pytest.mark.parametrize("bound_to", ["0.0.0.0", "127.0.0.1"])
def test_reading_needs_the_token_too_but_the_page_and_the_health_check(bound_to):
    async def whole():
        async with serving(bound_to) as site:
            reading = [one for one in ENDPOINTS if one.method == "GET" and one.path != "/session"]
            paths = ["/metrics", *(f"/api/v1{one.path.replace('{', '').replace('}', '')}" for one in reading)]
            assert {
                path: (await site.ask(path=path, headers=NOBODY)).status for path in paths
            } == dict.fromkeys(paths, 401)
            assert (await site.ask(path="/healthz", headers=NOBODY)).status == 200
            assert (await site.ask(headers=BEARER)).status == 200
            assert (await site.ask(headers=await site.log_in())).status == 200
            assert (await site.ask(path="/", headers=NOBODY)).status == 200
            assert (await site.ask(path="/api/v1/session", headers=NOBODY)).told["read"] is False
            assert site.crawl.explained == []

    asyncio.run(whole())


def test_reading_can_be_open_and_changes_never_are():
    async def whole():
        async with serving(is_open=True) as site:
            assert (await site.ask(headers=NOBODY)).status == 200
            assert (await site.ask("POST", "/api/v1/commands", {"command": "pause"})).status == 401

    asyncio.run(whole())


def test_an_operator_who_only_reads_changes_nothing_by_token_or_session():
    anna, bert = "anna-anna-anna-anna-anna", "bert-bert-bert-bert-bert"
    named = (Operator("anna", Right.READ, anna), Operator("bert", Right.WRITE, bert))

    async def whole():
        async with serving(operators=lambda: named) as site:
            for headers in ({"Authorization": f"Bearer {anna}"}, await site.log_in(anna)):
                assert (await site.ask(headers=headers)).status == 200
                answer = await site.ask("POST", "/api/v1/commands", {"command": "pause"}, headers)
                assert (answer.status, answer.error) == (403, "the token of anna only reads")
            told = (await site.ask(path="/api/v1/session", headers=await site.log_in(bert))).told
            assert (told["name"], told["write"]) == ("bert", True)

    asyncio.run(whole())


def test_public_mode_has_one_question_and_nothing_else():
    async def whole():
        async with serving(public=True) as site:
            assert (await site.ask(path="/api/v1/session")).told["public"] is True
            assert (await site.ask(path="/api/v1/url?url=http://h/")).told == {"fate": "queued"}
            described = (await site.ask(path="/api/v1/openapi.json")).told
            assert "securitySchemes" not in described["components"]
            for path in ("/api/v1/crawl", "/api/v1/events", "/metrics"):
                assert (await site.ask(path=path, headers=BEARER)).status == 404
            assert (await site.ask("POST", "/api/v1/session", {"token": TOKEN})).status == 405
            assert set(described["paths"]) == {"/api/v1/session", "/api/v1/url", "/api/v1/suggestions"}
            answer = await site.ask("POST", "/api/v1/suggestions", {"url": "http://h/", "note": HOSTILE[:10]})
            assert answer.told["sentence"] == "The URL is held until an operator decides."
            assert site.crawl.suggested == [("http://h/", HOSTILE[:10], "dashboard 127.0.0.1")]
            for headers in ({"Origin": "https://evil.example"}, {"Content-Type": "text/plain"}):
                answer = await site.ask("POST", "/api/v1/suggestions", {"url": "http://h/"}, headers)
                assert answer.status in (403, 415)
            statuses = [(await site.ask(path="/api/v1/url?url=a")).status for _ in range(12)]
            assert statuses[-1] == 429
            assert len(site.crawl.suggested) == 1

    asyncio.run(whole())


def test_it_can_be_mounted_below_a_prefix():
    def below(dashboard):
        outer = web.Application()
        outer.add_subapp("/crawls/first", dashboard.application)
        return outer

    async def whole():
        async with serving(make=below) as site:
            assert (await site.ask(path="/crawls/first/api/v1/crawl")).status == 200
            page = await site.ask(path="/crawls/first/")
            assert page.headers["content-type"].startswith("text/html")
            answer = await site.ask("POST", "/crawls/first/api/v1/session", {"token": TOKEN})
            assert "Path=/crawls/first" in answer.headers["set-cookie"]
            assert "content-security-policy" in answer.headers

    asyncio.run(whole())


# -- viewers ---------------------------------------------------------------------------------------------------


async def event_from(reader):
    """The next event of a stream: its name and its value."""
    while True:
        # A chunk of the transfer coding: its length, an event, an empty line.
        text = await asyncio.wait_for(reader.readuntil(b"\n\n"), SECONDS)
        lines = dict(line.split(": ", 1) for line in text.decode().splitlines() if ": " in line)
        if "event" in lines:
            return lines["event"], json.loads(lines["data"])


async def viewer_of(site):
    reader, writer = await site.connect()
    writer.write(
        f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n"
        f"Authorization: Bearer {TOKEN}\r\n\r\n".encode()
    )
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SECONDS)
    assert b"200 OK" in head
    assert b"Content-Type: text/event-stream" in head
    return reader, writer


@on_loopback
async def test_a_hundred_viewers_cost_as_much_as_one(site):
    viewers = [await viewer_of(site) for _ in range(60)]
    events = await asyncio.gather(*(event_from(reader) for reader, _ in viewers))
    assert {name for name, _ in events} == {"crawl"}
    # A state may have become old while they connected, on a slow machine, but nobody has one of his own.
    assert site.crawl.reads < len(viewers)


def test_a_state_is_read_once_however_many_want_it_and_again_when_it_is_old():
    async def whole():
        now, reads = 0.0, []
        readers = reading.ReaderThreads()
        shared = reading.SharedState(
            readers, lambda: reads.append(now) or {"n": len(reads)}, clock=lambda: now
        )
        found = await asyncio.gather(*(shared.latest() for _ in range(100)))
        assert {one.number for one in found} == {1}
        now = 1.9
        assert (await shared.latest()).number == 1
        now = 2.0
        found = await asyncio.gather(*(shared.latest() for _ in range(100)))
        assert {one.number for one in found} == {2}
        assert reads == [0.0, 2.0]
        readers.close()

    asyncio.run(whole())


@on_loopback
async def test_a_viewer_is_told_that_the_crawl_is_away_and_that_it_is_back(site, monkeypatch):
    monkeypatch.setattr(events, "AWAY_SECONDS", 0.01)
    site.crawl.fails = StorageAway("no answer")
    reader, _ = await viewer_of(site)
    assert await event_from(reader) == ("away", {"error": "the crawl's storage cannot be reached: no answer"})
    site.crawl.fails = None
    while (event := await event_from(reader))[0] == "away":
        pass
    assert event[1]["state"] == "running"


@on_loopback
async def test_too_many_viewers_are_refused(site, monkeypatch):
    monkeypatch.setattr(events, "VIEWERS_MAX", 2)
    _ = [await viewer_of(site) for _ in range(2)]
    answer = await site.ask(path="/api/v1/events")
    assert (answer.status, answer.error) == (503, "too many viewers")


# -- floods ----------------------------------------------------------------------------------------------------


@on_loopback
async def test_a_client_has_a_rate(site, monkeypatch):
    statuses = []
    reader, writer = await site.connect()
    for _ in range(server.REQUESTS.burst + 200):
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answer = await answer_from(reader)
        statuses.append(answer.status)
        if answer.status == 429:
            break
    assert set(statuses[:-1]) == {200}
    assert (answer.error, answer.headers["retry-after"]) == ("too many requests", "1")
    assert len(statuses) > server.REQUESTS.burst


@on_loopback
async def test_too_many_connections_are_refused_with_a_sentence(site, monkeypatch):
    monkeypatch.setattr(connections, "CONNECTIONS_OF_ONE", 3)
    waiting = [await site.connect() for _ in range(3)]
    reader, _ = await site.connect()
    answer = await asyncio.wait_for(answer_from(reader), SECONDS)
    assert (answer.status, answer.error, answer.headers["retry-after"]) == (503, "too many connections", "5")
    for _, writer in waiting:
        writer.close()
        await writer.wait_closed()


@on_loopback
async def test_who_sends_a_head_byte_by_byte_or_nothing_is_cut_off(site, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    silent, _ = await site.connect()
    slow, writer = await site.connect()

    async def dribble():
        for byte in b"GET / HTTP/1.1\r\nX: " + b"a" * 10_000:
            writer.write(bytes((byte,)))
            await writer.drain()
            await asyncio.sleep(0.01)
        await slow.readexactly(1)

    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await dribble()
    assert await asyncio.wait_for(silent.read(), SECONDS) == b""


@on_loopback
async def test_who_never_sends_the_body_gets_an_answer(site, monkeypatch):
    monkeypatch.setattr(server, "BODY_SECONDS", 0.1)
    head = b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    answer = await site.raw(head + b"Content-Length: 100\r\n\r\n{")
    assert (answer.status, answer.error) == (408, "the body did not arrive within 0.1 seconds")


@on_loopback
async def test_a_reader_who_does_not_read_holds_little_and_is_cut_off(site):
    event = 500_000
    site.crawl.value = {"name": "a" * event}
    site.dashboard._state._seconds = 0.0
    _, writer = await viewer_of(site)
    writer.transport.pause_reading()
    [connection] = site.connections
    while connection.waiting_bytes() <= 1 << 16:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    assert connection.waiting_bytes() < 2 * event
    now = 1000.0
    while len(site.connections):
        # What the system still takes is progress.
        site.connections.abort_stuck(now)
        site.connections.abort_stuck(now + connections.STUCK_SECONDS - 1)
        now += connections.STUCK_SECONDS
        await asyncio.sleep(0.01)


def test_a_reader_who_reads_slowly_is_not_cut_off():
    class Connection:
        waiting = aborted = 0

        def waiting_bytes(self):
            return self.waiting

        def abort(self):
            self.aborted += 1

    one, every = Connection(), connections.Connections()
    assert every.admit(one, "127.0.0.1")
    for now, one.waiting in enumerate((0, 900, 900, 800, 800, 700, 0, 700)):
        every.abort_stuck(now * (connections.STUCK_SECONDS - 1.0))
    assert not one.aborted
    every.abort_stuck(1e6)
    assert one.aborted


@on_loopback
async def test_a_request_whose_target_names_another_host_is_refused(site):
    """Whatever its Host header says: RFC 9112, section 3.2.2."""
    statuses = []
    for target in ("http://other/", "http://127.0.0.1/", "/"):
        answer = await site.raw(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        statuses.append(answer.status)
    assert statuses == [421, 200, 200]
