"""What the crawler publishes about itself: address ranges, card, and the headers for web servers."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.rows import each_row
from webcrawl.config import Configuration
from webcrawl.features.identity import address_ranges, agent_card, keys
from webcrawl.features.identity.agent_card import AgentFacts
from webcrawl.features.identity.keys import KeyRing
from webcrawl.features.identity.publishing import published_files, write_files
from webcrawl.features.identity.web_bot_auth import DIRECTORY_PATH, proved_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

AGENT = "https://bot.example.org"
NOW = 1_800_000_000.0


def ranges(addresses: list[str], at: float = NOW) -> dict[str, object]:
    content: dict[str, object] = json.loads(address_ranges.address_ranges(addresses, "bot", at))
    return content


def test_the_ranges_are_those_of_the_draft() -> None:
    """Its first example, with the token that the text demands, and a service."""
    content = ranges(["66.249.64.0/20", "34.64.0.0/12", "2001:4860:4000::/36"], 1_755_268_200.7)
    assert content.pop("synctoken")
    assert content == {
        "formatVersion": "1.0",
        "creationTime": "2025-08-15T14:30:00Z",
        "prefixes": [
            {"ipv4Prefix": "66.249.64.0/20", "service": "bot"},
            {"ipv4Prefix": "34.64.0.0/12", "service": "bot"},
            {"ipv6Prefix": "2001:4860:4000::/36", "service": "bot"},
        ],
    }


def test_an_address_is_a_range_and_the_token_changes_with_the_ranges_alone() -> None:
    first = ranges(["192.0.2.7", "2001:db8::1"])
    assert first["prefixes"] == [
        {"ipv4Prefix": "192.0.2.7/32", "service": "bot"},
        {"ipv6Prefix": "2001:db8::1/128", "service": "bot"},
    ]
    assert ranges(["192.0.2.7", "2001:db8::1"], NOW + 1)["synctoken"] == first["synctoken"]
    assert ranges(["192.0.2.8", "2001:db8::1"])["synctoken"] != first["synctoken"]


def test_ranges_are_read_as_the_draft_says() -> None:
    written = address_ranges.address_ranges(["192.0.2.0/24", "2001:db8::/32"], "", NOW)
    assert address_ranges.read_ranges(written) == ["192.0.2.0/24", "2001:db8::/32"]
    both = b'{"formatVersion": "1.7", "prefixes": [{"ipv4Prefix": "192.0.2.0/24", "ipv6Prefix": "::/0"}, {}]}'
    assert address_ranges.read_ranges(both) == []
    for wrong, reason in (
        (b"", "is no JSON"),
        (b"[]", "has no list of prefixes"),
        (b'{"formatVersion": "2.0", "prefixes": []}', "is of another version than 1"),
    ):
        with pytest.raises(ValueError, match=reason):
            address_ranges.read_ranges(wrong)


def test_the_card_has_the_members_of_the_draft() -> None:
    facts = AgentFacts(
        url="https://example.com/bot",
        name="Example Bot",
        page_url="https://example.com/bot/about.html",
        contacts=["bot-support@example.com"],
        keys_url="https://example.com/.well-known/http-message-signatures-directory",
        user_agent="Mozilla/5.0 ExampleBot",
        product_token="ExampleBot",
        purpose="search",
        rate_expectation="one request at a time",
        ranges_url="https://example.com/ips.json",
    )
    content = json.loads(agent_card.card(facts))
    about = content.pop("web_bot_auth")
    assert content == {
        "client_id": "https://example.com/bot",
        "client_name": "Example Bot",
        "client_uri": "https://example.com/bot/about.html",
        "contacts": ["mailto:bot-support@example.com"],
        "jwks_uri": "https://example.com/.well-known/http-message-signatures-directory",
    }
    assert about.pop("rate-control")
    assert about == {
        "expected-user-agent": "Mozilla/5.0 ExampleBot",
        "rfc9309-product-token": "ExampleBot",
        "rfc9309-compliance": True,
        "trigger": "crawler",
        "purpose": "search",
        "rate-expectation": "one request at a time",
        "known-urls": ["/robots.txt"],
        "ips_uri": "https://example.com/ips.json",
    }
    assert agent_card.card_problems(agent_card.card(facts), facts.url, facts.keys_url) == []


@each_row(
    ("card", "problem"),
    [
        ('{"client_id": "https://example.com/other", "jwks_uri": "K"}', "has the client_id"),
        ('{"client_id": "C", "jwks_uri": "K", "jwks": {"keys": []}}', "has both jwks and jwks_uri"),
        ('{"client_id": "C", "jwks_uri": "https://example.com/x"}', "names the keys at"),
        ("[]", "is no JSON object"),
        ("<html>", "is no JSON"),
    ],
)
def test_a_wrong_card_is_told(card: str, problem: str) -> None:
    [told] = agent_card.card_problems(card.encode(), "C", "K")
    assert told.startswith(problem)


def test_the_files_have_no_private_key_and_the_headers_that_they_need(tmp_path: Path) -> None:
    ring = KeyRing([keys.new_key(), keys.new_key(NOW + 60)])
    configuration = Configuration(
        crawler_contact="https://example.org/bot.html",
        botpage_contact="bot@example.org",
        botpage_addresses=("192.0.2.7",),
        user_agent="library-bot/2 (+https://example.org/bot.html)",
    )
    files = list(published_files(configuration, AGENT, ring, NOW, 100.0))
    paths = [path.relative_to(tmp_path).as_posix() for path in write_files(tmp_path, files)]
    assert paths == [
        ".well-known/http-message-signatures-directory",
        "signature-agent-card.json",
        "client-ranges.json",
        "_headers",
        "nginx-identity.conf",
    ]
    content = "".join((tmp_path / path).read_text() for path in paths)
    for key in ring.keys:
        assert key.thumbprint in content
        assert key.private_jwk()["d"] not in content
    card = json.loads((tmp_path / "signature-agent-card.json").read_text())
    assert card["client_id"] == f"{AGENT}/signature-agent-card.json"
    assert card["client_uri"] == "https://example.org/bot.html"
    assert card["contacts"] == ["mailto:bot@example.org"]
    for name in ("_headers", "nginx-identity.conf"):
        text = (tmp_path / name).read_text()
        for header, value in files[0].headers.items():
            assert value in text, header
    assert f"expires={int(NOW) + 100}" in files[0].headers["Signature-Input"]


def test_headers_of_the_site_itself_are_not_replaced(tmp_path: Path) -> None:
    files = list(published_files(Configuration(), AGENT, KeyRing([keys.new_key()]), NOW, 100.0))
    (tmp_path / "_headers").write_text("/*\n  X-Own: 1\n")
    names = [path.name for path in write_files(tmp_path, files)]
    assert names[-2:] == ["_headers.identity", "nginx-identity.conf"]
    assert (tmp_path / "_headers").read_text() == "/*\n  X-Own: 1\n"
    (tmp_path / "_headers").unlink()
    for _ in range(2):
        assert [path.name for path in write_files(tmp_path, files)][-2] == "_headers"


NGINX = shutil.which("nginx") or "/usr/sbin/nginx"


@pytest.mark.skipif(not os.access(NGINX, os.X_OK), reason="nginx is in Debian's package nginx-light")
def test_nginx_that_compresses_everything_serves_the_directory_as_it_was_signed(tmp_path: Path) -> None:
    ring = KeyRing([keys.new_key()])
    files = list(published_files(Configuration(botpage_addresses=("192.0.2.7",)), AGENT, ring, NOW, 100.0))
    folder = tmp_path / "public"
    folder.mkdir()
    list(write_files(folder, files))
    (folder / "other.json").write_text("1" * 2_000)
    with served_by_nginx(tmp_path, folder) as port:
        got = {path: get(port, path) for path in (*(file.path for file in files), "/other.json")}
    # The server does compress.
    assert got["/other.json"].headers["Content-Encoding"] == "gzip"
    for file in files:
        response = got[file.path]
        assert response.status == 200
        assert response.body == file.body
        assert {name: response.headers[name] for name in file.headers} == file.headers
    directory = got[DIRECTORY_PATH]
    fields = {name.lower(): value for name, value in directory.headers.items()}
    authority = AGENT.removeprefix("https://")
    [(name, expires, reason)] = proved_keys(directory.body, fields, authority, NOW + 1)
    assert (name, expires, reason) == (ring.keys[0].thumbprint, int(NOW) + 100, "")


@dataclass(frozen=True)
class Got:
    """A response of nginx."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def get(port: int, path: str) -> Got:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
        response = connection.getresponse()
        return Got(response.status, dict(response.getheaders()), response.read())
    finally:
        connection.close()


@contextmanager
def served_by_nginx(folder: Path, public: Path) -> Iterator[int]:
    """Serve a folder with its file of locations, on loopback, compressing all that it may. The socket is ours, so
    that it can be connected to before the server has started."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        (folder / "nginx.conf").write_text(
            f"""daemon off; worker_processes 1; user {getpass.getuser()}; pid {folder}/nginx.pid; error_log stderr;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;
    server {{ listen 127.0.0.1:{port}; root {public}; include {public}/nginx-identity.conf; }}
}}
"""
        )
        handle = listening.fileno()
        # nginx takes the sockets that it is given by number in this variable.
        environment = {**os.environ, "NGINX": f"{handle};"}
        server = subprocess.Popen(
            [NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf")],
            env=environment,
            pass_fds=[handle],
            stderr=subprocess.PIPE,
        )
        try:
            yield port
        finally:
            server.terminate()
            server.communicate()
