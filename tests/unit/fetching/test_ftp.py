"""The handler for ftp and ftps, against pyftpdlib and against servers that misbehave."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from math import inf

import pytest

from tests.fakeweb.tls import key_and_certificate
from tests.rows import each_row
from tests.schemeservers.ftp import replies, serve_ftp, serve_script
from tests.unit.fetching.lab import Client, run
from tests.unit.fetching.nameserver import name_server
from webcrawl.fetching.failures import PrivateAddressError
from webcrawl.fetching.ftp import FtpDownloadHandler, FtpsDownloadHandler
from webcrawl.parsing.mime import FTP_LISTING
from webcrawl.refusal import Refused
from webcrawl.scope.exclusion import ExclusionList
from webcrawl.storage.contract import LeaseValidity

NOWHERE = 1
"""A port where nothing listens on loopback."""


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_bytes(b"hello")
    (folder / "page.html").write_bytes(b"<a href='a.txt'>" + b" " * 3000)
    (folder / "caf\u00e9 #1").write_bytes(b"\x89PNG\r\n\x1a\n")
    return folder


def fetch(url, facts=None, handler=FtpDownloadHandler, loop="uvloop", meta=None, **settings):
    async def once():
        async with Client(**settings) as client:
            client.handler = handler.from_crawler(client.crawler)
            return await client.fetch(url, facts, meta=meta)

    return run(once(), loop)


def outcome(fetched):
    """The status with the reply, or the word of the failure."""
    if fetched.response is None:
        return fetched.word
    return fetched.response.status, fetched.meta.capture.reply


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_file(root, loop):
    with serve_ftp(root) as ftp:
        fetched = fetch(f"{ftp.url}a.txt", loop=loop, CRAWLER_CONTACT="me@crawler.example")
    response, capture = fetched.response, fetched.meta.capture
    assert (response.status, response.body, response.flags, response.protocol) == (200, b"hello", [], "ftp")
    assert response.headers[b"Content-Type"] == b"text/plain"
    assert (capture.payload, capture.resource_type, capture.truncated) == (b"hello", "text/plain", None)
    assert (capture.ip, capture.reply, capture.response_head) == ("127.0.0.1", "226", b"")
    assert ftp.commands[:2] == [("USER", "anonymous"), ("PASS", "me@crawler.example")]
    assert ftp.most_open() == 1


def test_a_name_that_is_no_text_and_has_no_extension(root):
    with serve_ftp(root) as ftp:
        fetched = fetch(f"{ftp.url}caf%C3%A9%20%231")
    assert fetched.response.headers[b"Content-Type"] == b"image/png"


def test_listings_by_facts_and_by_list(root):
    with serve_ftp(root) as ftp:
        facts = fetch(ftp.url)
        with_type = fetch(f"{ftp.url}sub;type=d")
    with serve_ftp(root, without=("MLSD", "MLST")) as old:
        listed = fetch(old.url)
    assert b"type=file" in facts.response.body
    assert b"-rw" in listed.response.body
    assert with_type.response.body == b""
    for fetched in (facts, listed, with_type):
        assert fetched.meta.capture.resource_type == FTP_LISTING
        assert fetched.response.headers[b"Content-Type"] == FTP_LISTING.encode()
    assert old.named("LIST") == [""]


def test_a_folder_without_a_slash_redirects_and_a_missing_file_is_404(root):
    with serve_ftp(root) as ftp:
        redirect, missing, no_folder = (fetch(f"{ftp.url}{path}") for path in ("sub", "none.txt", "none/"))
        assert redirect.response.headers[b"Location"] == f"{ftp.url}sub/".encode()
    assert [outcome(each) for each in (redirect, missing, no_folder)] == [
        (301, "550"),
        (404, "550"),
        (404, "550"),
    ]
    assert all(each.meta.capture.resource_type is None for each in (redirect, missing, no_folder))


def test_limits(root):
    (root / "big").write_bytes(b"x" * 5000)
    with serve_ftp(root) as ftp:
        limits = {"DOWNLOAD_MAXSIZE": 1024}
        cut = fetch(f"{ftp.url}big", **limits)
        html = fetch(f"{ftp.url}page.html", **limits, DOWNLOAD_TEXT_MAXSIZE=2000)
        announced = fetch(f"{ftp.url}big", **limits, DOWNLOAD_ANNOUNCED_MAXSIZE=2048)
    assert (len(cut.response.body), cut.response.flags, cut.meta.capture.truncated) == (
        1024,
        ["truncated"],
        "length",
    )
    assert (len(html.response.body), len(html.meta.capture.payload)) == (2000, 1024)
    assert announced.response.flags == ["cancelled:length"]
    assert announced.response.body == b""
    assert announced.meta.capture.resource_type is None
    assert ftp.named("RETR") == ["big", "page.html"]


def test_unwanted_types_are_not_requested(root):
    (root / "clip.mp4").write_bytes(b"x")
    (root / "binary").write_bytes(b"\x00\x01")
    with serve_ftp(root) as ftp:
        by_name = fetch(f"{ftp.url}clip.mp4", {"wanted": ("text/*",)})
        assert ftp.sessions == []
        by_content = fetch(f"{ftp.url}binary", {"wanted": ("text/*",)})
        listing = fetch(ftp.url, {"wanted": ("text/html",)})
    assert isinstance(by_name.error, Refused)
    assert (by_name.error.rule, by_name.word) == ("mime", "other")
    assert by_content.response.flags == ["cancelled:mime"]
    assert listing.response.flags == []


def test_logins(root):
    with serve_ftp(root, users={"me": "secret"}, auth_failed_timeout=0) as ftp:
        anonymous = fetch(f"{ftp.url}a.txt")
        by_settings = fetch(f"{ftp.url}a.txt", FTP_USER="me", FTP_PASSWORD="secret")
        by_meta = fetch(f"{ftp.url}a.txt", meta={"ftp_user": "me", "ftp_password": "secret"})
        in_url = fetch(f"ftp://me:secret@localhost:{ftp.port}/a.txt")
        broken = fetch(f"{ftp.url}a.txt", FTP_USER="me\r\nDELE a.txt", FTP_PASSWORD="")
    assert anonymous.word == in_url.word == broken.word == "login"
    assert "secret" not in f"{anonymous.error} {in_url.error}"
    assert by_settings.response.body == by_meta.response.body == b"hello"
    assert "DELE" not in dict(ftp.commands)


PATHS = ["a%0D%0ADELE%20x", "a%00b", "a%2F..%2F..%2Fetc/x"]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_cannot_hold_a_command_or_lead_out(root, path):
    with serve_ftp(root) as ftp:
        assert fetch(f"{ftp.url}{path}").word == "unsupported"
        assert ftp.sessions == []


@pytest.fixture
def certificate(tmp_path):
    path = tmp_path / "server.pem"
    path.write_bytes(b"".join(key_and_certificate(["localhost"])))
    return path


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_tls_by_scheme_and_by_setting(root, certificate, loop):
    with serve_ftp(root, certificate=certificate, implicit=True) as ftp:
        url = f"ftps://localhost:{ftp.port}/"
        implicit = fetch(f"{url}a.txt", handler=FtpsDownloadHandler, loop=loop)
        verified = fetch(url, handler=FtpsDownloadHandler, loop=loop, DOWNLOAD_VERIFY_CERTIFICATES=True)
    required = {"tls_control_required": True, "tls_data_required": True}
    with serve_ftp(root, certificate=certificate, **required) as explicit_only:
        explicit = fetch(f"{explicit_only.url}a.txt", loop=loop, FTP_TLS="require")
        listing = fetch(explicit_only.url, loop=loop, FTP_TLS="try")
        in_the_clear = fetch(f"{explicit_only.url}a.txt", loop=loop)
    assert implicit.response.body == explicit.response.body == b"hello"
    assert b"page.html" in listing.response.body
    assert ftp.named("PROT") == explicit_only.named("PROT")[:1] == ["P"]
    assert (verified.word, in_the_clear.word) == ("tls", "login")


def test_a_server_without_tls(root):
    with serve_ftp(root) as ftp:
        assert fetch(f"{ftp.url}a.txt", FTP_TLS="require").word == "login"
        assert fetch(f"{ftp.url}a.txt", FTP_TLS="try").response.body == b"hello"
        assert fetch(f"ftps://localhost:{ftp.port}/", handler=FtpsDownloadHandler).word == "tls"


BUSY = {"USER": "421 too many connections"}
ANONYMOUS = {"USER": "230 welcome", "TYPE": "200 ok", "QUIT": "221 bye", "SIZE": "213 5"}
MISBEHAVIOUR = {
    "busy at the door": (replies({}, "421 too many connections"), (503, "421")),
    "not ready": (replies({}, "120 in ten minutes"), (503, "120")),
    "busy at the login": (replies(BUSY), (503, "421")),
    "no entry": (replies({}, "530 go away"), "login"),
    "login refused": (replies({"USER": "331 password", "PASS": "530 no"}), "login"),
    "account wanted": (replies({"USER": "332 account"}), "login"),
    "no passive mode": (replies(ANONYMOUS), "data-connection"),
    "refused data connection": (replies({**ANONYMOUS, "EPSV": "229 (|||1024|)"}), "data-connection"),
    "bounce to another service": (replies({**ANONYMOUS, "EPSV": "229 (|||25|)"}), "data-connection"),
    "port that is none": (replies({**ANONYMOUS, "EPSV": "229 (|||99999|)"}), "data-connection"),
    "garbage": (replies({}, "SSH-2.0-OpenSSH_9.2"), "protocol"),
    "a line without end": (replies({}, "220 " + "x" * 100_000), "protocol"),
    "a greeting without end": (replies({}, "220-x\r\n" + "x\r\n" * 2000), "protocol"),
    "silence": (lambda connection: connection.recv(1), "timeout"),
    "nothing": (lambda connection: None, "empty"),
}


@each_row("name", MISBEHAVIOUR)
def test_each_misbehaviour_is_an_outcome_with_a_name(name):
    session, expected = MISBEHAVIOUR[name]
    with serve_script(session) as port:
        seconds = 0.5 if name == "silence" else 20
        assert outcome(fetch(f"ftp://127.0.0.1:{port}/a.txt", DOWNLOAD_TIMEOUT=seconds)) == expected


def test_a_refused_connection():
    assert fetch(f"ftp://127.0.0.1:{NOWHERE}/").word == "connection-refused"


def data_server(send):
    """A listener for one data connection, which ``send`` uses; its port."""
    return serve_script(send)


def transferring(port, last, **more):
    """The replies of a transfer over the data connection at ``port``."""
    answers = {
        **ANONYMOUS,
        "EPSV": f"229 (|||{port}|)",
        "RETR": f"150 here{last}",
        "CWD": "250 ok",
        "LIST": f"150{last}",
    }
    return replies({**answers, **more})


def test_the_data_connection_goes_to_the_server_alone():
    """A server that names another host in its reply to PASV gets the connection itself."""
    with data_server(lambda connection: connection.sendall(b"hello")) as data:
        elsewhere = f"227 ok (203,0,113,7,{data // 256},{data % 256})"
        with serve_script(transferring(data, "\r\n226 done", EPSV="522 no", PASV=elsewhere)) as port:
            fetched = fetch(f"ftp://127.0.0.1:{port}/a.txt")
    assert fetched.response.body == b"hello"
    assert fetched.meta.capture.ip == "127.0.0.1"


def test_a_data_connection_that_never_opens():
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        full_port = full.getsockname()[1]
        held = []
        for _ in range(4):
            waiting = socket.socket()
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", full_port))
            held.append(waiting)
        with serve_script(transferring(full_port, "")) as port:
            fetched = fetch(f"ftp://127.0.0.1:{port}/a.txt", DOWNLOAD_CONNECT_TIMEOUT=0.5)
        for waiting in held:
            waiting.close()
    assert fetched.word == "data-connection"


def test_what_came_of_a_cut_transfer_is_kept():
    half = data_server(lambda connection: connection.sendall(b"hel"))
    with half as data, serve_script(transferring(data, "\r\n426 aborted")) as port:
        fetched = fetch(f"ftp://127.0.0.1:{port}/a.txt")
    assert fetched.response.body == fetched.meta.capture.payload == b"hel"
    assert fetched.response.flags == ["truncated", "dataloss"]
    assert (fetched.meta.capture.truncated, fetched.meta.capture.reply) == ("disconnect", "426")


def test_an_endless_listing_is_cut_at_the_limit():
    def send(connection):
        while True:
            connection.sendall(b"type=file;size=1; " + b"x" * 100 + b"\r\n")

    with data_server(send) as data, serve_script(transferring(data, "")) as port:
        fetched = fetch(f"ftp://127.0.0.1:{port}/", DOWNLOAD_TEXT_MAXSIZE=150_000)
    assert (len(fetched.response.body), fetched.meta.capture.truncated) == (150_000, "length")


def test_a_transfer_that_takes_too_long_is_cut():
    def send(connection):
        connection.sendall(b"hel")
        connection.recv(1)

    with data_server(send) as data, serve_script(transferring(data, "")) as port:
        fetched = fetch(f"ftp://127.0.0.1:{port}/a.txt", DOWNLOAD_TIMEOUT=0.5)
    assert (fetched.response.body, fetched.meta.capture.truncated) == (b"hel", "time")


def test_a_reply_in_several_lines_is_one_reply(root):
    banner = "220-welcome\r\n220- \r\n230 is no end\r\n220 ready"
    with serve_script(replies({"USER": "421-a\r\n421 b"}, banner)) as port:
        assert outcome(fetch(f"ftp://127.0.0.1:{port}/")) == (503, "421")


def test_nothing_is_sent_where_the_operator_forbids(root, tmp_path):
    with serve_ftp(root) as ftp:
        private = fetch(ftp.url, FETCH_PRIVATE_ADDRESSES=False)
        excluded = fetch(ftp.url, {"exclusions": ExclusionList.of(b"localhost\n")})
        lost = fetch(ftp.url, {"validity": LeaseValidity(-inf)})
        nowhere = fetch(ftp.url, {"place": ""})
        assert ftp.commands == []
    assert isinstance(private.error, PrivateAddressError)
    assert excluded.error.rule == "exclusion"
    assert (lost.word, nowhere.word) == ("cancelled", "dns")


def test_memory_is_accounted_for(root):
    with serve_ftp(root) as ftp:
        fetched = fetch(f"{ftp.url}a.txt")
        failed = fetch(f"{ftp.url}sub/x/")
    assert fetched.meta.account.size == 5
    assert failed.meta.account.size == 0


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_the_data_connection_resumes_the_session_of_the_control_connection(certificate, loop):
    """Servers require it by default, as proof that both connections are of one client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    resumed = []

    def send(connection):
        with context.wrap_socket(connection, server_side=True) as secure:
            resumed.append(secure.session_reused)
            secure.sendall(b"hello")

    def control(connection):
        with context.wrap_socket(connection, server_side=True) as secure:
            session(secure)

    with serve_script(send) as data:
        session = transferring(data, "\r\n226 done", PBSZ="200 ok", PROT="200 ok")
        with serve_script(control) as port:
            url = f"ftps://localhost:{port}/a.txt"
            fetched = fetch(url, handler=FtpsDownloadHandler, loop=loop)
    assert fetched.response.body == b"hello"
    assert resumed == [True]


def test_the_data_connection_does_not_try_other_addresses_of_the_host():
    """The host has two addresses; at the second one another server listens on the port of the data connection."""
    other = socket.create_server(("127.0.0.2", 0))
    reached = []

    def accept():
        with suppress(OSError):
            other.accept()[0].close()
            reached.append(True)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    session = transferring(other.getsockname()[1], "")

    async def once():
        async with (
            name_server(lambda name: ["127.0.0.1", "127.0.0.2"]) as names,
            Client(DNS_NAMESERVERS=[f"127.0.0.1:{names.port}"]) as client,
        ):
            client.handler = FtpDownloadHandler.from_crawler(client.crawler)
            return await client.fetch(f"ftp://two.example:{port}/a.txt")

    with serve_script(session) as port:
        fetched = run(once())
    other.shutdown(socket.SHUT_RDWR)
    thread.join(10)
    other.close()
    assert fetched.word == "data-connection"
    assert reached == []


def test_the_data_connection_goes_to_no_other_service():
    with serve_script(replies({**ANONYMOUS, "EPSV": "229 (|||25|)"})) as port:
        assert "another service" in str(fetch(f"ftp://127.0.0.1:{port}/a.txt").error)
