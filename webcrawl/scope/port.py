"""The rules on the port of a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.urls.politeness_key import get_port
from webcrawl.urls.schemes import DEFAULT_PORTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.scope.scope import Candidate, LinkBatch

# fmt: off
BAD_PORTS = frozenset((
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
    532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
    5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
))
# fmt: on
"""Ports of other services than the web, which may misinterpret a request (WHATWG Fetch, section "Port blocking", "bad
port"): browsers refuse them too.
"""


COMMAND_PORTS = frozenset((
    2375, 2525, 3306, 4369, 5432, 5672, 6379, 6380, 9042, 9200, 9300, 11211, 26379, 27017, 27018, 27019,
))  # fmt: skip
"""Ports of databases, caches and message brokers that are often without a password, and that browsers do not
refuse: by a link to one the crawl would send it text that the link's author chose. By number: Docker's API, SMTP
submission, MySQL, Erlang (epmd), PostgreSQL, AMQP, Redis (and with TLS), Cassandra, Elasticsearch (HTTP and
transport), memcached, Redis Sentinel, MongoDB.
"""


class BadPortRule:
    """Refuses the ports that browsers refuse and those of ``COMMAND_PORTS``, unless the operator allowed them for all
    hosts, or for one by a seed.
    """

    name = "bad-port"

    def __init__(self, allowed: Iterable[int] = ()) -> None:
        """``allowed``: ports that the operator allowed for all hosts."""
        self._bad = (BAD_PORTS | COMMAND_PORTS) - frozenset(allowed)
        self._seeded: set[tuple[str, int]] = set()

    def is_bad(self, url: str) -> bool:
        """Return True if this URL needs the operator's permission. The default port of its scheme needs none."""
        return (port := get_port(url)) in self._bad and port != DEFAULT_PORTS.get(url.partition(":")[0])

    def allow_seed(self, host: str, port: int) -> None:
        """Allow a port for the host of a seed."""
        self._seeded.add((host.rstrip("."), port))

    def refuses(self, candidate: Candidate) -> str | None:
        if not self.is_bad(candidate.url):
            return None
        port = get_port(candidate.url)
        return (
            None if (candidate.host.rstrip("."), port) in self._seeded else f"port {port} is of no web server"
        )

    def refuses_none(self, links: LinkBatch) -> bool:
        bad = self._bad
        return not any(port in bad for port in links.different_ports)


class PortRule:
    """Refuses URLs with another port than these; a URL without one has its scheme's: 80, 443, 21 and so on."""

    name = "port"

    def __init__(self, ports: Iterable[int]) -> None:
        self._ports = frozenset(ports)
        self._has_usual = self._ports >= {80, 443}

    def refuses(self, candidate: Candidate) -> str | None:
        port = get_port(candidate.url)
        return None if port in self._ports else f"port {port}"

    def refuses_none(self, links: LinkBatch) -> bool:
        if not self._has_usual or not self._ports.issuperset(links.different_ports):
            return False
        return all(url.startswith("http") for url in links.urls)
