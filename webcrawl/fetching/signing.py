"""The place of the signer of requests: a feature provides it, and the download handler calls it for each head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class HeadSigner(Protocol):
    """Signs the heads of requests."""

    def head_fields(self, method: str, scheme: str, authority: str, path: str, now: float) -> bytes:
        """Return the lines to add to the head of one request, each with its line break. It must not wait."""


_signers: WeakKeyDictionary[Crawler, HeadSigner] = WeakKeyDictionary()


def sign_requests(crawler: Crawler, signer: HeadSigner) -> None:
    """Let ``signer`` sign each request of a crawl over HTTP from now on."""
    _signers[crawler] = signer


def find_signer(crawler: Crawler) -> HeadSigner | None:
    """Return the signer of a crawl; None if its requests are not signed."""
    return _signers.get(crawler)
