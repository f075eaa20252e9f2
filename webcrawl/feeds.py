"""Feeds of a crawl that is resumed: those that could not be written, those that would be overwritten, and those that
a killed process left incomplete; and the write that keeps their items if the process is killed.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from fcntl import LOCK_EX, flock
from importlib.util import find_spec
from itertools import count
from os import SEEK_END
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.extensions.feedexport import FeedExporter

from webcrawl.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import BinaryIO

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


_LINES = frozenset({"jsonlines", "jsonl", "jl"})
_ADDED_TO = frozenset({"jsonlines", "jsonl", "jl", "csv", "marshal", "pickle"})
"""Formats of files to which more items may be appended."""


def wrong_feeds(settings: BaseSettings) -> Iterator[Problem]:
    """Yield the problems of Parquet in FEEDS: a missing library, or a file that would have to be continued."""
    for uri, options in settings.getdict("FEEDS").items():
        if options.get("format") != "parquet":
            continue
        if find_spec("pyarrow") is None:
            yield Problem("FEEDS", f"needs pyarrow for {uri}: pip install pyarrow")
        path = _path(uri)
        if not options.get("overwrite") and path.is_file() and path.stat().st_size:
            yield Problem(
                "FEEDS",
                f"must not add to {path}: Parquet cannot be continued; say -o {_further(str(uri), 'parquet')}",
            )


def unshared_feeds(settings: BaseSettings) -> Iterator[Problem]:
    """Yield the feeds that several workers cannot write together: all but files of lines of JSON."""
    for uri, options in settings.getdict("FEEDS").items():
        is_local = urlsplit(str(uri)).scheme in ("", "file")
        is_plain = not options.get("postprocessing") and not options.get("batch_item_count")
        if not is_local or not is_plain or options.get("format") not in _LINES:
            yield Problem(
                "FEEDS",
                f"several workers write lines of JSON to a file, and nothing else: {uri} must be a file such as "
                "items.jsonl, without postprocessing and batches; or leave WORKERS out",
            )
        elif options.get("overwrite") and "%(" in str(uri):
            yield Problem("FEEDS", f"several workers do not overwrite {uri}: say -o in place of -O")


def overwritten_feeds(settings: BaseSettings) -> list[Path]:
    """Return the files that the feeds overwrite."""
    feeds = settings.getdict("FEEDS").items()
    return [_path(uri) for uri, options in feeds if options.get("overwrite")]


def lost_feeds(settings: BaseSettings) -> Iterator[Problem]:
    """Yield feeds with items that a resumed crawl would overwrite."""
    for uri, options in settings.getdict("FEEDS").items():
        path = _path(uri)
        if options.get("overwrite") and path.is_file() and path.stat().st_size:
            yield Problem(
                "FEEDS",
                f"must not overwrite {path}: the crawl in JOBDIR goes on, and its earlier items would be lost; "
                f"say -o {_further(str(uri), str(options.get('format', '')))} in place of -O (in FEEDS: overwrite "
                "False), or move the file away first",
            )


def going_on(words: Sequence[str], settings: BaseSettings) -> list[str]:
    """Return the words of a crawl command that resumes it and keeps the items in its feeds.

    A format that cannot be appended to, such as JSON, is continued in another file. ``settings``: those of the
    crawl, whose FEEDS may overwrite files too.
    """
    kept: list[str] = []
    rest = iter(words)
    has_feed = False
    for word in rest:
        feed = _given_with(word)
        if feed is None:
            kept.append(word)
            continue
        has_feed = True
        uri, colon, name = (feed := feed or next(rest, "")).rpartition(":")
        if not colon or not name.isalnum():
            uri, colon, name = feed, "", PurePosixPath(feed).suffix.lstrip(".")
        kept += ["-o", _further(uri, name) + (f":{name}" if colon else "")]
    return kept if has_feed else _with_kept_feeds(kept, settings)


def _with_kept_feeds(words: list[str], settings: BaseSettings) -> list[str]:
    """Replace FEEDS that overwrite files by FEEDS that do not. Options that are not JSON stay as they are: the
    resumed crawl is refused then, with a message that says what to change."""
    feeds = settings.getdict("FEEDS")
    if not any(options.get("overwrite") for options in feeds.values()):
        return words
    kept = {
        _further(str(uri), str(options.get("format", ""))) if options.get("overwrite") else str(uri): (
            {**options, "overwrite": False} if options.get("overwrite") else options
        )
        for uri, options in feeds.items()
    }
    try:
        setting = f"FEEDS={json.dumps(kept)}"
    except TypeError:
        return words
    without: list[str] = []
    for word in words:
        if word.startswith("FEEDS=") and without[-1:] in (["-s"], ["--set"]):
            without.pop()
        elif not word.startswith(("-sFEEDS=", "--set=FEEDS=")):
            without.append(word)
    return [*without, "-s", setting]


def _given_with(word: str) -> str | None:
    """Return the value that is in one word with an option for a feed; empty if it follows, None for other words."""
    for option in ("-o", "-O"):
        if word.startswith(option):
            return word[len(option) :]
    for option in ("--output", "--overwrite-output"):
        if word == option or word.startswith(f"{option}="):
            return word[len(option) + 1 :]
    return None


def _further(uri: str, name: str) -> str:
    """Return the URI in which a feed of this format is continued."""
    is_local = "://" not in uri or uri.startswith("file://")
    if uri in ("", "-") or "%(" in uri or (is_local and name in _ADDED_TO):
        return uri
    match = re.fullmatch(r"(.*?)(?:-(\d+))?(\.[^./]*)?", uri, re.DOTALL)
    assert match is not None
    for number in count(int(match[2] or 1) + 1):
        further = f"{match[1]}-{number}{match[3] or ''}"
        if not (is_local and _path(further).exists()):
            break
    return further


def mend_feeds(settings: BaseSettings) -> Iterator[str]:
    """Cut off the incomplete items at the ends of feed files, for a crawl whose last process was killed: the page of
    such an item was not done, so that it is fetched again. Yield a sentence on each file that was changed.

    Files of lines and of CSV are mended. A file that has other endings, is compressed or is named after the time of
    its run is left as it is, and so is one that cannot be used: Scrapy has the message on that.
    """
    for uri, options in settings.getdict("FEEDS").items():
        end_of, path = _ENDS.get(str(options.get("format"))), _path(uri)
        if end_of is None or "%(" in str(uri) or options.get("postprocessing") or options.get("overwrite"):
            continue
        with suppress(OSError):
            if not path.is_file():
                continue
            with path.open("r+b") as file:
                # Several workers of one machine may write to it.
                flock(file, LOCK_EX)
                whole, size = end_of(file), file.seek(0, SEEK_END)
                if whole < size:
                    file.truncate(whole)
                    yield (
                        f"{path} ended within an item when the crawl was killed: {size - whole} bytes were cut off, "
                        "and the page is fetched again"
                    )


def end_of_lines(file: BinaryIO) -> int:
    """Return the position behind the last line of a file that is complete."""
    at = file.seek(0, SEEK_END)
    while at:
        begin = max(at - _BLOCK_BYTES, 0)
        file.seek(begin)
        newline = file.read(at - begin).rfind(b"\n")
        if newline >= 0:
            return begin + newline + 1
        at = begin
    return 0


def _end_of_records(file: BinaryIO) -> int:
    """Return the position behind the last record of a CSV file that is complete: fields may have line breaks."""
    at = whole = quotes = 0
    for line in file:
        at += len(line)
        quotes += line.count(b'"')
        if quotes % 2 == 0 and line.endswith(b"\n"):
            whole = at
    return whole


_BLOCK_BYTES = 1 << 16
_ENDS: dict[str, Callable[[BinaryIO], int]] = {
    "jsonlines": end_of_lines,
    "jsonl": end_of_lines,
    "jl": end_of_lines,
    "csv": _end_of_records,
}


def _path(uri: object) -> Path:
    text = str(uri)
    return Path(urlsplit(text).path if text.startswith("file:") else text)


def flush_feeds(crawler: Crawler) -> None:
    """Write the items that the buffers of feed files hold: the files have them even if the process is killed."""
    exporter = crawler.get_extension(FeedExporter)
    for slot in () if exporter is None else exporter.slots:
        # A full disk keeps the items in the buffer. A file of a batch may be closed.
        with suppress(OSError, ValueError):
            if slot.file is not None:
                slot.file.flush()
