"""The CDXJ index of WARC files: its lines, its keys, and the files that are written beside each WARC file.

A line says where the answer to a URL is stored, in the form that pywb and other replay tools look up:
``com,example)/a 20261121220000 {"url": ..., "mime": ..., "status": ..., "digest": ..., "length": ..., "offset": ...,
"filename": ...}``, one line for each response, revisit and resource record. Numbers are strings, as in the indexes of
other tools. Answers to methods other than GET have no line: a replay would return them to GET requests for the same
URL. A 304 has none either: a replay would show an empty page instead of the capture that the 304 confirms.

The key of a URL is its sort-friendly URI: ``http://www.Example.com:80/B/?b=2&a=1`` has the key
``com,example)/b?a=1&b=2``. The labels of the host are reversed; scheme, default port, session identifiers, the
slash at the end, and ``www`` or ``www2`` as the first label are removed; everything is in lower case and the query is
sorted. A replay cannot distinguish URLs with the same key; the archive can, since each line also has the URL. The
rules are those of the Internet Archive's canonicalizer, which pywb, OpenWayback and the CDX servers follow.

The index is written while the WARC file is written::

    lines of kept groups -> x.open-0.cdxj, x.open-1.cdxj, ... (sorted, the small ones merged) -> x.cdxj
                            while x.warc.gz.open is written                       when it is closed

All index files are in ``JOBDIR/index`` and each is sorted, so a replay tool that reads the folder finds every page
some seconds after it was fetched. The archive does not depend on them: an index that a crash left unfinished is built
again from its WARC file, at the start or by ``scrapy archive index``.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Address
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING

from webcrawl.archive.disk import translated
from webcrawl.archive.reading import Damaged, WarcRecord, records
from webcrawl.archive.sinks import ArchiveSink
from webcrawl.atomic_file import UNFINISHED
from webcrawl.external_sort import Sorter, merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from webcrawl.archive.capture import ArchiveEntry
    from webcrawl.archive.disk import Disk
    from webcrawl.archive.reading import RecordLocation
    from webcrawl.archive.records import ResponseRecord


_URL = re.compile(
    r"([a-z][a-z0-9+.-]*)://(?:[^/?#]*@)?(\[[^/?#]*\]|[^/?#:]*)(?::(\d*))?([^?#]*)(?:\?([^#]*))?",
    re.IGNORECASE | re.DOTALL,
)
_DEFAULT_PORTS = {"http": "80", "https": "443"}
ADDRESS_DIGITS_MAX = 4_000
"""The longest number that is read as an address; Python converts no much longer ones."""
_WWW = re.compile(r"\Awww\d*\.")
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")
_TO_ESCAPE = re.compile(rb"[\x00-\x20\x7f-\xff#%]")
_AS_IT_STANDS = re.compile(r"[!-~]*", re.DOTALL)
_PATH_SESSIONS = (
    re.compile(r"(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)", re.DOTALL),
    re.compile(r"(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)", re.DOTALL),
)
_QUERY_SESSIONS = tuple(
    re.compile(rf"(.*)(?:{session})(?:&(.*))?", re.DOTALL)
    for session in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&]+&cftoken=[^&]+",
    )
)


def surt_key(url: str) -> str:
    """Return the index key of an absolute URL; the URL itself if it has no host (``dns:``, ``urn:``, ``data:``)."""
    match = _URL.match(url)
    if match is None:
        return url
    scheme, host, port, path, query = match.groups()
    key = _host(host)
    if port and port != _DEFAULT_PORTS.get(scheme.lower()):
        key = f"{key}:{port}"
    key = f"{key}){_path(path)}"
    return f"{key}?{query}" if query and (query := _query(query)) else key


@lru_cache(4096)
def _host(host: str) -> str:
    if host.startswith("["):
        return host[1:-1].lower()
    name = _in_ascii(host.lower()).replace("..", ".").strip(".")
    if name.isdigit() and len(name) <= ADDRESS_DIGITS_MAX:
        name = str(IPv4Address(int(name) & 0xFFFFFFFF))
    return ",".join(reversed(_WWW.sub("", name).split(".")))


def _in_ascii(host: str) -> str:
    """Return a host name in the form of the DNS; one that has no such form is escaped."""
    if not host.isascii():
        with suppress(UnicodeError):
            return host.encode("idna").decode("ascii")
    return _rewritten(host)


def _path(path: str) -> str:
    rewritten = _rewritten(path)
    if "//" in rewritten or "/." in rewritten or not rewritten.startswith("/"):
        rewritten = _normal_path(rewritten)
    rewritten = rewritten.lower()
    if "(" in rewritten:
        for pattern in _PATH_SESSIONS:
            if match := pattern.fullmatch(rewritten):
                rewritten = match[1] + match[2]
    return rewritten[:-1] if rewritten.endswith("/") and rewritten != "/" else rewritten


def _normal_path(path: str) -> str:
    """Return the path without dot segments and empty segments."""
    segments: list[str] = []
    for segment in path.split("/")[1:]:
        if segment == ".." and segments:
            segments.pop()
        elif segment != ".":
            segments.append(segment)
    return "/" + "/".join([segment for segment in segments[:-1] if segment] + segments[-1:])


def _query(query: str) -> str:
    rewritten = _rewritten(query).lower()
    if "id=" in rewritten or "aspsessionid" in rewritten:
        for pattern in _QUERY_SESSIONS:
            if match := pattern.fullmatch(rewritten):
                rewritten = match[1] + (match[2] or "")
    if "&" not in rewritten:
        return rewritten
    return "&".join(sorted(rewritten.split("&"), key=lambda pair: pair.split("=", 1)))


def _rewritten(text: str) -> str:
    """Return the text with as few escapes as possible, however often it was escaped."""
    if "%" not in text and "#" not in text and _AS_IT_STANDS.fullmatch(text):
        return text
    data = text.encode("utf-8", "surrogatepass")
    while (plain := _ESCAPED.sub(lambda match: bytes.fromhex(match[1].decode()), data)) != data:
        data = plain
    return _TO_ESCAPE.sub(lambda match: b"%%%02X" % match[0][0], data).decode("ascii")


INDEXED = frozenset({"response", "revisit", "resource"})
"""Types of the records that a replay shows."""

NOT_MODIFIED = 304

_STATUS = re.compile(rb"HTTP/[0-9.]+[ \t]+(\d{3})")
_MIME = re.compile(rb"\n(?i:content-type):[ \t]*([^\s;,]+)")
_NOT_IN_A_KEY = re.compile(r"[^!-~]")
_NOT_DIGITS = re.compile(r"\D")
_quoted = encode_basestring_ascii


def index_line(
    fields: Mapping[str, str], message_head: bytes, filename: str, offset: int, length: int
) -> bytes | None:
    """Return the index line of a record with these WARC fields (names in lower case); None if it has none.

    ``message_head`` is the head of the HTTP message in the record, ``length`` that of its gzip member.
    """
    kind, url = fields.get("warc-type", ""), fields.get("warc-target-uri", "")
    if kind not in INDEXED or not url:
        return None
    key = index_key(url)
    status = _STATUS.match(message_head)
    if status is not None and int(status[1]) == NOT_MODIFIED:
        return None
    about = f'{{"url": {_quoted(url)}, "mime": {_quoted(_mime(kind, fields, message_head))}'
    if kind == "response" and status is not None:
        about += f', "status": "{status[1].decode()}"'
    if digest := fields.get("warc-payload-digest"):
        about += f', "digest": {_quoted(digest.removeprefix("sha1:"))}'
    about += f', "length": "{length}", "offset": "{offset}", "filename": {_quoted(filename)}}}'
    return f"{key} {timestamp(fields.get('warc-date', ''))} {about}\n".encode()


def index_key(url: str) -> str:
    """Return the key of a URL as a line begins with it: of visible ASCII."""
    key = surt_key(url)
    if _NOT_IN_A_KEY.search(key):
        key = _NOT_IN_A_KEY.sub(lambda match: f"%{ord(match[0]):02X}", key)
    return key


def timestamp(warc_date: str) -> str:
    """Return a WARC-Date as 14 digits."""
    usual = warc_date[:19].replace("-", "").replace("T", "").replace(":", "")
    if len(usual) == 14 and usual.isdecimal():
        return usual
    return _NOT_DIGITS.sub("", warc_date)[:14].ljust(14, "0")


def _mime(kind: str, fields: Mapping[str, str], message_head: bytes) -> str:
    if kind == "revisit":
        return "warc/revisit"
    if kind == "resource":
        return fields.get("content-type", "unk").partition(";")[0].strip()
    match = _MIME.search(b"\n" + message_head)
    return match[1].decode("latin-1") if match else "unk"


INDEX_FOLDER = "index"
SUFFIX = ".cdxj"
LINES_MAX = 4096
"""The largest number of lines that wait in memory, about a megabyte."""
SECONDS_MAX = 10.0
"""The longest time in seconds that a line waits in memory while the crawl fetches."""

_WARC, _OPEN = ".warc.gz", ".open"
_RUN = re.compile(r"(.+)\.open-\d+\.cdxj")
_FLUSH_LINES = 4096


class Index(ArchiveSink):
    """The index of one worker's WARC files, written group by group along with them."""

    def __init__(
        self, directory: Path, warcs: Path, disk: Disk, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder = directory / INDEX_FOLDER
        self._warcs = warcs
        self._disk = disk
        self._clock = clock
        self._name: str | None = None  # name of the WARC file of the kept lines, once it is closed
        self._pending: list[tuple[str, bytes]] = []
        self._kept: list[bytes] = []
        self._runs: list[tuple[Path, int]] = []  # each with the number of its lines, the long ones first
        self._serial = 0
        self._written_at = clock()

    def open(self) -> list[str]:
        """Rebuild the indexes that a crash left unfinished from the WARC files. An archive that never had an index is
        left to ``scrapy archive index``, since it may have very many files.
        """
        with translated(self._folder):
            is_new = not self._folder.exists()
            self._folder.mkdir(parents=True, exist_ok=True)
            done = [] if is_new else [self._mended(path) for path in unindexed(self._warcs, self._folder)]
            for path in self._folder.iterdir():
                if path.name.endswith(UNFINISHED) or _RUN.fullmatch(path.name):
                    self._disk.remove(path)
        return done

    def add(self, answer: ResponseRecord, location: RecordLocation) -> None:
        """Add an answer of the open group and the location of its record."""
        name = location.filename
        line = index_line(answer.fields, answer.message_head, name + _OPEN, location.offset, location.length)
        if line is not None:
            self._pending.append((name, line))

    def write(self, entries: Sequence[ArchiveEntry]) -> None:
        """Do nothing: the WARC writer calls ``add``."""

    def roll_if_full(self) -> None:
        """Write the waiting lines if it is time; finish the index of a WARC file that was closed."""
        with translated(self._folder):
            if self._name is not None and not (self._warcs / (self._name + _OPEN)).exists():
                self._finish(self._name)
            elif len(self._kept) >= LINES_MAX or (
                self._kept and self._clock() - self._written_at >= SECONDS_MAX
            ):
                self._write_run()

    def sync(self) -> None:
        """Do nothing: lost lines are built again."""

    def keep(self) -> None:
        if self._pending:
            self._name = self._pending[0][0]  # a group is in one file
            self._kept += [line for _, line in self._pending]
            self._pending.clear()

    def rollback(self) -> None:
        self._pending.clear()

    def close(self) -> None:
        if self._name is not None:
            with translated(self._folder):
                self._finish(self._name)

    def _write_run(self) -> None:
        """Write the waiting lines and the runs that are not longer into one file. So there are few runs, and a line
        is written again only when its run has doubled.
        """
        lines = len(self._kept)
        joined = 0
        while joined < len(self._runs) and self._runs[-1 - joined][1] <= lines:
            joined += 1
            lines += self._runs[-joined][1]
        old = [path for path, _ in self._runs[len(self._runs) - joined :]]
        assert self._name is not None
        path = self._folder / f"{self._name.removesuffix(_WARC)}.open-{self._serial}{SUFFIX}"
        self._kept.sort()
        with merged(old, self._kept) as sorted_lines:
            write_lines(path, sorted_lines, self._disk)
        self._serial += 1
        self._runs[len(self._runs) - joined :] = [(path, lines)]
        self._kept = []
        self._written_at = self._clock()
        self._forget(old)

    def _finish(self, name: str) -> None:
        self._kept.sort()
        old = [path for path, _ in self._runs]
        with merged(old, self._kept) as lines:
            write_lines(index_path(self._folder, name), map(_closed, lines), self._disk, durable=True)
        self._name, self._kept, self._runs = None, [], []
        self._forget(old)

    def _forget(self, paths: Iterable[Path]) -> None:
        for path in paths:
            with suppress(FileNotFoundError):
                self._disk.remove(path)

    def _mended(self, warc: Path) -> str:
        try:
            number = build(warc, index_path(self._folder, warc.name), self._disk)
        except Damaged as damage:
            return f"{warc.name} has no index: {damage}."
        return f"{index_path(self._folder, warc.name).name}: rebuilt, {number} lines."


def index_path(folder: Path, warc_name: str) -> Path:
    """Return the path of the index of a WARC file with this final name."""
    return folder / (warc_name.removesuffix(_WARC) + SUFFIX)


def unindexed(warcs: Path, folder: Path) -> list[Path]:
    """Return the closed WARC files that have no index. Raises OSError."""
    return [path for path in sorted(warcs.glob(f"*{_WARC}")) if not index_path(folder, path.name).exists()]


def build(warc: Path, target: Path, disk: Disk) -> int:
    """Write the index of a WARC file and make it durable, in bounded memory. Return the number of its lines.

    :raises Damaged: the file has a damaged record; no index is written then
    """
    number = 0
    with Sorter() as sorter:
        for line in index_lines(warc, warc.name):
            sorter.add(line)
            number += 1
        write_lines(target, sorter.sorted(), disk, durable=True)
    return number


class Lines:
    """Makes the lines for the records of one WARC file, which are passed in their order. An answer gets its line only
    after its request, or another record in its place, has been read.
    """

    def __init__(self, filename: str) -> None:
        self._filename = filename
        self._waiting: bytes | None = None

    def of(self, record: WarcRecord) -> bytes | None:
        """Return the line that this record completes, if any."""
        line = self._waiting
        if record.type == "request":
            self._waiting = None
            return line if record.message_head.startswith(b"GET ") else None
        self._waiting = index_line(
            record.fields, record.message_head, self._filename, record.start, record.length
        )
        return line

    def last(self) -> bytes | None:
        """Return the line that the end of the file completes, if any."""
        return self._waiting


def index_lines(warc: Path, filename: str) -> Iterator[bytes]:
    """Yield the lines for a WARC file, in the order of its records. :raises Damaged: behind the last whole record"""
    lines = Lines(filename)
    with warc.open("rb") as stream:
        for record in records(stream):
            if line := lines.of(record):
                yield line
        if line := lines.last():
            yield line


def write_lines(path: Path, lines: Iterable[bytes], disk: Disk, *, durable: bool = False) -> None:
    """Replace ``path`` atomically by a file with these lines. Raises OSError; the old file stays then."""
    with disk.replacing(path, durable=durable) as handle:
        waiting: list[bytes] = []
        for line in lines:
            waiting.append(line)
            if len(waiting) >= _FLUSH_LINES:
                disk.write_whole(handle, b"".join(waiting))
                waiting.clear()
        disk.write_whole(handle, b"".join(waiting))


def _closed(line: bytes) -> bytes:
    """Return the line with the name that the WARC file has once it is closed."""
    return line[: -len(_OPEN) - 3] + line[-3:] if line.endswith(b'.open"}\n') else line
