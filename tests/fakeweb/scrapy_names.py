"""Lets plain Scrapy reach the fake web where the system knows no *.localhost.

RFC 6761 reserves these names for loopback, but the C library leaves that to name servers, and a machine
without one knows "localhost" alone. A Scrapy that is to be compared with takes this setting:

    TWISTED_DNS_RESOLVER = "tests.fakeweb.scrapy_names.LoopbackResolver"

It needs no thread and no look-up, so it costs that Scrapy less than the resolver it replaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.resolver import CachingThreadedResolver
from twisted.internet import defer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twisted.internet.defer import Deferred


class LoopbackResolver(CachingThreadedResolver):
    """Scrapy's usual resolver, but that names below localhost and test are 127.0.0.1."""

    def getHostByName(self, name: str, timeout: Sequence[int] = ()) -> Deferred[str]:  # noqa: N802
        """Return the address of a name."""
        if name.endswith((".localhost", ".test")):
            return defer.succeed("127.0.0.1")
        return super().getHostByName(name, timeout)
