"""The web that ``scrapy demo`` serves: a small library to try spiders on, the same at each start.

It has what spiders meet elsewhere: a catalogue in pages, a page for each book, a JSON API, PDFs, a form to sign in,
a sitemap, a robots.txt that forbids a part, and validators for conditional requests.
"""

from __future__ import annotations

import html
import json
import random
import sys
from dataclasses import dataclass
from email.utils import formatdate
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

BOOKS = 40
PAGE_SIZE = 10
PAGES = BOOKS // PAGE_SIZE
TOKEN = "0f31c8"
"""The hidden field of the form; a sign-in without it is refused."""
PASSWORD = "reader"
PUBLISHED_AT = 1_767_225_600
"""The date of the first book's page; each further one is a day later."""

_ADJECTIVES = ("Quiet", "Northern", "Hidden", "Borrowed", "Winter", "Glass", "Distant", "Burning")
_NOUNS = ("Harbour", "Orchard", "Letter", "Railway", "Island")
_AUTHORS = ("Ada Brandt", "Ion Vasile", "Mary Okafor", "Juan Ortega", "Lea Nyman", "Tom Achebe", "Rita Costa")
_WORDS = (
    "river",
    "lantern",
    "winter",
    "captain",
    "garden",
    "letter",
    "mountain",
    "stranger",
    "village",
    "clock",
    "secret",
    "ferry",
    "daughter",
    "island",
    "library",
    "storm",
    "window",
    "violin",
    "journey",
    "orchard",
    "coast",
    "silence",
    "market",
    "teacher",
    "map",
    "bridge",
    "signal",
    "harvest",
    "mirror",
    "road",
    "engine",
    "promise",
    "evening",
    "painter",
    "forest",
    "salt",
    "tower",
    "friend",
    "question",
    "morning",
)


@dataclass(frozen=True, slots=True)
class Book:
    number: int

    @property
    def title(self) -> str:
        return f"The {_ADJECTIVES[self.number % 8]} {_NOUNS[self.number % 5]}"

    @property
    def author(self) -> str:
        return _AUTHORS[self.number % 7]

    @property
    def price(self) -> str:
        return f"{5 + self.number * 37 % 20}.{self.number * 13 % 10}0"

    @property
    def path(self) -> str:
        return f"/books/{self.number}/"

    @property
    def changed_at(self) -> int:
        return PUBLISHED_AT + 86_400 * (self.number - 1)

    @property
    def summary(self) -> str:
        chosen = random.Random(self.number)
        return " ".join(" ".join(chosen.choices(_WORDS, k=9)).capitalize() + "." for _ in range(6))


LIBRARY = tuple(Book(number) for number in range(1, BOOKS + 1))


@dataclass(slots=True)
class DemoResponse:
    body: bytes
    type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


def answer(method: str, target: str, origin: str, cookie: str = "", form: str = "") -> DemoResponse:
    """Return the answer to a request; ``origin`` is the address as which the client knows this server."""
    path, query = urlsplit(target).path, parse_qs(urlsplit(target).query)
    if path == "/login" and method == "POST":
        return _signed_in(parse_qs(form))
    if path.startswith("/books/") and (book := _book_at(path)):
        return book
    if path.startswith("/account/"):
        return _account(path, cookie)
    match path:
        case "/":
            return _catalogue(1)
        case "/robots.txt":
            text = f"User-agent: *\nDisallow: /staff/\nSitemap: {origin}/sitemap.xml\n"
            return DemoResponse(text.encode(), "text/plain; charset=utf-8")
        case "/sitemap.xml":
            return DemoResponse(_sitemap(origin), "application/xml")
        case "/api/books":
            return _api(query)
        case "/login":
            return _page("Sign in", _FORM)
        case "/staff/":
            return _page("For the staff", "<p>robots.txt forbids this page.</p>")
    number = path.removeprefix("/page/").removesuffix("/")
    if number.isdecimal() and 2 <= int(number) <= PAGES:
        return _catalogue(int(number))
    return _page("Not found", "<p>There is no such page.</p>", 404)


def serve(port: int) -> ThreadingHTTPServer:
    """Return a server on loopback that listens; ``serve_forever`` runs it. Raises OSError if the port is in use."""
    return _Server(("127.0.0.1", port), _Handler)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback, unless the client has closed its connection."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer()

    do_HEAD = do_POST = do_GET  # noqa: N815 - as the base class calls them

    def _answer(self) -> None:
        length = self.headers.get("Content-Length", "0")
        form = self.rfile.read(min(int(length), 10_000)).decode("latin-1") if length.isdecimal() else ""
        origin = f"http://{self.headers.get('Host', 'localhost')}"
        response = answer(self.command, self.path, origin, self.headers.get("Cookie", ""), form)
        tags = [value for name, value in response.headers if name == "ETag"]
        if tags and self.headers.get("If-None-Match") == tags[0]:
            response = DemoResponse(b"", response.type, 304, response.headers)
        self.send_response(response.status)
        self.send_header("Content-Type", response.type)
        self.send_header("Content-Length", str(len(response.body)))
        for name, value in response.headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class calls it
        """Suppress the server's log line: the crawl's own log has each request."""


def _page(
    title: str, body: str, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> DemoResponse:
    meta = f'<meta charset="utf-8"><title>{html.escape(title)}</title>'
    head = f'<!doctype html>\n<html lang="en">\n<head>{meta}</head>'
    return DemoResponse(
        f"{head}\n<body>\n{body}\n</body>\n</html>\n".encode(), status=status, headers=headers
    )


def _catalogue(number: int) -> DemoResponse:
    books = LIBRARY[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    rows = [
        f'<li class="book"><a href="{book.path}">{book.title}</a>, {book.author}, '
        f'<span class="price">{book.price}</span></li>'
        for book in books
    ]
    further = f'<a class="next" href="/page/{number + 1}/">Next page</a>' if number < PAGES else ""
    others = '<p><a href="/login">Sign in</a> <a href="/staff/">For the staff</a></p>'
    heading = f"<h1>The library, page {number} of {PAGES}</h1>"
    return _page(f"The library, page {number}", "\n".join([heading, "<ul>", *rows, "</ul>", further, others]))


def _book_at(path: str) -> DemoResponse | None:
    number, _, rest = path.removeprefix("/books/").partition("/")
    if not number.isdecimal() or not 1 <= int(number) <= BOOKS:
        return None
    book = Book(int(number))
    validators = (
        ("ETag", f'"book-{book.number}"'),
        ("Last-Modified", formatdate(book.changed_at, usegmt=True)),
    )
    if rest == "sample.pdf":
        return DemoResponse(_pdf([book.title, book.author]), "application/pdf", headers=validators)
    if rest:
        return None
    body = (
        f'<h1>{book.title}</h1>\n<p class="author">{book.author}</p>\n<p class="price">{book.price}</p>\n'
        f'<p class="summary">{book.summary}</p>\n'
        f'<p><a href="{book.path}sample.pdf">Sample</a> <a href="/">Catalogue</a></p>'
    )
    return _page(book.title, body, headers=validators)


def _api(query: dict[str, list[str]]) -> DemoResponse:
    page = query.get("page", ["1"])[0]
    number = int(page) if page.isdecimal() else 1
    books = [
        {"number": book.number, "title": book.title, "author": book.author, "price": float(book.price)}
        for book in LIBRARY[max(number - 1, 0) * PAGE_SIZE : number * PAGE_SIZE]
    ]
    return DemoResponse(
        json.dumps({"page": number, "pages": PAGES, "books": books}).encode(), "application/json"
    )


_FORM = (
    '<form action="/login" method="post">\n'
    f'<input type="hidden" name="token" value="{TOKEN}">\n'
    '<input name="user"> <input name="password" type="password"> <button>Sign in</button>\n</form>'
)


def _signed_in(form: dict[str, list[str]]) -> DemoResponse:
    user = form.get("user", [""])[0]
    if form.get("token") != [TOKEN] or form.get("password") != [PASSWORD] or not user.isalnum():
        return _page("Sign in", f'<p class="error">The name or the password is wrong.</p>\n{_FORM}', 403)
    headers = (("Set-Cookie", f"reader={user}; Path=/"), ("Location", "/account/"))
    return DemoResponse(b"", status=302, headers=headers)


def _account(path: str, cookie: str) -> DemoResponse:
    reader = SimpleCookie(cookie).get("reader")
    if reader is None or not reader.value.isalnum():
        return DemoResponse(b"", status=302, headers=(("Location", "/login"),))
    if path == "/account/":
        return _page("Account", f'<h1>Account of {reader.value}</h1>\n<a href="/account/loans/">Loans</a>')
    if path == "/account/loans/":
        rows = "".join(f'<li class="loan">{book.title}</li>' for book in LIBRARY[:3])
        return _page("Loans", f"<h1>Loans of {reader.value}</h1>\n<ul>{rows}</ul>")
    return _page("Not found", "<p>There is no such page.</p>", 404)


def _sitemap(origin: str) -> bytes:
    rows = [
        f"<url><loc>{origin}{book.path}</loc><lastmod>2026-{1 + book.number // 28:02}-{1 + book.number % 28:02}"
        "</lastmod></url>"
        for book in LIBRARY
    ]
    start = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    )
    return "\n".join([start, *rows, "</urlset>\n"]).encode()


def _pdf(lines: list[str]) -> bytes:
    """Return a PDF of one page with these lines."""
    text = (
        b"BT /F1 24 Tf 72 700 Td 30 TL " + b" T* ".join(b"(%b) Tj" % line.encode() for line in lines) + b" ET"
    )
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(text), text),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    document, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(document))
        document += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(document)
    document += b"xref\n0 %d\n0000000000 65535 f \n%b" % (len(objects) + 1, table)
    return document + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        start,
    )
