"""Settings of fetching: who asks, for how long, how much."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.config.readers import Nameserver, addresses, nameservers, real, text, whole
from webcrawl.config.setting import DAY, MIB, setting


@dataclass(frozen=True, kw_only=True)
class FetchingSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    user_agent: str = setting(text(), "", "", "who asks; empty for webcrawl/VERSION (+CRAWLER_CONTACT)")
    crawler_contact: str = setting(
        text("a web or e-mail address"), "", "", "where a site owner learns about the crawl or complains"
    )
    botpage_contact: str = setting(
        text("a web or e-mail address"), "", "", "whom `scrapy botpage` names; if unset CRAWLER_CONTACT"
    )
    botpage_addresses: tuple[str, ...] = setting(
        addresses(), [], "", "where the crawler comes from, for that page"
    )
    botpage_purpose: str = setting(text(), "", "", "what the crawler does and why, for that page")
    botpage_answer: str = setting(text(), "", "", "how site owners are answered, for that page")
    concurrent_requests: int = setting(whole(1, 100_000), 256, "requests", "most requests open at a time")
    dns_nameservers: tuple[Nameserver, ...] = setting(nameservers(), [], "", "empty for the system's own")
    download_timeout: float = setting(real(0.1, DAY), 60, "seconds", "longest time for one request")
    download_connect_timeout: float = setting(
        real(0.1, DAY), 30, "seconds", "longest time until a request can be sent: name, connection, TLS"
    )
    download_idle_connections: int = setting(
        whole(0, 1_000_000),
        1024,
        "connections",
        "most kept open for a next request, each while its server keeps it (5 s if it does not say, at most 30), "
        "and no more than half of the files that a process may have open",
    )
    download_maxsize: int = setting(whole(1024, 1 << 40), MIB, "bytes", "where a body is cut")
    download_text_maxsize: int = setting(
        whole(0, 1 << 40, zero="as DOWNLOAD_MAXSIZE"),
        8 * MIB,
        "bytes",
        "how far HTML is read for its links and its text, where that is more than the archive has of it",
    )
    body_memory_bytes: int = setting(
        whole(1 << 16, 1 << 50),
        256 * MIB,
        "bytes",
        "of memory for all bodies together, from the first byte until they are archived",
    )
    download_announced_maxsize: int = setting(
        whole(0, 1 << 50, zero="no limit"),
        32 * MIB,
        "bytes",
        "a body announced as longer is not read at all",
    )
