"""``scrapy cat URL [JOBDIR...]``: a stored page with its headers, from the archive of a crawl, running or not.

Exit status 0: shown. 1: the archive has no capture of the URL; a line on standard error says why. 2: an argument is
wrong, or a file cannot be read.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import unicodedata
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.archive import fetchlog
from webcrawl.archive.captures import REVISIT, find_captures, read_capture
from webcrawl.archive.disk import ArchiveError
from webcrawl.archive.records import SOURCE, uri
from webcrawl.archive.repair import WARC_FOLDER
from webcrawl.command import ProjectCommand
from webcrawl.config import Configuration
from webcrawl.crawl.jobdir import folders_with_files
from webcrawl.errors import CrawlError, Problem
from webcrawl.parsing.charset import detect_encoding
from webcrawl.parsing.mime import document_type, mime_type
from webcrawl.reports.text import read_moment, second, size, things
from webcrawl.terminal import complain, tell
from webcrawl.urls.schemes import resolve_any
from webcrawl.urls.seeds import BadSeed, read_seed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from webcrawl.archive.captures import CaptureContent, StoredCapture

DECODED_MAX = 256 << 20
"""Bytes of a body without its content coding that are shown."""
NEAR_MAX = 5
"""The number of similar URLs that are named."""
PRUNED = "queue-full"
"""The rule of a URL that was removed from a queue that was full."""

_TEXT = re.compile(
    r"text/|application/(?:[a-z0-9.+-]*\+)?(?:json|xml|javascript|ecmascript|yaml)\b|image/svg\+xml"
)
_FIELD = re.compile(rb"^([!#$%&'*+.^_`|~0-9A-Za-z-]++)[ \t]*+:[ \t]*+((?:.*[^ \t\r\n])?)", re.MULTILINE)
_HAS_SCHEME = re.compile(r"(?!https?:)[A-Za-z][A-Za-z0-9+.-]*:")
_STAMP = re.compile(r"\d{14}")


class Command(ProjectCommand):
    expected = (CrawlError, ArchiveError, OSError)

    def syntax(self) -> str:
        return "[options] <URL> [JOBDIR ...]"

    def short_desc(self) -> str:
        return "Show a stored page with its headers"

    def long_desc(self) -> str:
        return (
            "Reads the last capture of a URL from the WARC files of a crawl, running or not: the headers as "
            "received, and the body without its content coding. On a terminal, control characters are escaped. Give "
            "the JOBDIRs of all workers, or -s JOBDIR=DIR."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--all", action="store_true", dest="every", help="list all captures: time, status, type, bytes")
        add("--at", metavar="DATE", type=_moment, help="the capture that was the last one then, in UTC")
        parts = parser.add_mutually_exclusive_group()
        parts.add_argument("--headers", action="store_true", help="only the headers")
        parts.add_argument("--body", action="store_true", help="only the body, its bytes")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        if not args:
            yield Problem("", "no URL; give one, and the JOBDIRs of its crawl")
            return
        configuration = Configuration() if self.wrong_settings() else self.configuration
        named = args[1:] or ([str(configuration.jobdir)] if configuration.jobdir else [])
        self._folders = folders_with_files(map(Path, named))
        if not self._folders:
            yield Problem("", "which crawl? give the JOBDIRs of all its workers, or -s JOBDIR=DIR")
        for folder in self._folders:
            if not folder.is_dir():
                yield Problem(str(folder), "is no folder")
            elif not (folder / WARC_FOLDER).is_dir():
                yield Problem(str(folder), f"holds no archive: it has no folder {WARC_FOLDER}")

    def answer(self, args: list[str], opts: argparse.Namespace) -> int:
        url = _url(args[0])
        stored = find_captures(url, self._folders)
        captures = [capture for capture in stored if capture.url == uri(url)]
        if not captures:
            assert self.settings is not None
            near = list(dict.fromkeys(capture.url for capture in stored))
            complain(self.name, [f"there is no capture of {url}", *_near(near), *self._why(url)])
            return 1
        if opts.every:
            for capture in captures:
                tell(_line(capture, read_capture(capture, self._folders)))
            return 0
        capture = captures[-1] if opts.at is None else _last_at(captures, opts.at)
        view = CaptureView(capture, read_capture(capture, self._folders))
        return view.show(headers=not opts.body, body=not opts.headers)

    def _why(self, url: str) -> Iterator[str]:
        """Yield sentences that say why a URL has no capture: of the fetch logs, and of the frontier."""
        last = _last_logged(url, self._folders)
        if last is not None:
            yield f"the last request for it was at {second(float(last['start']))} UTC: {_outcome(last)}"
        # Scrapy imports all commands at each start.
        from webcrawl.control.inquiry import WRONG, Inquiry, Question
        from webcrawl.explain.account import Fate
        from webcrawl.explain.as_text import conclusion_in_words

        assert self.settings is not None
        settings = self.settings.copy()
        settings.set("JOBDIR", str(self._folders[0]), "cmdline")
        question = Question(url, logs=self._folders[1:])
        try:
            explanation, _ = Inquiry(settings, Configuration.from_settings(settings), question).answer()
        except (CrawlError, *WRONG):
            # The state of a shared crawl is not in its folders.
            yield f"see scrapy explain {url}, with the settings of the crawl"
            return
        by = (
            ", by the settings given here"
            if explanation.conclusion.fate in (Fate.WOULD_BE_QUEUED, Fate.WOULD_BE_REFUSED)
            else ""
        )
        yield f"{conclusion_in_words(explanation)}{by}"
        if explanation.conclusion.rule == PRUNED:
            yield "it was pruned from a full queue (FRONTIER_QUEUE_MAX), and is fetched if it is found again"


class CaptureView:
    """A capture as it is shown."""

    def __init__(self, capture: StoredCapture, content: CaptureContent) -> None:
        self._capture = capture
        self._content = content
        fields = [(name.lower(), value.decode("latin-1")) for name, value in _FIELD.findall(content.head)]
        of_message = next((value for name, value in fields if name == b"content-type"), "")
        self.content_type = of_message if content.head else content.fields.get("content-type", "")
        self._coding = ", ".join(value for name, value in fields if name == b"content-encoding")

    def show(self, *, headers: bool, body: bool) -> int:
        """Print the capture; return the exit status."""
        decoded = _decoded(self._content.payload, self._coding) if body else b""
        top = "\n".join([*_about(self._capture, self._content), *self._head(), ""]) if headers else ""
        between = "\n" if headers and body else ""
        if not sys.stdout.isatty():
            _write(f"{top}{between}".encode() + decoded)
            return 0
        if not body or self._is_text(decoded):
            text = decoded.decode(detect_encoding(decoded, self.content_type), "replace")
            _write(_for_terminal(f"{top}{between}{text}"))
            return 0
        _write(_for_terminal(top))
        what = f"{self.content_type or 'the body'}, {size(len(decoded))}"
        complain("cat", [f"{_escaped(what)}: not shown on a terminal; --body > FILE writes it"])
        return 0 if headers else 2

    def _head(self) -> list[str]:
        content = self._content
        if content.head:
            return content.head.decode("latin-1").replace("\r\n", "\n").split("\n")
        source = content.fields.get(SOURCE.lower())
        lines = [f"Content-Type: {self.content_type}"]
        return [*lines, f"{SOURCE}: {source}"] if source else lines

    def _is_text(self, body: bytes) -> bool:
        mime = document_type(mime_type(self.content_type), body)
        return not body or (_TEXT.match(mime) is not None if mime else b"\0" not in body)


def _for_terminal(text: str) -> bytes:
    """Return text in the terminal's encoding that cannot control it, and that ends its last line."""
    shown = _escaped(text.replace("\r\n", "\n"))
    end = "" if not shown or shown.endswith("\n") else "\n"
    return f"{shown}{end}".encode(sys.stdout.encoding or "utf-8", "backslashreplace")


def _escaped(text: str) -> str:
    """Return the text without characters that control a terminal or reverse the direction of text; line ends and tabs
    stay.
    """
    return "".join(
        character
        if character in "\n\t" or character.isprintable() or unicodedata.category(character) == "Zs"
        else repr(character)[1:-1]
        for character in text
    )


def _decoded(payload: bytes, coding: str) -> bytes:
    if not coding:
        return payload
    # Scrapy imports all commands at each start.
    from webcrawl.fetching.decoding import decode

    decoded = decode(payload, coding, DECODED_MAX)
    if decoded.error or decoded.truncated:
        complain("cat", [f"the body is not whole: {decoded.error or f'more than {size(DECODED_MAX)}'}"])
    return decoded.body


def _about(capture: StoredCapture, content: CaptureContent) -> list[str]:
    fields = content.fields
    lines = [f"{capture.url}", f"{fields.get('warc-date', '')} {capture.filename} byte {capture.offset}"]
    if content.original is not None:
        lines.append(f"the same body as {content.original.url} of {_time(content.original.timestamp)}")
    elif cut := fields.get("warc-truncated"):
        lines.append(f"truncated: {cut}")
    return [f"WARC: {line}" for line in lines]


def _line(capture: StoredCapture, content: CaptureContent) -> str:
    status = _status(content.head) or capture.status or "-"
    mime = capture.mime
    if mime == REVISIT:
        mime = mime_type(CaptureView(capture, content).content_type) or "-"
    notes = []
    if content.original is not None:
        notes.append(f"the same body as {content.original.url} of {_time(content.original.timestamp)}")
    if source := content.fields.get(SOURCE.lower()):
        notes.append(f"from {source}")
    cut = content.fields.get("warc-truncated")
    if cut and content.original is None:  # the record of a revisit is always without its body
        notes.append(f"truncated: {cut}")
    row = f"{_time(capture.timestamp)}  {status:>3}  {mime:<24}  {len(content.payload):>12,}"
    return _escaped("  ".join([row, f"{capture.folder / WARC_FOLDER / capture.filename}", *notes]))


def _status(head: bytes) -> str:
    match = re.match(rb"HTTP/[0-9.]+[ \t]+(\d{3})", head)
    return match[1].decode() if match else ""


def _time(timestamp: str) -> str:
    day, clock = timestamp[:8], timestamp[8:]
    return f"{day[:4]}-{day[4:6]}-{day[6:]} {clock[:2]}:{clock[2:4]}:{clock[4:]}"


def _last_at(captures: Sequence[StoredCapture], at: str) -> StoredCapture:
    """Return the last capture until then, or else the first one."""
    earlier = [capture for capture in captures if capture.timestamp <= at]
    return earlier[-1] if earlier else captures[0]


def _moment(text: str) -> str:
    """Return the 14 digits of a date, of its end if it has no time of day."""
    if _STAMP.fullmatch(text):
        return text
    try:
        # The last second of a day, or the moment itself.
        at = read_moment(text, ends=True) - (len(text.strip()) <= len("2026-03-01"))
        return datetime.fromtimestamp(at, UTC).strftime("%Y%m%d%H%M%S")
    except (ValueError, OverflowError, OSError) as error:
        allowed = "a date such as 2026-03-01, 2026-03-01T12:30 or 20260301123000"
        raise argparse.ArgumentTypeError(f"must be {allowed}, not {text!r}") from error


def _url(written: str) -> str:
    """Return the URL in the form in which it is stored, whatever its scheme: a spider may request any."""
    url = resolve_any(written, "about:blank")
    if url is not None:
        return url
    seed = read_seed(written.strip())
    if not isinstance(seed, BadSeed):
        return seed.url
    if _HAS_SCHEME.match(written.strip()) is None:
        raise CrawlError(f"{seed.text!r} is no URL: {seed.reason}")
    return written.strip()


def _near(urls: Sequence[str]) -> Iterator[str]:
    if urls:
        more = f", and {things(len(urls) - NEAR_MAX, 'other')}" if len(urls) > NEAR_MAX else ""
        yield f"there are captures of {', '.join(urls[:NEAR_MAX])}{more}"


def _last_logged(url: str, folders: Sequence[Path]) -> dict[str, Any] | None:
    """Return the last line of a URL in the fetch logs."""
    last: dict[str, Any] | None = None
    for folder in folders:
        for line in fetchlog.read(folder, lambda damage: None, holding=json.dumps(url).encode()):
            if line.get("url") == url and (last is None or line.get("start", 0) >= last.get("start", 0)):
                last = line
    return last


def _outcome(line: dict[str, Any]) -> str:
    if "error" in line:
        return f"it failed ({line['error']})"
    words = f"status {line.get('status')}"
    if line.get("archived") is False:
        words += ", not archived (WARC_PAGES, or it came by other software and is no page)"
    return words


def _write(data: bytes) -> None:
    """Write bytes to standard output."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
