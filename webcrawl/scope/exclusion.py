"""The rule of the exclusion list: sites whose owners do not want to be crawled."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from xxhash import xxh3_64_hexdigest

from webcrawl.urls.canonical import CanonicalRules, canonical
from webcrawl.urls.lists import ListLine, WrongLine, hostname, printable, read_lines
from webcrawl.urls.politeness_key import get_host
from webcrawl.urls.schemes import resolve_any

if TYPE_CHECKING:
    from webcrawl.scope.scope import Candidate, LinkBatch

DEFAULT_CHECK_SECONDS = 60.0
REMEMBERED_HOSTS = 65_536

_Prefixes = Sequence[tuple[str, str]]
# A prefix is compared with the same spelling as the URL, and a "?" at its end is a part of it.
_COMPARED = CanonicalRules(empty_query=False, drop_host_dot=True)


class ExclusionError(ValueError):
    """The exclusion file cannot be read or has wrong lines; the message names the file and each of them."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """The result of reading the file again: whether a new list is applied, and the errors in the file."""

    changed: bool = False
    problems: tuple[str, ...] = ()


class ExclusionList:
    """The sites and prefixes that must not be visited, from a file that may change while the crawl runs.

    One domain or URL prefix per line; the text after a ``#`` is kept as the reason. A domain covers its subdomains. A
    prefix covers every URL that begins with it, under http and https alike. A file that became invalid or unreadable
    changes nothing: the list that was read before stays valid. Operators may add entries to those of the file.
    """

    def __init__(self, path: str | Path, check_seconds: float = DEFAULT_CHECK_SECONDS) -> None:
        self.path = str(path)
        self._check_seconds = check_seconds
        self._check_at = float("-inf")
        self._stamp: tuple[int, int, int] | None = None
        self._index = self._of_file = self._added = _Index({}, {}, "")
        self._merging = Lock()

    @classmethod
    def load(cls, path: str | Path, check_seconds: float = DEFAULT_CHECK_SECONDS) -> ExclusionList:
        """Read a file; it is checked for changes every ``check_seconds``. Raises ExclusionError."""
        exclusions = cls(path, check_seconds)
        problems = exclusions._read()
        if problems:
            raise ExclusionError("\n".join(problems))
        return exclusions

    @classmethod
    def of(cls, content: bytes) -> ExclusionList:
        """Return the list of a file with this content. Raises ExclusionError."""
        exclusions = cls("")
        index, wrong = _parse(read_lines(BytesIO(content)), xxh3_64_hexdigest(content))
        if wrong:
            raise ExclusionError("\n".join(map(str, wrong)))
        exclusions._index = exclusions._of_file = index
        return exclusions

    @property
    def version(self) -> str:
        """A digest of the content of the file whose list is applied, and of the entries that were added; sixteen
        hexadecimal digits, empty without both."""
        return self._index.version

    @property
    def has_file(self) -> bool:
        """True if the list is that of a file."""
        return bool(self.path)

    def add(self, entries: Iterable[tuple[str, str]]) -> None:
        """Replace the entries that were added to those of the file; each has a reason. Wrong ones are left out."""
        lines = [ListLine(number, *entry) for number, entry in enumerate(sorted(entries), 1)]
        version = xxh3_64_hexdigest(repr([line.text for line in lines]).encode()) if lines else ""
        self._merge(added=_parse(lines, version)[0])

    def _merge(self, of_file: _Index | None = None, added: _Index | None = None) -> None:
        """Replace one part of the list, or both."""
        with self._merging:
            self._of_file, self._added = of_file or self._of_file, added or self._added
            self._index = self._of_file.with_all(self._added)

    def __len__(self) -> int:
        return len(self._index.domains) + sum(map(len, self._index.prefixes.values()))

    def refresh(self, now: float) -> Refreshed:
        """Read the file again if it was changed and the last check is long enough ago.

        May be called on another thread than the rules: the new list replaces the old one in one step. A check costs a
        stat, a file of 100,000 lines about half a second.
        """
        if now < self._check_at:
            return Refreshed()
        self._check_at = now + self._check_seconds
        try:
            unchanged = _stamp(Path(self.path).stat()) == self._stamp
        except OSError as error:
            return Refreshed(
                problems=(f"{self.path}: {error.strerror or error}; the old list stays in force",)
            )
        if unchanged:
            return Refreshed()
        before = self._index
        problems = self._read()
        return Refreshed(self._index.version != before.version, problems)

    def objection(self, url: str, host: str) -> str | None:
        """Return the entry that covers a URL, with its reason; None when none does."""
        return self._index.objection(url, host)

    def spares(self, hosts: Iterable[str]) -> bool:
        """Return True if no entry concerns any of these hosts."""
        if self._index.is_empty:
            return True
        of_host = self._index.of_host
        return not any(objection or prefixes for objection, prefixes in map(of_host, hosts))

    def domain_objection(self, host: str) -> str | None:
        """Return the entry that covers a whole host and its subdomains, with its reason; None when none does."""
        return self._index.of_host(host)[0]

    def look(self, url: str, host: str) -> tuple[str | None, str]:
        """Return the same as ``objection``, and the version of the list that was used."""
        index = self._index
        return index.objection(url, host), index.version

    def _read(self) -> tuple[str, ...]:
        """Apply the file's list and return nothing, or return the errors in the file."""
        try:
            with Path(self.path).open("rb") as stream:
                stamp = _stamp(os.fstat(stream.fileno()))
                version = xxh3_64_hexdigest(stream.read())
                stream.seek(0)
                index, wrong = _parse(read_lines(stream), version)
        except OSError as error:
            return (f"{self.path}: {error.strerror or error}",)
        self._stamp = stamp
        if not wrong:
            self._merge(of_file=index)
        return tuple([f"{self.path}: {line}" for line in wrong])


class ExclusionRule:
    """Refuses URLs that the exclusion list covers."""

    name = "exclusion"

    def __init__(self, exclusions: ExclusionList) -> None:
        self._exclusions = exclusions

    def refuses(self, candidate: Candidate) -> str | None:
        return self._exclusions.objection(candidate.url, candidate.host)

    def refuses_none(self, links: LinkBatch) -> bool:
        return self._exclusions.spares(links.different_hosts)


class _Index:
    """The index of one content of the file: names with their reasons, prefixes by host. Never changes."""

    def __init__(
        self, domains: dict[str, str], prefixes: dict[str, list[tuple[str, str]]], version: str
    ) -> None:
        self.domains = domains
        self.prefixes = prefixes
        self.version = version
        self.is_empty = not (domains or prefixes)
        self.of_host = lru_cache(REMEMBERED_HOSTS)(self._of_host)

    def with_all(self, other: _Index) -> _Index:
        """Return an index with the entries of both."""
        if not other.version:
            return self
        prefixes = {
            host: [*self.prefixes.get(host, ()), *other.prefixes.get(host, ())]
            for host in self.prefixes.keys() | other.prefixes.keys()
        }
        version = xxh3_64_hexdigest(f"{self.version} {other.version}".encode())
        return _Index({**other.domains, **self.domains}, prefixes, version)

    def objection(self, url: str, host: str) -> str | None:
        detail, prefixes = self.of_host(host)
        if prefixes and detail is None:
            compared = _compared(url)
            return next((why for prefix, why in prefixes if compared.startswith(prefix)), None)
        return detail

    def _of_host(self, host: str) -> tuple[str | None, _Prefixes]:
        name = host.rstrip(".")
        prefixes: _Prefixes = self.prefixes.get(name, ())
        while name:
            if name in self.domains:
                return name + self.domains[name], prefixes
            name = name.partition(".")[2]
        return None, prefixes


def _parse(lines: Iterable[ListLine], version: str) -> tuple[_Index, list[WrongLine]]:
    domains: dict[str, str] = {}
    prefixes: dict[str, list[tuple[str, str]]] = {}
    wrong: list[WrongLine] = []
    for line in lines:
        reason = f" ({printable(line.comment)})" if line.comment else ""
        if "/" not in line.text:
            host = hostname(line.text.removeprefix("*."))
            if host is None:
                wrong.append(WrongLine(line.number, printable(line.text), "not a domain name"))
            else:
                domains.setdefault(host, reason)
            continue
        url = resolve_any(line.text, "about:blank")
        if url is None:
            wrong.append(
                WrongLine(line.number, printable(line.text), "not a URL with http://, https:// or ftp://")
            )
        else:
            prefixes.setdefault(get_host(url).rstrip("."), []).append((_compared(url), url + reason))
    return _Index(domains, prefixes, version), wrong


def _compared(url: str) -> str:
    return canonical(url, _COMPARED).partition("//")[2]


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_mtime_ns, status.st_size, status.st_ino
