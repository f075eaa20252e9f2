"""Does the path end in the name of something that is never a page?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import re2

from webcrawl.scope.useless_extensions import USELESS_EXTENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.scope.links import Links
    from webcrawl.scope.rule import Candidate

KEPT_ENDINGS = (".xml.gz", ".txt.gz")
"""Packed sitemaps (sitemaps.org, "Sitemap file"), although ``gz`` says archive."""


class ExtensionRule:
    """Refuses URLs whose path ends in one of these extensions, in any case; the query does not count."""

    name = "extension"

    def __init__(self, extensions: Iterable[str] = USELESS_EXTENSIONS) -> None:
        self._refused = frozenset([extension.strip().lstrip(".").lower() for extension in extensions]) - {""}
        # Finds one in a query too: those links are looked at one by one.
        endings = "|".join(map(re2.escape, sorted(self._refused)))
        self._ending = re2.compile(rf"(?im)\.(?:{endings})(?:\?|$)") if endings else None

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
        return self._ending is None or self._ending.search(links.lines) is None
