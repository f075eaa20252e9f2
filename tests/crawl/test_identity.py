"""Signed requests, judged by the server: it verifies each request by another implementation of RFC 9421."""

from __future__ import annotations

import gzip
import json
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests import served
from tests.signatures import FIELDS, Keys, verified_parameters
from webcrawl.features.identity import keys

if TYPE_CHECKING:
    from collections.abc import Iterator

AGENT = "https://bot.example.org"
OTHER = "other.localhost"


class Arrived(NamedTuple):
    """A request as the server received it, and when."""

    method: str
    url: str
    head: bytes
    at: float

    @property
    def path(self) -> str:
        return self.url.partition("://")[2].partition("/")[2]


class SignedSite:
    """A site with a redirect, a sitemap and a page that is not there at first; it keeps all requests."""

    def __init__(self) -> None:
        self.requests: list[Arrived] = []
        self._busy = {"busy"}

    def handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

            def do_GET(self) -> None:
                host = self.headers["Host"]
                head = f"{self.requestline}\r\n{self.headers}".replace("\r\n", "\n").replace("\n", "\r\n")
                site.requests.append(
                    Arrived(self.command, f"http://{host}{self.path}", head.encode(), time.time())
                )
                status, body, more = site.answer(host, self.path[1:])
                self.send_response(status)
                for name, value in {"Content-Type": "text/html", "Content-Length": len(body), **more}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(body)

        return Handler

    def answer(self, host: str, path: str) -> tuple[int, bytes, dict[str, object]]:
        """Return status, body and headers."""
        port = host.partition(":")[2]
        if path == "robots.txt":
            text = f"User-agent: *\nAllow: /\nSitemap: http://{host}/sitemap.xml\n"
            return 200, text.encode(), {"Content-Type": "text/plain"}
        if path == "sitemap.xml":
            return 200, f"<urlset><url><loc>http://{host}/listed</loc></url></urlset>".encode(), {}
        if path == "moved":
            return 302, b"", {"Location": "/moved/again?hop=2"}
        if path.startswith("moved/again"):
            return 307, b"", {"Location": f"http://{OTHER}:{port}/here?x=%20y"}
        if path in self._busy:
            self._busy.discard(path)
            return 503, b"", {"Retry-After": "0"}
        links = ["/moved", "/busy", "/%7Ea;b/?q=1&r"] if not path else []
        return 200, "".join(f'<a href="{link}">x</a>' for link in links).encode(), {}


@pytest.fixture(scope="module")
def site() -> SignedSite:
    return SignedSite()


@pytest.fixture(scope="module")
def port(site: SignedSite) -> Iterator[int]:
    with served.serving(site.handler()) as server:
        yield server.server_port


@pytest.fixture(scope="module")
def key_file(folder):
    path = folder / "key"
    keys.write_file(path, keys.KeyRing([keys.new_key()]))
    return path


def settings(key_file, **more):
    return {"IDENTITY_KEY_FILE": key_file, "IDENTITY_AGENT": AGENT, "SITEMAPS_FOLLOW": True, **more}


@pytest.fixture(scope="module")
def crawled(site, port, key_file, crawl):
    done = crawl(
        f"http://start.localhost:{port}/",
        LOG_LEVEL="DEBUG",
        IDENTITY_LIFETIME_SECONDS=86_400,
        **settings(key_file),
    )
    done.assert_ended_well().assert_sound()
    return done


EXPECTED = {
    "robots.txt": 2,
    "sitemap.xml": 2,
    "": 1,
    "moved": 1,
    "moved/again?hop=2": 1,
    "here?x=%20y": 1,
    "busy": 2,
    "listed": 2,
    "%7Ea;b/?q=1&r": 1,
}
"""Path to the number of requests, over both hosts."""


def test_each_kind_of_request_was_made(crawled, site):
    paths = [request.path for request in site.requests]
    assert {path: paths.count(path) for path in paths} == EXPECTED


def test_each_request_has_a_valid_signature_of_its_own(crawled, site, key_file):
    public = Keys.of(key_file)
    [keyid] = [key.thumbprint for key in keys.load_file(key_file).keys]
    signatures = set()
    for request in site.requests:
        parameters = verified_parameters(request.method, request.url, request.head, public)
        assert parameters is not None, request
        assert parameters["keyid"] == keyid
        assert parameters["tag"] == "web-bot-auth"
        assert parameters["expires"] - parameters["created"] == 86_400
        assert parameters["covered"][:4] == [
            '"@method"',
            '"@authority"',
            '"@path"',
            '"signature-agent";key="sig1"',
        ]
        assert b'\r\nSignature-Agent: sig1="https://bot.example.org"\r\n' in request.head
        signatures.add(parameters["nonce"])
    assert len(signatures) == len(site.requests)


def test_each_signature_is_of_the_moment_of_its_request(crawled, site, key_file):
    """It was made after the request before had arrived, in whole seconds, and before its own did."""
    public, before = Keys.of(key_file), 0.0
    for request in site.requests:
        parameters = verified_parameters(request.method, request.url, request.head, public)
        assert parameters is not None
        assert int(before) <= parameters["created"] <= request.at
        before = request.at if "start." in request.url else before


def test_the_archive_has_the_requests_as_they_were_sent(crawled, site):
    archived = b"".join(gzip.decompress(path.read_bytes()) for path in crawled.warcs())
    for request in site.requests:
        [line] = [line for line in request.head.split(b"\r\n") if line.startswith(b"Signature:")]
        assert archived.count(line) == 1, request.path


def test_the_private_key_is_in_no_file_of_the_crawl_and_in_no_output(crawled, key_file):
    [jwk] = json.loads(key_file.read_text())["keys"]
    secrets = [jwk["d"].encode(), keys.from_base64url(jwk["d"]), keys.from_base64url(jwk["d"]).hex().encode()]
    files = [path for path in Path(crawled.path).rglob("*") if path.is_file()]
    assert len(files) > 5
    for path in files:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content += gzip.decompress(content)
        assert not any(secret in content for secret in secrets), path
    assert not any(secret in crawled.stderr.encode() for secret in secrets)
    assert f"Requests are signed with the key {jwk['kid']} of {AGENT}" in crawled.stderr


def test_without_a_key_nothing_is_signed(crawled, site, port, crawl):
    before = len(site.requests)
    crawl(f"http://plain.localhost:{port}/listed").assert_ended_well()
    heads = [request.head for request in site.requests[before:]]
    assert len(heads) >= 2
    assert not any(name.encode() in head for head in heads for name in FIELDS)


def test_the_key_may_be_in_the_environment(crawled, site, port, key_file, crawl, monkeypatch):
    before = len(site.requests)
    monkeypatch.setenv("WEBCRAWL_IDENTITY_KEY", key_file.read_text())
    crawl(f"http://environment.localhost:{port}/listed", IDENTITY_AGENT=AGENT).assert_ended_well()
    public = Keys.of(key_file)
    for request in site.requests[before:]:
        assert verified_parameters(request.method, request.url, request.head, public) is not None
    assert len(site.requests) > before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"IDENTITY_KEY_FILE": "{folder}/none"}, "IDENTITY_KEY_FILE: must be a file of scrapy identity new"),
        ({"IDENTITY_KEY_FILE": "{folder}/open"}, "(it can be read by others; chmod 600 it)"),
        ({"IDENTITY_KEY_FILE": "{folder}/damaged"}, "(it is neither a JSON Web Key nor PEM)"),
        ({"IDENTITY_KEY_FILE": "{folder}/ended"}, "IDENTITY_KEY_FILE: has no key that is in force now"),
        ({"IDENTITY_AGENT": ""}, "IDENTITY_AGENT: must be set with a key"),
        ({"IDENTITY_AGENT": "http://a.test"}, "IDENTITY_AGENT: must be an origin such as"),
        ({"IDENTITY_AGENT": "https://a.test/x"}, "IDENTITY_AGENT: must be an origin such as"),
        ({"IDENTITY_KEY_FILE": ""}, "IDENTITY_AGENT: needs a key"),
        ({"IDENTITY_COMPONENTS": "@method"}, "IDENTITY_COMPONENTS: must be a list of @method"),
        ({"IDENTITY_LIFETIME_SECONDS": "0"}, "IDENTITY_LIFETIME_SECONDS: must be a whole number"),
        (
            {
                "DOWNLOAD_HANDLERS": '{"https": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"}'
            },
            "DOWNLOAD_HANDLERS: https must be webcrawl.fetching.http.HttpDownloadHandler, since no other one signs",
        ),
    ],
)
def test_with_a_wrong_key_nothing_is_fetched(crawled, site, port, key_file, folder, crawl, given, message):
    (folder / "damaged").write_text('{"keys"')
    (folder / "open").write_bytes(key_file.read_bytes())
    keys.write_file(folder / "ended", keys.KeyRing([keys.new_key()]).rotated(keys.new_key(4e9), 1.0, 0.0))
    for name, mode in (("damaged", 0o600), ("open", 0o644)):
        (folder / name).chmod(mode)
    before = len(site.requests)
    values = {name: value.replace("{folder}", str(folder)) for name, value in given.items()}
    done = crawl(f"http://start.localhost:{port}/", **settings(key_file, **values))
    assert done.status == 2
    assert message in done.stderr
    assert len(site.requests) == before
