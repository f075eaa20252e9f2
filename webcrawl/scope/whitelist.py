"""The whitelist: the rule that a URL must be on one of the sites that the operator named, up to a million of them."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.lists import ListLine, WrongLine, hostname, printable, read_lines
from webcrawl.urls.politeness_key import get_origin, is_meant_as_host, registrable_domain
from webcrawl.urls.resolve import resolve
from webcrawl.urls.seeds import BadSeed, read_seed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.scope.scope import Candidate, LinkBatch

REMEMBERED_HOSTS = 65_536
KEPT_WRONG_LINES = 20

_RANK = re.compile(r"\d+,(?=[^,]+$)")


class WhitelistError(ValueError):
    """The whitelist cannot be read or has no names; the message names the source and the reason."""


class Whitelist:
    """The named sites as a sorted array of hashes, eight bytes each; the names stay in their source.

    A registrable domain covers all its hosts, a longer name itself and its subdomains; a leading ``www.`` is ignored.
    A public suffix covers only the host of that name.
    """

    def __init__(self, source: str) -> None:
        """Read ``FILE`` or ``NAME[,NAME...]``; an existing path is a file. Lines may be ``rank,name`` as in top
        lists.

        Raises WhitelistError. Lines without a valid name are counted in ``wrong_count``, the first is kept in
        ``wrong``.
        """
        self.source = source
        self.wrong: list[WrongLine] = []
        self.wrong_count = 0
        self._is_file = _is_path(source)
        by_first_byte = [array("q") for _ in range(256)]
        for line in self._lines():
            name = _host_in(line.text)
            if name is None or not (self._is_file or "://" in line.text or is_meant_as_host(name)):
                self._note_wrong(line)
            else:
                number = fingerprint(name)
                by_first_byte[number >> 56].append(number)
        self._hashes = _merged(by_first_byte)
        self._require_names()

    def __len__(self) -> int:
        return len(self._hashes)

    def covers(self, host: str) -> bool:
        """Return True if a host belongs to one of the named sites."""
        name = host.rstrip(".")
        domain = registrable_domain(name)
        while not self._names(name, domain):
            if len(name) <= len(domain):
                return False
            name = name.partition(".")[2]
        return True

    def digest(self) -> str:
        """A digest that is the same for the same sites, in whatever order and spelling they were named."""
        return f"{fingerprint(bytes(self._hashes).hex()) & (1 << 64) - 1:016x}"

    def names(self) -> Iterator[str]:
        """Yield the names again, as hosts, in their order; ``www.`` is kept: some sites have no other host."""
        for line in self._lines():
            if (host := _host_in(line.text)) is not None:
                yield host

    def roots(self) -> Iterator[str]:
        """Yield the names again, as the URLs of their roots; a given scheme and port are kept."""
        for line in self._lines():
            if (host := _host_in(line.text)) is not None:
                url = resolve(line.text, "about:blank") if "://" in line.text else _with_port(line.text)
                yield f"{get_origin(url)}/" if url else f"http://{host}/"

    def _names(self, name: str, domain: str) -> bool:
        """Return True if a name was given, or with ``www.`` before it; for ``www.co.uk`` that is the domain."""
        if self._holds(fingerprint(name)):
            return True
        with_www = f"www.{name}"
        return self._holds(fingerprint(with_www)) and registrable_domain(with_www) == domain

    def _holds(self, number: int) -> bool:
        place = bisect_left(self._hashes, number)
        return place < len(self._hashes) and self._hashes[place] == number

    def _lines(self) -> Iterator[ListLine]:
        if not self._is_file:
            pieces = [piece.strip() for piece in self.source.split(",")]
            yield from (ListLine(place, piece, "") for place, piece in enumerate(pieces, start=1) if piece)
            return
        try:
            with Path(self.source).open("rb") as stream:
                yield from read_lines(stream)
        except OSError as error:
            reason = error.strerror or str(error)
            raise WhitelistError(f"cannot read the domains in {self.source!r}: {reason}") from error

    def _note_wrong(self, line: ListLine) -> None:
        self.wrong_count += 1
        if len(self.wrong) < KEPT_WRONG_LINES:
            self.wrong.append(WrongLine(line.number, printable(line.text), "not a domain name"))

    def _require_names(self) -> None:
        if self._is_file and not self._hashes:
            raise WhitelistError(f"there is no domain name in {self.source!r}")
        if not self._is_file and self.wrong:
            raise WhitelistError(
                f"{self.wrong[0].text!r} is neither a file nor a name under a known public suffix"
                " (a name of your own network is written http://NAME)"
            )
        if not self._hashes:
            raise WhitelistError("the list of domains is empty")


def _is_path(source: str) -> bool:
    if not source.strip() or "\0" in source:
        return False
    # A long list of names is longer than the name of a file may be.
    with suppress(OSError):
        return Path(source).exists()
    return False


@lru_cache(maxsize=1)
def load_whitelist(source: str) -> Whitelist:
    """Return ``Whitelist(source)``, read once: the command checks it, scope uses it, the spider seeds its roots."""
    return Whitelist(source)


class WhitelistRule:
    """Refuses URLs on sites that are not named."""

    name = "whitelist"

    def __init__(self, whitelist: Whitelist) -> None:
        self._covers = lru_cache(REMEMBERED_HOSTS)(whitelist.covers)

    def refuses(self, candidate: Candidate) -> str | None:
        return None if self._covers(candidate.host) else "not one of the domains"

    def refuses_none(self, links: LinkBatch) -> bool:
        return all(map(self._covers, links.different_hosts))


def _host_in(text: str) -> str | None:
    return hostname(_without_rank(text))


def _with_port(text: str) -> str | None:
    if ":" not in text:
        return None
    seed = read_seed(_without_rank(text))
    return None if isinstance(seed, BadSeed) else seed.url


def _without_rank(text: str) -> str:
    return (_RANK.sub("", text) if "," in text else text).removeprefix("*.")


def _merged(by_first_byte: list[array[int]]) -> array[int]:
    """Sort signed numbers that were grouped by their first byte, which as an index may be negative too.

    Sorting them all at once would temporarily take five times their memory.
    """
    merged = array("q")
    for first_byte in range(-128, 128):
        merged.extend(sorted(by_first_byte[first_byte]))
    return merged
