"""The logs of a crawl in one order of time, and the events of one host among them.

Read are ``crawl.log`` (text or JSON lines), ``errors.log``, ``unanticipated.log`` and ``fetch.jsonl`` with their
rotated and compressed files. What is damaged is passed to ``on_damage`` as a sentence, and reading goes on behind it.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from contextlib import ExitStack
from datetime import datetime
from gzip import BadGzipFile, GzipFile
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from webcrawl.external_sort import Sorter
from webcrawl.reports import text
from webcrawl.reports.counting import number_in
from webcrawl.reports.fetch_logs import parse_request
from webcrawl.rotated_log import parts
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

CRAWL, ERRORS, UNANTICIPATED, FETCH = "crawl.log", "errors.log", "unanticipated.log", "fetch.jsonl"
NAMES = (CRAWL, ERRORS, UNANTICIPATED, FETCH)
LINE_MAX = 1 << 20
"""Bytes of a line that are read; the rest of it is left out."""
MORE_MAX = 1000
"""Further lines of a message that are kept."""
_TIME = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?[+-]\d{4}) ")
_CRAWL_HEAD = re.compile(r"\[([^\]\s]+)\] ([A-Z]+): ")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s<>\"'`]+")
_USER = re.compile(r"//[^/?#@]*@")
_ENDS = ".,;:!?)]}"
"""Characters at the end of a URL in a sentence that belong to the sentence."""


class Event(NamedTuple):
    """A message or a request."""

    at: float
    """Epoch seconds; for a request the end of the response."""
    log: str
    """The name of the log without its suffix."""
    message: str
    more: Sequence[str] = ()
    """Further lines: a traceback."""
    facts: Mapping[str, Any] = {}
    """Further fields in JSON: ``level`` and ``logger``, or the line of the fetch log as ``request``."""

    def as_lines(self) -> Iterator[str]:
        """Yield the event as lines of text that steer no terminal, the time in UTC."""
        level = f"{self.facts['level']} " if "level" in self.facts else ""
        yield f"{text.moment(self.at)}  {self.log:<13}  {level}{_printable(self.message)}"
        yield from (f"    {_printable(line.rstrip())}" for line in self.more)

    def as_object(self) -> dict[str, Any]:
        """Return the event as an object for JSON."""
        more = {"more": list(self.more)} if self.more else {}
        return {"at": round(self.at, 6), "log": self.log, "message": self.message, **more, **self.facts}


class HostFilter:
    """Tells the events of one host from those of others, by whole names: ``example.org`` is neither
    ``www.example.org`` nor ``example.org.uk``.
    """

    def __init__(self, host: str, key: str) -> None:
        """``host``: as URLs in the logs name it; ``key``: its politeness key, by which messages name it."""
        self.host = host
        names = "|".join(re.escape(name) for name in {host, key})
        self._names = re.compile(rf"(?<![\w@/.%-])(?:{names})(?![\w/%-]|\.\w)", re.IGNORECASE)

    def matches(self, event: Event) -> bool:
        """Return True if an event is about the host."""
        if (request := event.facts.get("request")) is not None:
            return self._concerns_host(request)
        if event.log == "errors":
            _, _, rest = event.message.partition(" ")
            return host_in(rest.partition(" ")[0]) == self.host
        return any(self.names(line) for line in (event.message, *event.more))

    def names(self, line: str) -> bool:
        """Return True if a line has a URL of the host, or its name outside of URLs."""
        if any(host_in(url_match.group().rstrip(_ENDS)) == self.host for url_match in _URL.finditer(line)):
            return True
        return self._names.search(_URL.sub(" ", line)) is not None

    def _concerns_host(self, request: Mapping[str, Any]) -> bool:
        origin = request.get("origin")
        return host_in(request["url"]) == self.host or (
            isinstance(origin, str) and host_in(f"{origin}/") == self.host
        )


def host_in(url: str) -> str | None:
    """Return the host of a URL, in lower case; None if it has none."""
    try:
        return get_host(_USER.sub("//", url, count=1)).lower().rstrip(".") or None
    except ValueError:
        return None


class Logs:
    """The logs of some JOBDIRs, each of a worker."""

    def __init__(
        self,
        folders: Sequence[Path],
        on_damage: Callable[[str], None],
        *,
        host: HostFilter | None = None,
        begin: float | None = None,
        end: float | None = None,
    ) -> None:
        """``begin`` and ``end``: epoch seconds of the first and last event."""
        self._paths = [folder / name for folder in folders for name in NAMES]
        self._on_damage = on_damage
        self._host = host
        self._begin, self._end = begin, end
        self._tails: list[_Tail] = []

    def events(self, *, follow: bool = False) -> Iterator[Event]:
        """Yield all events in the order of time. Memory does not grow with their number; OSError is raised if there
        is no room for temporary files. ``follow``: ``later`` will be called.
        """
        with Sorter() as sorter:
            for number, event in enumerate(chain.from_iterable(map(self._of_log, self._paths))):
                line = json.dumps([number, *event], separators=(",", ":"))
                sorter.add(f"{max(event.at, 0):018.6f} {number:012d} {line}\n".encode())
            for item in sorter.sorted():
                _, _, written = item.split(b" ", 2)
                yield Event(*json.loads(written)[1:])
        if not follow:
            self.close()

    def later(self) -> list[Event]:
        """Return the events that were logged since the last call, or since ``events``."""
        events = [event for tail in self._tails for event in self._wanted(tail.path, tail.lines())]
        return sorted(events, key=lambda event: event.at)

    def close(self) -> None:
        """Close the files."""
        for tail in self._tails:
            tail.close()
        self._tails.clear()

    def _of_log(self, path: Path) -> Iterator[Event]:
        # The current file first: what is rotated from now on has the same number.
        tail = _Tail(path)
        self._tails.append(tail)
        if path.name == UNANTICIPATED and self._is_in_crawl_log(path.with_name(CRAWL)):
            # The crawl log has the same messages.
            tail.close()
            return
        lines = chain(self._rotated(path, tail.number), tail.lines())
        yield from self._wanted(path, lines)

    def _rotated(self, path: Path, current: tuple[int, int] | None) -> Iterator[bytes]:
        try:
            files = parts(path)
        except OSError as error:
            self._on_damage(f"{path.parent}: {error.strerror or error}")
            return
        for part in files:
            try:
                with ExitStack() as stack:
                    stream = stack.enter_context(_opened(part))
                    state = os.fstat(stream.fileno())
                    if (state.st_dev, state.st_ino) == current:
                        continue
                    is_plain = stream.name == str(part) and part.suffix != ".gz"
                    yield from _lines(stream if is_plain else stack.enter_context(GzipFile(fileobj=stream)))
            except (EOFError, BadGzipFile, zlib.error) as error:
                self._on_damage(f"{part}: the rest is damaged: {error}")
            except OSError as error:
                self._on_damage(f"{part}: {error.strerror or error}")

    def _is_in_crawl_log(self, path: Path) -> bool:
        try:
            return path.exists() or bool(parts(path))
        except OSError:
            return False

    def _wanted(self, path: Path, lines: Iterable[bytes]) -> Iterator[Event]:
        holding = b"" if self._host is None else self._host.host.encode()
        read = (
            _requests(lines, holding, path, self._on_damage) if path.name == FETCH else messages(path, lines)
        )
        for event in read:
            if self._begin is not None and event.at < self._begin:
                continue
            if self._end is not None and event.at > self._end:
                continue
            if self._host is None or self._host.matches(event):
                yield event


class _Tail:
    """A log file that grows, and is rotated."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None
        self._rest = b""
        self._open()

    @property
    def number(self) -> tuple[int, int] | None:
        """The device and the number of the open file."""
        if self._file is None:
            return None
        state = os.fstat(self._file.fileno())
        return state.st_dev, state.st_ino

    def lines(self) -> Iterator[bytes]:
        """Yield the whole lines that have come."""
        while True:
            if self._file is not None:
                yield from self._whole(self._file)
            try:
                state = self.path.stat()
            except OSError:
                return
            if (state.st_dev, state.st_ino) == self.number:
                return
            if self._file is not None:
                # It was rotated: nothing is added to it now.
                yield from self._whole(self._file)
            self.close()
            self._open()
            if self._file is None:
                return

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            self._rest = b""

    def _open(self) -> None:
        try:
            self._file = self.path.open("rb")
        except OSError:
            self._file = None

    def _whole(self, file: IO[bytes]) -> Iterator[bytes]:
        while piece := file.readline(LINE_MAX):
            if not piece.endswith(b"\n"):
                if len(self._rest) < LINE_MAX:
                    self._rest += piece
                continue
            line, self._rest = self._rest + piece, b""
            yield line[:LINE_MAX]


def _opened(part: Path) -> IO[bytes]:
    try:
        return part.open("rb")
    except FileNotFoundError:
        # It was compressed meanwhile.
        return part.with_name(part.name + ".gz").open("rb")


def _lines(stream: IO[bytes] | GzipFile) -> Iterator[bytes]:
    """Yield the lines of a file that grows no more, each up to ``LINE_MAX``."""
    is_rest = False
    while piece := stream.readline(LINE_MAX):
        if not is_rest:
            yield piece
        is_rest = not piece.endswith(b"\n")


def messages(path: Path, lines: Iterable[bytes]) -> Iterator[Event]:
    """Yield the messages of a log; a line that does not begin one belongs to the last."""
    log, event = path.stem, None
    more: list[str] = []
    for line in lines:
        event_read = _message(log, line)
        if event_read is None:
            is_object = log == "crawl" and line.startswith(b"{")
            if event is not None and not is_object and len(more) < MORE_MAX:
                more.append(line.decode("utf-8", "replace").removeprefix("    ").rstrip("\r\n"))
            continue
        if event is not None:
            yield event._replace(more=[*event.more, *more]) if more else event
        event, more = event_read, []
    if event is not None:
        yield event._replace(more=[*event.more, *more]) if more else event


def _message(log: str, line: bytes) -> Event | None:
    if line.startswith(b"{"):
        return _of_json(log, line)
    match = _TIME.match(line)
    if match is None:
        return None
    try:
        at = datetime.fromisoformat(match[1].decode()).timestamp()
    except (ValueError, OverflowError):
        return None
    message = line[match.end() :].decode("utf-8", "replace").rstrip("\r\n")
    if log == "errors" and " " not in message:
        return None
    head = _CRAWL_HEAD.match(message) if log == "crawl" else None
    if head is None:
        return Event(at, log, message)
    return Event(at, log, message[head.end() :], (), {"level": head[2], "logger": head[1]})


def _of_json(log: str, line: bytes) -> Event | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    at = number_in(value.get("at")) if isinstance(value, dict) else None
    if at is None or not 0 <= at < 1e11:
        return None
    first, *more = str(value.get("message")).splitlines() or [""]
    more += str(value.get("exception") or "").splitlines()
    facts = {name: str(value[name]) for name in ("level", "logger", "worker") if name in value}
    return Event(at, log, first, more[:MORE_MAX], facts)


def _requests(
    lines: Iterable[bytes], holding: bytes, path: Path, on_damage: Callable[[str], None]
) -> Iterator[Event]:
    for line in lines:
        if holding not in line:
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        request = parse_request(value) if isinstance(value, dict) else None
        if request is None:
            on_damage(
                f"{path}: a line is no request: {_printable(line[:60].decode('utf-8', 'replace').rstrip())}"
            )
            continue
        yield Event(request.end, "fetch", _as_sentence(value), (), {"request": value})


def _as_sentence(line: Mapping[str, Any]) -> str:
    """Return a line of the fetch log in words."""
    request = parse_request(line)
    assert request is not None
    parts = [
        f"{request.kind} {request.result}  {text.size(request.bytes)} in {request.end - request.start:.3f} s"
    ]
    if isinstance(location := line.get("location"), str):
        parts.append(f"to {location}")
    if request.robots is not None and request.robots.state is not None:
        parts.append(request.robots.state.replace("_", " "))
        if request.robots.crawl_delay is not None:
            parts.append(f"Crawl-delay {request.robots.crawl_delay:g} s")
    if request.cached:
        parts.append("from the cache")
    if request.delay is not None:
        parts.append(f"then {text.duration(request.delay)} of delay")
    if line.get("given_up") is True:
        parts.append("the host is given up")
    elif number_in(line.get("parks")):
        parts.append("the host is parked")
    return f"{parts[0]}  {request.url}  {', '.join(parts[1:])}".rstrip()


def _printable(line: str) -> str:
    """Return a line without characters that steer a terminal."""
    return line if line.isprintable() else "".join([c if c.isprintable() else "\ufffd" for c in line])
