"""A bare project of ``scrapy startproject`` with spiders of a test's own, and a site that keeps a log of its own."""

from __future__ import annotations

import ssl
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, NamedTuple

from tests.commands import ROOT
from tests.install.project import ADDON, Project, environment
from tests.served import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    Answer = tuple[int, Mapping[str, str], bytes]

ON_LOOPBACK = """
CRAWLER_CONTACT = "https://crawler.example/about"
DOWNLOAD_DELAY = 0
FETCH_PRIVATE_ADDRESSES = True
POLITENESS_FACTOR = 0
POLITENESS_MIN_DELAY = 0
"""
"""What somebody sets for a site of their own on their own machine."""


class Hit(NamedTuple):
    """A request, as the server saw it."""

    path: str
    user_agent: str
    at: float


@dataclass
class Site:
    """Pages by path, each an answer or a function that gives one for the number of the request, from 1."""

    pages: dict[str, Answer | Callable[[int], Answer]]
    origin: str = ""
    hits: list[Hit] = field(default_factory=list)

    def paths(self) -> list[str]:
        """The paths of all requests, in the order in which they came."""
        return [hit.path for hit in self.hits]


def page(*links: str, title: str = "a page") -> Answer:
    """A page of HTML with links."""
    body = f"<title>{title}</title>" + "".join(f'<a href="{link}">{link}</a>' for link in links)
    return 200, {"Content-Type": "text/html"}, body.encode()


def text(words: str, status: int = 200, **headers: str) -> Answer:
    return status, {"Content-Type": "text/plain", **headers}, words.encode()


@contextmanager
def served(
    pages: Mapping[str, Answer | Callable[[int], Answer]], tls: ssl.SSLContext | None = None
) -> Iterator[Site]:
    """Serve pages on loopback until the end of the block, over TLS with a context; every other path is answered with
    404."""
    site = Site(dict(pages))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.hits.append(Hit(self.path, self.headers.get("User-Agent", ""), time.monotonic()))
            answer = site.pages.get(self.path, text("", 404))
            if callable(answer):
                answer = answer(site.paths().count(self.path))
            status, headers, body = answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """``hits`` is the log."""

    with serving(Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        site.origin = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
        yield site


def bare(folder: Path, settings: str = "", *, addon: bool = True, **modules: str) -> Project:
    """Make a project ``home``; ``modules`` are its files by name, ``spiders`` all its spiders."""
    folder.mkdir(parents=True)
    where = environment(ROOT)
    command = [sys.executable, "-m", "scrapy", "startproject", "home", str(folder)]
    subprocess.run(command, cwd=folder, env=where, check=True, stdout=subprocess.DEVNULL)
    for name, source in modules.items():
        path = "spiders/all" if name == "spiders" else name
        (folder / "home" / f"{path}.py").write_text(source)
    made = HomeProject(folder, where)
    with made.settings.open("a") as lines:
        lines.write((f"{ADDON}{ON_LOOPBACK}" if addon else "DOWNLOAD_DELAY = 0\n") + settings)
    return made


class HomeProject(Project):
    @property
    def settings(self) -> Path:
        return self.folder / "home" / "settings.py"
