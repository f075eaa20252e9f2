"""Settings of fetching: identity of the crawler, timeouts, sizes, memory."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.config.readers import Nameserver, choice, nameservers, real, subset, whole
from webcrawl.config.setting import DAY, MIB, setting

BROWSER_TYPES = (
    "document",
    "eventsource",
    "fetch",
    "font",
    "image",
    "manifest",
    "media",
    "other",
    "ping",
    "script",
    "stylesheet",
    "texttrack",
    "xhr",
)
"""Playwright's names for what a page can load."""


@dataclass(frozen=True, kw_only=True)
class FetchingSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    concurrent_requests: int = setting(
        whole(1, 100_000),
        256,
        "requests",
        "Maximum number of requests that are open, or fetched and not yet durable.",
    )
    dns_nameservers: tuple[Nameserver, ...] = setting(
        nameservers(), [], "", "Name servers. If empty, those of the system."
    )
    download_timeout: float = setting(
        real(0.1, DAY),
        60,
        "seconds",
        "Longest time for one request. The part of the body that has arrived by then is kept.",
    )
    download_connect_timeout: float = setting(
        real(0.1, DAY),
        30,
        "seconds",
        "Longest time until a request can be sent: name resolution, connection, TLS.",
    )
    download_idle_connections: int = setting(
        whole(0, 1_000_000),
        1024,
        "connections",
        "Maximum number of connections that are kept open for a next request, and at most half of the "
        "files that the process may open. Each is kept as long as its server keeps it (5 s if the "
        "server does not say, at most 30 s).",
    )
    download_tls_sessions: int = setting(
        whole(0, 1_000_000, zero="none is resumed"),
        2000,
        "hosts",
        "Maximum number of hosts whose TLS session is kept, so that a next connection resumes it. A session takes "
        "about 12 KB.",
    )
    download_http2: str = setting(
        choice("never", "needed", "offer"),
        "needed",
        "",
        "HTTP/2 on https: never; for servers that do not answer HTTP/1.1, which are asked once; or for all "
        "servers that have it. One request at a time in every case.",
    )
    download_maxsize: int = setting(whole(1024, 1 << 40), MIB, "bytes", "Size at which a body is cut.")
    download_text_maxsize: int = setting(
        whole(0, 1 << 40, zero="as DOWNLOAD_MAXSIZE"),
        8 * MIB,
        "bytes",
        "Size up to which HTML is read for its links and text, if that is more than the archive keeps.",
    )
    bandwidth_max: int = setting(
        whole(0, 1 << 50, zero="no limit"),
        0,
        "bytes per second",
        "Maximum rate at which the crawl receives data, over all connections and all workers on a Redis: heads "
        "and bodies as they arrive, of all kinds of requests. webcrawl then reads connections more slowly and "
        "begins fewer requests.",
    )
    body_memory_bytes: int = setting(
        whole(1 << 16, 1 << 50),
        256 * MIB,
        "bytes",
        "Memory for all bodies together, from the first byte until they are archived.",
    )
    browser_resource_types: tuple[str, ...] = setting(
        subset(*BROWSER_TYPES),
        ["document", "fetch", "script", "stylesheet", "xhr"],
        "",
        "Types of resources that a page in the browser may load besides its document. Others are blocked. "
        "`document` means frames, and pages to which a script leads.",
    )
    browser_embeds_max: int = setting(
        whole(0, 100_000, zero="none"),
        100,
        "requests",
        "Maximum number of requests of one page in the browser, besides that for its document.",
    )
    ftp_tls: str = setting(
        choice("never", "try", "require"),
        "never",
        "",
        "TLS on connections for `ftp` URLs (AUTH TLS): never, if the server has it, or always. `ftps` "
        "URLs always use it.",
    )
    download_announced_maxsize: int = setting(
        whole(0, 1 << 50, zero="no limit"),
        32 * MIB,
        "bytes",
        "A body with a larger announced size is not read.",
    )
