"""The dashboard behind a real nginx: with the block of the documentation, and with a bare ``proxy_pass``."""

from __future__ import annotations

import asyncio
import re
import shutil
import ssl
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import ClientSession, TCPConnector

from tests.crawl.test_dashboard import reserved_port
from tests.fakeweb.tls import key_and_certificate
from tests.unit.web.dashboard.serving import TOKEN, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin")
NAME = "crawl.example.org"
DOCUMENTED = (Path(__file__).parents[2] / "docs/guides/dashboard.md").read_text()
BARE = "server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:8765; }} }}"

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


@contextmanager
def nginx(folder: Path, server: str) -> Iterator[None]:
    """A proxy of these blocks, in the foreground of a process of its own."""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1; daemon off;\n"
        f"events {{ worker_connections 64; }}\nhttp {{ access_log off; {temporary}\n{server}\n}}\n"
    )
    process = subprocess.Popen([str(NGINX), "-c", str(configuration), "-p", str(folder)])
    try:
        yield
    finally:
        process.terminate()
        process.wait(120)


async def until_answered(client: ClientSession, base: str) -> None:
    for _ in range(300):
        try:
            async with client.get(f"{base}/healthz", headers={"Host": NAME}):
                return
        except OSError:
            await asyncio.sleep(0.05)
    raise AssertionError("nginx does not answer")


def test_a_bare_proxy_opens_nothing(tmp_path):
    """It sends the dashboard's own address as Host, and no header that tells of a proxy."""

    async def whole() -> None:
        with reserved_port() as port:
            async with serving() as site:
                block = BARE.format(port=port).replace("8765", str(site.port))
                with nginx(tmp_path, block):
                    async with ClientSession() as client:
                        base = f"http://127.0.0.1:{port}"
                        await until_answered(client, base)
                        for path in ("/api/v1/crawl", "/api/v1/events", "/metrics", "/api/v1/url?url=x"):
                            async with client.get(base + path) as answer:
                                assert answer.status == 401
                        assert site.crawl.reads == 0
                        bearer = {"Authorization": f"Bearer {TOKEN}"}
                        async with client.get(f"{base}/api/v1/crawl", headers=bearer) as answer:
                            assert answer.status == 200

    asyncio.run(whole())


def documented(folder: Path, port: int, dashboard: int) -> str:
    """The block of the documentation, with ports and certificate of this test."""
    [block] = re.findall(r"```nginx\n(.*?)```", DOCUMENTED, re.DOTALL)
    chain, key = folder / "chain.pem", folder / "key.pem"
    secret, certificate = key_and_certificate([NAME])
    key.write_bytes(secret)
    chain.write_bytes(certificate)
    for written, here in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/certs/crawl.example.org.pem", str(chain)),
        ("/etc/ssl/private/crawl.example.org.key", str(key)),
        ("127.0.0.1:8765", f"127.0.0.1:{dashboard}"),
    ):
        assert written in block
        block = block.replace(written, here)
    # The redirect from port 80 is a server of its own.
    return block.replace("listen 80;", f"listen unix:{folder}/80.sock;")


def test_the_block_of_the_documentation_serves_browsers(tmp_path):
    async def whole() -> None:
        with reserved_port() as port:
            async with serving(allowed_hosts=(NAME,)) as site:
                with nginx(tmp_path, documented(tmp_path, port, site.port)):
                    context = ssl.create_default_context()
                    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                    async with ClientSession(connector=TCPConnector(ssl=context)) as client:
                        await browse(client, f"https://127.0.0.1:{port}", f"{NAME}:{port}")

    asyncio.run(whole())


async def browse(client: ClientSession, base: str, host: str) -> None:
    await until_answered(client, base)
    own: dict[str, Any] = {"Host": host, "Origin": f"https://{host}"}
    async with client.get(f"{base}/api/v1/crawl", headers={"Host": host}) as answer:
        assert answer.status == 401
    async with client.post(f"{base}/api/v1/session", json={"token": TOKEN}, headers=own) as answer:
        told = await answer.json()
        cookie = answer.headers["Set-Cookie"]
        assert answer.status == 200
        assert "Secure" in cookie
    own |= {"Cookie": cookie.partition(";")[0], "X-CSRF-Token": told["csrf"]}
    async with client.get(f"{base}/api/v1/events", headers=own) as answer:
        # Two states come while the stream is open: nothing keeps them back.
        for _ in range(2):
            assert await asyncio.wait_for(answer.content.readline(), 10) == b"event: crawl\n"
            while (await asyncio.wait_for(answer.content.readline(), 10)).strip():
                pass
    async with client.post(f"{base}/api/v1/suggestions/x", json={"wrong": 1}, headers=own) as answer:
        # It passed the checks of rights and origin, and is wrong otherwise.
        assert answer.status == 400
