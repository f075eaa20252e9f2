"""Feeds that could not be written, found before a crawl begins."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from webcrawl.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings


def wrong_feeds(settings: BaseSettings) -> Iterator[Problem]:
    """What is wrong with Parquet among FEEDS: the library, or a file that would have to be continued."""
    for uri, options in settings.getdict("FEEDS").items():
        if options.get("format") != "parquet":
            continue
        if find_spec("pyarrow") is None:
            yield Problem("FEEDS", f"needs pyarrow for {uri}: pip install pyarrow")
        path = Path(urlsplit(str(uri)).path if str(uri).startswith("file:") else str(uri))
        if not options.get("overwrite") and path.is_file() and path.stat().st_size:
            yield Problem(
                "FEEDS",
                f"must not add to {path}: Parquet cannot be continued (-O in place of -o replaces it)",
            )
