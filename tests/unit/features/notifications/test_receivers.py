"""Receivers, against real servers on loopback: HTTP, and SMTP with STARTTLS and a password."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import socket
import ssl
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from email import message_from_bytes
from email.policy import default

import pytest
from aiohttp import web
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from tests.fakeweb.ports import free_port
from tests.fakeweb.tls import self_signed
from tests.rows import each_row
from webcrawl.features.notifications.messages import CrawlOrigin, Message
from webcrawl.features.notifications.receivers import Mailbox, MailServer, NotDelivered, Webhook

CRAWL = CrawlOrigin("first", "broad", "w0", "machine", "/crawls/first")
MESSAGE = Message("end", 1_790_000_000.5, CRAWL, "finished after 2 h", {"reason": "finished"}, {"pages": 7})
SECONDS = 30.0


@asynccontextmanager
async def receiver(answer):
    """An HTTP server; ``answer`` gets the request and its body."""
    got = []

    async def handle(request):
        got.append((request, await request.read()))
        return await answer(request)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.01)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", got
    finally:
        await runner.cleanup()


def posted(answer, secret="", seconds=SECONDS, path="/hook?key=1"):
    """Post to a receiver that answers so; returns what it got and why it failed."""

    async def run():
        async with receiver(answer) as (address, got):
            failure = None
            try:
                await Webhook(address + path, secret, "webcrawl/1", seconds).take(MESSAGE)
            except NotDelivered as error:
                failure = error
            return got, failure

    return asyncio.run(run())


async def well(request):
    return web.Response(status=204)


def test_a_webhook_gets_json_that_chat_programs_show():
    [(request, body)], failure = posted(well)
    assert failure is None
    assert (request.method, request.path_qs) == ("POST", "/hook?key=1")
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["User-Agent"] == "webcrawl/1"
    assert request.headers["X-Webcrawl-Event"] == "end"
    assert request.headers["X-Webcrawl-Delivery"] == MESSAGE.id
    assert "X-Webcrawl-Signature" not in request.headers
    assert json.loads(body) == {
        "text": "first finished after 2 h",
        "event": "end",
        "id": MESSAGE.id,
        "at": 1_790_000_000.5,
        "crawl": {
            "name": "first",
            "spider": "broad",
            "worker": "w0",
            "machine": "machine",
            "jobdir": "/crawls/first",
            "shared": None,
        },
        "details": {"reason": "finished"},
        "figures": {"pages": 7},
    }


def test_a_secret_signs_the_body_as_it_was_sent():
    [(request, body)], _ = posted(well, secret="key of both")
    signed = hmac.new(b"key of both", body, hashlib.sha256).hexdigest()
    assert request.headers["X-Webcrawl-Signature"] == f"sha256={signed}"


@each_row(
    ("status", "is_final", "why"),
    [
        (500, False, "status 500 Internal Server Error"),
        (503, False, "status 503 Service Unavailable"),
        (429, False, "status 429 Too Many Requests"),
        (404, True, "status 404 Not Found"),
        (401, True, "status 401 Unauthorized"),
        (302, True, "it redirects (status 302); give the URL that it leads to"),
    ],
)
def test_a_status_says_whether_another_attempt_is_of_use(status, is_final, why):
    async def answer(request):
        return web.Response(status=status, headers={"Location": "/elsewhere"} if status == 302 else {})

    got, failure = posted(answer)
    assert (str(failure), failure.is_final) == (why, is_final)
    # A redirect is not followed.
    assert len(got) == 1


def test_a_webhook_that_hangs_is_given_up():
    async def answer(request):
        await asyncio.Event().wait()

    _, failure = posted(answer, seconds=0.2)
    assert (str(failure), failure.is_final) == ("no answer within 0.2 s", False)


def test_an_endless_answer_is_not_read():
    async def answer(request):
        response = web.StreamResponse()
        await response.prepare(request)
        with suppress(ConnectionError):
            while True:
                await response.write(bytes(65_536))
        return response

    _, failure = posted(answer)
    assert failure is None


def test_an_answer_that_is_no_http_is_a_failure():
    async def run():
        async def handle(reader, writer):
            writer.write(b"220 mail.example ESMTP\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(NotDelivered) as failed:
                await Webhook(f"http://127.0.0.1:{port}/", "", "webcrawl/1", SECONDS).take(MESSAGE)
        return failed.value

    assert not asyncio.run(run()).is_final


def test_a_receiver_that_refuses_connections_is_a_failure():
    port = free_port()
    hook = Webhook(f"http://127.0.0.1:{port}/", "", "webcrawl/1", SECONDS)
    box = Mailbox(["ops@example.org"], MailServer("127.0.0.1", port, "crawler@example.org"), SECONDS)
    for one in (hook, box):
        with pytest.raises(NotDelivered) as failed:
            asyncio.run(one.take(MESSAGE))
        assert not failed.value.is_final
        assert "Connect" in str(failed.value) or "refused" in str(failed.value)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://hooks.example.org/T0/B0/password?key=1", "https://hooks.example.org"),
        ("http://user:password@127.0.0.1:8080/x", "http://127.0.0.1:8080"),
        ("http://[::1]:8080/x", "http://[::1]:8080"),
    ],
)
def test_the_name_of_a_webhook_has_no_secret(url, name):
    assert Webhook(url, "", "webcrawl/1").name == name


# -- mail ------------------------------------------------------------------------------------------------------


class Mails:
    """What a mail server took."""

    def __init__(self, refused=()):
        self.got = []
        self.refused = refused

    async def handle_RCPT(self, server, session, envelope, address, options):  # noqa: N802 - named by aiosmtpd
        if address in self.refused:
            return f"{self.refused[address]} no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802 - named by aiosmtpd
        self.got.append(envelope)
        return "250 taken"


@contextmanager
def mail_server(mails, **options):
    controller = Controller(mails, hostname="127.0.0.1", port=free_port(), **options)
    controller.start()
    try:
        yield controller.port
    finally:
        controller.stop()


def mailed(port, recipients=("ops@example.org", "you@example.org"), message=MESSAGE, trusted=None, **more):
    box = Mailbox(recipients, MailServer("127.0.0.1", port, "crawler@example.org", **more), SECONDS, trusted)
    asyncio.run(box.take(message))


def test_a_mail_has_subject_and_figures():
    mails = Mails()
    with mail_server(mails) as port:
        mailed(port)
    [envelope] = mails.got
    assert envelope.mail_from == "crawler@example.org"
    assert envelope.rcpt_tos == ["ops@example.org", "you@example.org"]
    mail = message_from_bytes(envelope.content, policy=default)
    assert mail["Subject"] == "webcrawl: first finished after 2 h"
    assert mail["To"] == "ops@example.org, you@example.org"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["Date"].datetime.timestamp() == 1_790_000_000
    text = mail.get_content()
    assert "pages: 7" in text
    assert "JOBDIR: /crawls/first" in text


def test_a_name_with_line_ends_makes_no_header():
    mails = Mails()
    crawl = CrawlOrigin("first\r\nBcc: all@example.org\x00\udc80", "broad", "w0", "machine", None)
    with mail_server(mails) as port:
        mailed(port, message=Message("end", 0.0, crawl, "finished"))
    [envelope] = mails.got
    mail = message_from_bytes(envelope.content, policy=default)
    assert mail["Bcc"] is None
    assert mail["Subject"] == "webcrawl: first Bcc: all@example.org finished"


def authenticator(server, session, envelope, mechanism, data):
    return AuthResult(success=(data.login, data.password) == (b"crawler", b"sesame"), handled=False)


@pytest.fixture(scope="module")
def certificate():
    context, pem = self_signed(["localhost"])
    trusting = ssl.create_default_context(cadata=pem)
    # The server is asked for by its address.
    trusting.check_hostname = False
    return context, trusting


def test_mail_goes_by_starttls_with_a_password(certificate):
    context, trusting = certificate
    mails = Mails()
    options = {
        "tls_context": context,
        "require_starttls": True,
        "auth_required": True,
        "authenticator": authenticator,
    }
    with mail_server(mails, **options) as port:
        mailed(port, starttls=True, user="crawler", password="sesame", trusted=trusting)
        assert len(mails.got) == 1
        with pytest.raises(NotDelivered, match="535") as failed:
            mailed(port, starttls=True, user="crawler", password="wrong", trusted=trusting)
        assert failed.value.is_final
        with pytest.raises(NotDelivered, match="530 Must issue a STARTTLS") as failed:
            mailed(port)
        assert failed.value.is_final
        with pytest.raises(NotDelivered, match="certificate is not trusted") as failed:
            mailed(port, starttls=True, user="crawler", password="sesame")
        assert failed.value.is_final
    assert len(mails.got) == 1


def test_a_server_without_starttls_gets_no_password():
    mails = Mails()
    with mail_server(mails) as port, pytest.raises(NotDelivered, match="STARTTLS") as failed:
        mailed(port, starttls=True, user="crawler", password="sesame")
    assert failed.value.is_final
    assert mails.got == []


def test_refused_addresses_are_named():
    mails = Mails({"you@example.org": 550})
    with mail_server(mails) as port:
        with pytest.raises(NotDelivered, match=r"refused: you@example\.org: 550 no such user") as failed:
            mailed(port)
        # The other one has it.
        assert failed.value.is_final
        assert len(mails.got) == 1
    mails = Mails({"you@example.org": 450})
    with mail_server(mails) as port:
        with pytest.raises(NotDelivered, match="450") as failed:
            mailed(port, recipients=["you@example.org"])
        assert not failed.value.is_final


def test_a_mail_server_that_hangs_is_given_up():
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        server = MailServer("127.0.0.1", silent.getsockname()[1], "crawler@example.org")
        with pytest.raises(NotDelivered, match=r"no answer within 0\.2 s") as failed:
            asyncio.run(Mailbox(["ops@example.org"], server, 0.2).take(MESSAGE))
    assert not failed.value.is_final
