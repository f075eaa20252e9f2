"""The web of the containers: ``python web.py HOSTS PAGES LOG`` on port 80, of the standard library alone.

Page N of a host links to its pages 2N+1 and 2N+2 and to the same number on the next host, so that all pages are
reached from the first of each. A line of JSON is appended for each request when its answer was sent: host, path, the
client's address, begin and end in epoch seconds.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PORT = 80
SUFFIX = ".test"


def name(number: int) -> str:
    """Return the name of a host; each is a domain of its own."""
    return f"host{number:02}{SUFFIX}"


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    hosts = 0
    pages = 0
    log = Path()
    lock = threading.Lock()

    def do_GET(self) -> None:
        """Answer with robots.txt, a page, or 404."""
        begin = time.time()
        host = (self.headers.get("Host") or "").partition(":")[0]
        status, kind, body = self._answer(host)
        content = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        line = {"host": host, "path": self.path, "client": self.client_address[0], "status": status}
        with self.lock, self.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps({**line, "start": begin, "end": time.time()}) + "\n")

    def _answer(self, host: str) -> tuple[int, str, str]:
        if self.path == "/robots.txt":
            return 200, "text/plain", "User-agent: *\nDisallow: /private/\n"
        number = self.path.removeprefix("/page/") if self.path != "/" else "0"
        if not host.endswith(SUFFIX) or not number.isdigit() or int(number) >= self.pages:
            return 404, "text/plain", "not here"
        page, this = int(number), int(host.removeprefix("host").removesuffix(SUFFIX))
        targets = [f"/page/{one}" for one in (2 * page + 1, 2 * page + 2) if one < self.pages]
        targets.append(f"http://{name((this + 1) % self.hosts)}/page/{page}" if page else f"/private/{page}")
        links = "".join(f'<p><a href="{target}">{target}</a></p>' for target in targets)
        return 200, "text/html; charset=utf-8", f"<!doctype html><title>{host} {page}</title>{links}"

    def log_message(self, *_: object) -> None:
        """Write nothing to standard error."""


def main() -> None:
    """Serve until killed."""
    Handler.hosts, Handler.pages, Handler.log = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    Handler.log.touch()
    server = ThreadingHTTPServer(("0.0.0.0", PORT), Handler)
    server.daemon_threads = True
    server.serve_forever()


if __name__ == "__main__":
    main()
