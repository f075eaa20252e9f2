"""A web with the sizes, codings, hosts and failures of the real one.

What is published (HTTP Archive's Web Almanac 2024 and 2025 unless another source is named), and what is chosen:

=========================  =====================================================================  ==========
bytes of HTML, decoded     242 kB in the mean                                                     published
their distribution         log-normal with a median of 96 kB, at most 4 MB                        chosen
links                      300 on a page of 242 kB, in proportion, 10 to 1,000                    chosen
codings                    br 45 %, gzip 42 %, zstd 3 %, none 10 %                                chosen
pages of a host            Pareto, exponent 1: half of the hosts have one or two pages            chosen
links to other hosts       one in six; half of these to one host                                  chosen
robots.txt                 85 % a file, 13 % 404, 0.5 % 403, 1 % no answer, 0.5 % 503              published
certificates               RSA 40 %, elliptic curves 60 %; TLS 1.3 76 of 89 hosts, else 1.2           TLS published
errors                     3 % of the pages: 404, 410, 500, 503                                   chosen
first contact              a tenth of the hosts redirect http to https to www                     chosen
time to the first byte     log-normal, median 60 ms                                               chosen
=========================  =====================================================================  ==========

Everything follows from the seed and the name, so that a million hosts take no memory.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import struct
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import brotli

from tests.fakeweb.answer import Answer, Pause, Request, http_answer, redirect
from tests.fakeweb.dns import Zone
from tests.fakeweb.names import chance, numbers
from tests.fakeweb.ports import Ports

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MEDIAN_BYTES, MOST_BYTES, SIGMA = 96_000, 4_000_000, 1.40
"""With this width the mean of the sizes is 242 kB."""
LINKS_A_BYTE = 300 / 242_000
LEAST_LINKS, MOST_LINKS = 10, 1000
PAGES_MAX = 20_000
"""Of one host but the hot one."""
HOT_PAGES = 5_000_000
SEEDS = 10_000
"""The roots of the first hosts are seeds; the others are found by links."""
FIRST_BYTE_SECONDS = 0.060
SILENT_SECONDS = 3600.0
OLD_ADDRESS = "127.0.0.2"
"""Where hosts are that speak TLS 1.2 alone."""
BLOCKS = 48
BLOCK_BYTES = 6_000
_CODINGS = ((0.45, "br"), (0.87, "gzip"), (0.90, "zstd"), (1.0, ""))
_ERRORS = (404, 410, 500, 503)
_TEXT = """
of the and to in a is that for it as was with be by on not he his but at are this have from or had an they which
one you were all her she there would their we him been has when who will no more if out so said what up its
about than into them can only other time new some could these two may first then do any like my now over such
our man me even most made after also well many before must through years where much your way down price order
color shipping review account menu search article today news video market report question answer member forum
topic reply update version release library
"""
_WORDS = _TEXT.split()


class OrdinaryWeb:
    """A Site of ``hosts`` hosts whose names are numbered. Host 0 is the hot one."""

    def __init__(
        self,
        seed: int = 1,
        hosts: int = 1000,
        pages: int = PAGES_MAX,
        *,
        least: int = 1,
        suffix: str = "test",
        pause: bool = True,
    ) -> None:
        """``pages``, ``least``: the most and the least pages of a host; the hot one has more, unless the most is 1.
        ``pause``: whether answers take their time to the first byte."""
        self.seed = seed
        self.count = hosts
        self.suffix = suffix
        self.ports = Ports()
        self._pages = pages
        self._least = least
        self._pause = pause

    @property
    def hosts(self) -> list[str]:
        """The names of all hosts."""
        return [self.name(number) for number in range(self.count)]

    @property
    def seeds(self) -> list[str]:
        """The roots of the first hosts, as their owners would write them."""
        return [self.root(number) for number in range(min(self.count, SEEDS))]

    def root(self, number: int) -> str:
        """Return the URL of a host's first page, as its owner would write it."""
        return f"http{'' if self.redirects(number) else 's'}://{self._authority(number)}/"

    def bind(self, ports: Ports) -> None:
        """Take note of the server's ports."""
        self.ports = ports

    def name(self, number: int) -> str:
        """Return the name of a host without "www"."""
        return f"h{number:07d}.{self.suffix}"

    def number(self, host: str) -> int | None:
        """Return the number of a host, None for a name that is none."""
        label = host.removeprefix("www.").removesuffix(f".{self.suffix}")
        if len(label) != 8 or label[0] != "h" or not label[1:].isdecimal() or int(label[1:]) >= self.count:
            return None
        return int(label[1:])

    def is_old(self, number: int) -> bool:
        """Return True if a host speaks TLS 1.2 alone: 13 of 89."""
        return self._chance("tls", number) < 13 / 89

    def is_rsa(self, number: int) -> bool:
        """Return True if a host's certificate has an RSA key; the others have an elliptic curve's."""
        return self._chance("key", number) < 0.4

    def redirects(self, number: int) -> bool:
        """Return True if a host leads from http to https to www."""
        return bool(number) and self._chance("www", number) < 0.1

    def pages(self, number: int) -> int:
        """Return the number of pages of a host."""
        if number == 0 and self._pages > 1:
            return HOT_PAGES
        drawn = int(1 / (1 - self._chance("pages", number)))
        return min(max(drawn, self._least), self._pages)

    def answer(self, request: Request) -> Answer:
        """Answer robots.txt, a page or an error, after the time that it takes."""
        number = self.number(request.host)
        if number is None:
            return http_answer(404, b"Nothing here.\n", mime="text/plain")
        if moved := self._moved(number, request):
            return self._slowly(moved)
        if request.path == "/robots.txt":
            return self._slowly(self._robots(number))
        page = _page(request.path)
        if not 0 <= page < self.pages(number):
            return self._slowly(http_answer(404, b"<h1>Not found</h1>\n"))
        if page and (drawn := self._chance("error", number, page)) < 0.03:
            return self._slowly(http_answer(_ERRORS[int(drawn / 0.03 * 4)], b"<h1>An error</h1>\n"))
        accepted = request.header("Accept-Encoding") or ""
        return self._slowly(self._coded(self.body(number, page), number, accepted))

    def body(self, number: int, page: int) -> bytes:
        """Return the HTML of a page."""
        size = self._size(number, page)
        links = min(max(int(size * LINKS_A_BYTE), LEAST_LINKS), MOST_LINKS)
        draws = numbers(f"{self.seed} page {number} {page}", 3 * links + 64)
        title = f"Page {page} of host {number}"
        parts = [
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
            f'<meta name="description" content="{title}: {_words(draws[:12])}"><meta name="viewport" '
            'content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/s/main.css">\n'
            f"<script>window.state={{page:{page},host:{number}}}</script></head><body>"
            '<div id="app"><header class="site-header"><nav class="menu menu--main"><ul>'
        ]
        parts += self._links(number, draws[12:], links)
        parts.append(f'</ul></nav></header><main><article class="post"><h1>{title}</h1>')
        parts.append(f"<p>{_words(draws[-52:])}</p>")
        blocks, first = self._blocks, draws[0]
        missing = max(size - sum(map(len, parts)), 0)
        whole, rest = divmod(missing, BLOCK_BYTES)
        parts += [blocks[(first + step * 7) % BLOCKS] for step in range(whole)]
        parts.append(f"<!-- {'x' * max(rest - 60, 0)} --></article></main></div></body></html>\n")
        return "".join(parts).encode()

    def _links(self, number: int, draws: tuple[int, ...], links: int) -> Iterator[str]:
        pages, authority = self.pages(number), self._authority
        for place in range(links):
            far, which, word = draws[3 * place : 3 * place + 3]
            text = f"{_WORDS[word % len(_WORDS)]} {_WORDS[word // 97 % len(_WORDS)]}"
            if far % 6:
                href = _path(which % pages)
            else:
                there = 0 if far // 6 % 2 else which % self.count
                scheme = "http" if self.redirects(there) else "https"
                href = f"{scheme}://{authority(there)}{_path(word % self.pages(there))}"
            yield (
                f'<li class="menu__item menu__item--{place % 7}" data-i="{place}">'
                f'<a class="menu__link" href="{href}">{text}</a></li>\n'
            )

    @cached_property
    def _blocks(self) -> list[str]:
        """Parts of pages: half of them text, the others scripts, styles and pictures."""
        return [_block(f"{self.seed} block {number}", number) for number in range(BLOCKS)]

    def _size(self, number: int, page: int) -> int:
        first, second = numbers(f"{self.seed} size {number} {page}", 2)
        normal = math.sqrt(-2 * math.log((first + 1) / 2**32)) * math.cos(math.tau * second / 2**32)
        return min(int(MEDIAN_BYTES * math.exp(SIGMA * normal)), MOST_BYTES)

    def _moved(self, number: int, request: Request) -> Answer | None:
        if not self.redirects(number):
            return None
        if request.scheme == "http":
            return redirect(301, f"https://{request.host}:{self.ports.https}{request.path}")
        if not request.host.startswith("www."):
            return redirect(301, f"https://www.{request.host}:{self.ports.https}{request.path}")
        return None

    def _authority(self, number: int) -> str:
        return f"{self.name(number)}:{self.ports.http if self.redirects(number) else self.ports.https}"

    def _robots(self, number: int) -> Answer:
        drawn = self._chance("robots", number)
        if drawn < 0.85:
            return http_answer(200, _robots_file(number), mime="text/plain")
        if drawn < 0.98:
            return http_answer(404, b"Not found\n", mime="text/plain")
        if drawn < 0.985:
            return http_answer(403, b"Forbidden\n", mime="text/plain")
        if drawn < 0.99:
            return http_answer(503, b"Unavailable\n", mime="text/plain")
        return Answer(None, steps=iter((Pause(SILENT_SECONDS),)))

    def _coded(self, body: bytes, number: int, accepted: str) -> Answer:
        drawn = self._chance("coding", number)
        coding = next(name for limit, name in _CODINGS if drawn < limit)
        if not coding or coding not in accepted:
            return http_answer(200, body)
        if coding == "br":
            body = brotli.compress(body, quality=1)
        elif coding == "gzip":
            body = gzip.compress(body, 1, mtime=0)
        else:
            body = zstd.compress(body, 1)
        return http_answer(200, body, [("Content-Encoding", coding), ("Vary", "Accept-Encoding")])

    def _slowly(self, answer: Answer) -> Answer:
        if not self._pause or answer.status is None:
            return answer
        drawn = struct.unpack(">I", hashlib.blake2b(answer.wire[-64:], digest_size=4).digest())[0] / 2**32
        seconds = FIRST_BYTE_SECONDS * math.exp(0.8 * math.sqrt(2) * _inverse_error(2 * drawn - 1))
        return Answer(answer.status, steps=iter((Pause(min(seconds, 3.0)), answer.wire, *answer.steps)))

    def _chance(self, what: str, *numbers_of_it: int) -> float:
        return chance(f"{self.seed} {what} {numbers_of_it}")


@dataclass(frozen=True, slots=True)
class OrdinaryZone(Zone):
    """Its hosts, with and without "www"."""

    web: OrdinaryWeb | None = None

    def resolve(self, name: str) -> tuple[int, Sequence[str]]:
        assert self.web is not None
        number = self.web.number(name)
        if number is None:
            return 3, ()
        return 0, (OLD_ADDRESS if self.web.is_old(number) else self.address,)


def _path(page: int) -> str:
    return f"/a/{page}.html" if page else "/"


def _page(path: str) -> int:
    if path == "/":
        return 0
    number = path.removeprefix("/a/").removesuffix(".html")
    return int(number) if path == f"/a/{number}.html" and number.isdecimal() and number != "0" else -1


def _robots_file(number: int) -> bytes:
    """Return a file as content systems write it, of 100 to 1,500 bytes."""
    rules = "".join(f"Disallow: /{_WORDS[(number + n) % len(_WORDS)]}-{n}/\n" for n in range(number % 40))
    most = f"User-agent: *\n{rules}Disallow: /admin/\nAllow: /admin/ajax.php\n"
    return f"{most}\nUser-agent: BadBot\nDisallow: /\n".encode()


def _words(draws: tuple[int, ...]) -> str:
    return " ".join(_WORDS[draw % len(_WORDS)] for draw in draws)


def _block(text: str, number: int) -> str:
    draws = numbers(text, 3000)
    kind = number % 4
    if kind == 0:
        state = ",".join(
            f'"{_WORDS[d % len(_WORDS)]}{d % 1000}":{{"id":{d},"t":"{d:08x}"}}' for d in draws[:150]
        )
        block = f'<script type="application/json">{{{state[: BLOCK_BYTES - 60]}}}</script>'
    elif kind == 1:
        path = " ".join(f"{'MLC'[d % 3]}{d % 900}.{d % 97} {d // 7 % 900}" for d in draws[:400])
        block = (
            f'<div class="icon"><svg viewBox="0 0 24 24"><path d="{path[: BLOCK_BYTES - 90]}"/></svg></div>'
        )
    else:
        paragraphs = []
        for start in range(0, 3000, 60):
            words = _words(draws[start : start + 60])
            paragraphs.append(f'<div class="c-{start}"><p class="text">{words}, <b>{start}</b>.</p></div>\n')
        block = "".join(paragraphs)
        block = block[: block.rindex("\n", 0, BLOCK_BYTES) + 1]
    return block + " " * (BLOCK_BYTES - len(block))


def _inverse_error(x: float) -> float:
    """Return the inverse of the error function, to 0.004 (Winitzki)."""
    a = 0.147
    logarithm = math.log(max(1 - x * x, 1e-12))
    first = 2 / (math.pi * a) + logarithm / 2
    return math.copysign(math.sqrt(math.sqrt(first * first - logarithm / a) - first), x)
