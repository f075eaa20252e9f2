"""Does the path end in the name of something that is never a page?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.scope.useless_extensions import USELESS_EXTENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.scope.candidate import Candidate
    from webcrawl.scope.links import Links

KEPT_ENDINGS = (".xml.gz", ".txt.gz")
"""Packed sitemaps (sitemaps.org, "Sitemap file"), although ``gz`` says archive."""


class ExtensionRule:
    """Refuses URLs whose path ends in one of these extensions, in any case; the query does not count."""

    name = "extension"

    def __init__(self, extensions: Iterable[str] = USELESS_EXTENSIONS) -> None:
        self._refused = frozenset([extension.strip().lstrip(".").lower() for extension in extensions]) - {""}

    def refuses(self, candidate: Candidate) -> str | None:
        url = candidate.url
        if "?" in url:
            url = url[: url.index("?")]
        extension = url[url.rfind(".") + 1 :].lower()
        # A dot before the last slash gives something with a slash in it, which is no extension.
        if extension not in self._refused or url.lower().endswith(KEPT_ENDINGS):
            return None
        return f".{extension}"

    def refuses_none(self, links: Links) -> bool:
        urls = links.urls
        if "?" in links.lines:
            urls = [url.partition("?")[0] for url in urls]
        # No expression is faster, and those of RE2 give up Python's lock, for which other threads are waiting.
        return self._refused.isdisjoint([url.rpartition(".")[2].lower() for url in urls])
