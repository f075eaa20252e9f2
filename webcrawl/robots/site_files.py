"""Files that are requested after the robots.txt of their origin, before its pages, and stored behind its text.

They are in a comment that no reader of robots.txt sees: one version, one age and one cache for all that is known
before a page of the origin is requested.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from webcrawl.robots.text import FILES_MARK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webcrawl.robots.rules import RobotsRules

BYTES_MAX = 256 * 1024
"""The longest file that is stored."""


class SiteFile(NamedTuple):
    """A file to request."""

    kind: str
    url: str


class SiteFileChoice(Protocol):
    """Chooses the files that a crawl requests (``features.usage.site_files``)."""

    def wanted(self, origin: str, text: str, rules: RobotsRules) -> Sequence[SiteFile]:
        """Return the files of an origin that its robots.txt allows to be requested."""
        ...


def with_files(text: str, bodies: Mapping[str, tuple[str, bytes]]) -> str:
    """Return the text of a robots.txt with the files behind it, by kind with their URLs. A robots.txt that has such a
    comment itself loses it."""
    text = text.partition(FILES_MARK)[0]
    if not bodies:
        return text
    stored = {kind: [url, body.decode("latin-1")] for kind, (url, body) in bodies.items()}
    return f"{text}{FILES_MARK}{json.dumps(stored)}"


def parted(text: str) -> tuple[str, dict[str, tuple[str, bytes]]]:
    """Return the text of a robots.txt, and the files that are stored behind it. Never raises."""
    own, mark, stored = text.partition(FILES_MARK)
    if not mark:
        return text, {}
    try:
        values: Any = json.loads(stored)
        bodies = {str(kind): (str(url), str(body).encode("latin-1")) for kind, (url, body) in values.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        # The comment is the site's own.
        return own, {}
    return own, bodies
