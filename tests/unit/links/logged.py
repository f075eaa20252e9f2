"""Link logs for the tests: pages, and the store that writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.archive.samples import NOW, record, ticking
from webcrawl.archive.capture import ArchiveEntry
from webcrawl.archive.listed_links import ListedLinks
from webcrawl.links.log import LinkLog

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from webcrawl.archive.listed_links import LinkRow, SpooledLinks

SETTINGS = {
    "CANONICAL_RULES": ("escapes", "empty_query", "brackets"),
    "HOST_RULES_FILE": None,
    "LINK_LOG_ROLL_BYTES": 1_000_000,
}


def page(url: str, links: Sequence[LinkRow | str] = (), at: float = NOW, **changes: Any) -> ArchiveEntry:
    """A page with its links; a mere URL is a link without text."""
    rows = [(link, "a", "", "") if isinstance(link, str) else link for link in links]
    return ArchiveEntry(record(url=url, end=at, **changes), None, None, rows)


def spooled(folder: Path, urls: Sequence[str]) -> SpooledLinks:
    """What a long list names, in a file below ``folder``."""
    listed = ListedLinks(str(folder / "spool"))
    listed.add(urls)
    listed.finish()
    made = listed.spooled()
    assert made is not None
    return made


def sitemap(folder: Path, url: str, urls: Sequence[str], at: float = NOW) -> ArchiveEntry:
    """A long sitemap."""
    made = page(url, at=at, kind="sitemap")
    made.listed = spooled(folder, urls)
    return made


def store(directory: Path, **changes: Any) -> LinkLog:
    """A store that is open."""
    made: dict[str, Any] = {"worker": "w0", "settings": SETTINGS, "clock": ticking().__next__}
    log = LinkLog(directory, **(made | changes))
    log.open()
    return log


def keep(log: LinkLog, *entries: ArchiveEntry) -> None:
    """A group from its beginning to its end."""
    log.roll_if_full()
    log.write(entries)
    log.sync()
    log.keep()


def kept(directory: Path, *groups: Sequence[ArchiveEntry], **changes: Any) -> None:
    """A log that has these groups, and is closed."""
    log = store(directory, **changes)
    for group in groups:
        keep(log, *group)
    log.close()
