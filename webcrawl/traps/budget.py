"""How much of the pages may be read for the search of traps: a share of what is fetched, whatever the sites do.

Counted in characters, since the time that a page takes to read grows with these; nothing depends on a clock.
Every page that is fetched gives a little credit to its host and to the crawl, and a page is read when both can pay
for it. What a site has not spent is kept up to a limit, so that the first traps of a site are found at once.
"""

from __future__ import annotations

from collections import OrderedDict

LOOKED_AT = 1 << 16
"""Characters of a page that are looked at."""
PER_LOOK = 10_000
"""Characters that a page counts for beside those it has."""
PER_PAGE = 3_000
"""Credit that a page gives: of pages as long as most, every thirteenth may be read."""
HOST_MOST = 2_500_000
"""Credit that a host has at first, and can have: for 60 pages of 29 KB, or 200 short ones."""
CRAWL_MOST = 40_000_000
HOSTS_MAX = 10_000


class ReadingBudget:
    """The credit of a crawl and of its hosts; memory is bounded by the number of hosts."""

    def __init__(self) -> None:
        self._crawl = CRAWL_MOST
        self._hosts: OrderedDict[str, int] = OrderedDict()
        """Of the hosts that were met last."""

    def earn(self, host: str) -> None:
        """A page of a host was fetched."""
        self._crawl = min(self._crawl + PER_PAGE, CRAWL_MOST)
        self._hosts[host] = min(self._hosts.pop(host, HOST_MOST) + PER_PAGE, HOST_MOST)
        if len(self._hosts) > HOSTS_MAX:
            self._hosts.popitem(last=False)

    def pay(self, host: str, size: int) -> bool:
        """Whether a page of so many bytes may be read; then it is paid for."""
        price = PER_LOOK + min(size, LOOKED_AT)
        left = self._hosts.get(host, HOST_MOST)
        if price > left or price > self._crawl:
            return False
        self._crawl -= price
        self._hosts[host] = left - price
        return True

    def refill(self, host: str) -> None:
        """A trap of a host was found: the requests that are saved are worth what was read."""
        self._hosts[host] = HOST_MOST
