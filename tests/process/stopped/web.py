"""Three hosts on loopback with six pages each, of which any path can be held, and what was asked of them."""

from __future__ import annotations

import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGES = 6
HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")


class HeldWeb:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.held: set[str] = set()
        """Paths whose answers wait."""
        self._free = threading.Event()
        self._servers = [ThreadingHTTPServer((host, 0), self._handler()) for host in HOSTS]
        for server in self._servers:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self.origins = ["http://{}:{}".format(*server.server_address) for server in self._servers]

    @property
    def seeds(self) -> list[str]:
        return [f"{origin}/0" for origin in self.origins]

    @property
    def pages(self) -> set[str]:
        return {f"{origin}/{number}" for origin in self.origins for number in range(PAGES)}

    def fetched(self) -> Counter[str]:
        return Counter(url for url in self.asked if not url.endswith("robots.txt"))

    def waiting(self) -> bool:
        """Whether a held path was asked for."""
        return any(url.endswith(path) for url in self.asked for path in self.held)

    def go_on(self) -> None:
        self.held.clear()
        self._free.set()

    def close(self) -> None:
        self.go_on()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                host, port = self.server.server_address
                web.asked.append(f"http://{host}:{port}{self.path}")
                if self.path in web.held:
                    web._free.wait(60)
                number = self.path.removeprefix("/")
                if not number.isdigit() or int(number) >= PAGES:
                    self._answer(404, "text/plain", b"")
                    return
                links = "".join(f"<a href='/{other}'>{other}</a>" for other in range(PAGES))
                self._answer(200, "text/html", f"<title>{number}</title>{links}".encode())

            def _answer(self, status: int, mime: str, body: bytes) -> None:
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", mime)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler
