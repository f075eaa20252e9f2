"""The rules that decide by the URL itself: its scheme, length, depth, path, extension, host, top-level domain and
site.

``USELESS_EXTENSIONS`` lists extensions of documents that this crawler cannot read. Those of documents that it reads
in some crawls are in ``DOCUMENT_TYPES``, with their types. Neither has those of pages of any program, and of XML,
which may be a page, a feed or a sitemap; nor ``com``, ``ai``,
``app``, ``au``, ``br``, ``so`` and the like: URLs of pages about a domain end in its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from webcrawl.scope.scope import Candidate, LinkBatch
from webcrawl.urls.politeness_key import get_host, registrable_domain
from webcrawl.urls.schemes import WEB_SCHEMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webcrawl.scope.scope import Candidate, LinkBatch


class PatternError(ValueError):
    """An invalid regular expression; the message describes the error and its position."""


class AllowRule:
    """Refuses URLs that a regular expression does not match (``re.search``)."""

    name = "allow"

    def __init__(self, pattern: str) -> None:
        try:
            self._finds = re.compile(pattern).search
        except re.error as error:
            where = "" if error.pos is None else f" at position {error.pos}"
            raise PatternError(f"{pattern!r} is no regular expression: {error.msg}{where}") from error
        except (OverflowError, RecursionError) as error:
            raise PatternError(f"{pattern!r} is too much for a regular expression: {error}") from error
        self._detail = f"no match for {pattern}"

    def refuses(self, candidate: Candidate) -> str | None:
        return None if self._finds(candidate.url) else self._detail


REMEMBERED_HOSTS = 65_536


class ContactRule:
    """Refuses hosts of the public web, for crawls whose User-Agent has no contact."""

    name = "contact"

    def __init__(self, is_public: Callable[[str], bool]) -> None:
        self._is_public = lru_cache(REMEMBERED_HOSTS)(is_public)

    def refuses(self, candidate: Candidate) -> str | None:
        if self._is_public(candidate.host):
            return "a public host, and no contact in the User-Agent; set CRAWLER_CONTACT"
        return None

    def refuses_none(self, links: LinkBatch) -> bool:
        return not any(map(self._is_public, links.different_hosts))


class DepthRule:
    """Refuses URLs more than ``limit`` links away from every seed; 0 refuses none."""

    name = "depth"

    def __init__(self, limit: int = 0) -> None:
        self._limit = limit or float("inf")

    def refuses(self, candidate: Candidate) -> str | None:
        return None if candidate.depth <= self._limit else f"depth {candidate.depth}, {self._limit} allowed"

    def refuses_none(self, links: LinkBatch) -> bool:
        return links.depth <= self._limit


DEFAULT_LIMIT_BYTES = 2083


class LengthRule:
    """Refuses URLs longer than ``limit_bytes``; 0 refuses none. A resolved URL is ASCII."""

    name = "length"

    def __init__(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self._limit = limit_bytes or float("inf")

    def refuses(self, candidate: Candidate) -> str | None:
        length = len(candidate.url)
        return None if length <= self._limit else f"{length} bytes, {self._limit} allowed"

    def refuses_none(self, links: LinkBatch) -> bool:
        return max(map(len, links.urls), default=0) <= self._limit


class OffsiteRule:
    """Refuses hosts that are neither one of the named domains nor a subdomain of one: Scrapy's
    ``allowed_domains``.
    """

    name = "offsite"

    def __init__(self, domains: Iterable[str]) -> None:
        self._domains = frozenset(domain.lower().strip(".") for domain in domains)

    def refuses(self, candidate: Candidate) -> str | None:
        return None if self._covers(candidate.host) else "not in allowed_domains"

    def refuses_none(self, links: LinkBatch) -> bool:
        return all(map(self._covers, links.different_hosts))

    def _covers(self, host: str) -> bool:
        labels = host.rstrip(".").split(".")
        return any(".".join(labels[start:]) in self._domains for start in range(len(labels)))


LONGEST_PERIOD = 4
"""The longest sequence of segments whose repetition is detected: ``/a/b/c/d/a/b/c/d/...``."""


class RepeatsRule:
    """Refuses URLs in whose path a sequence of one to four segments occurs more than ``limit`` times in a row.

    Such paths arise from relative links that are resolved against the page they are on, again and again.
    """

    name = "path-repeats"

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def refuses(self, candidate: Candidate) -> str | None:
        path = candidate.url.partition("?")[0]
        # Two slashes come before the path. Most paths are too short for so many repetitions.
        if path.count("/") - 2 <= self._limit:
            return None
        segments = path.split("/")[3:]
        for period in range(1, LONGEST_PERIOD + 1):
            if _repeats(segments, period) > self._limit:
                return f"{period} segments {self._limit + 1} times in a row or more"
        return None

    def refuses_none(self, links: LinkBatch) -> bool:
        return links.slashes_most - 2 <= self._limit


def _repeats(segments: Sequence[str], period: int) -> int:
    """Return the largest number of times that the same ``period`` segments occur in a row."""
    most = same = 0
    for at in range(period, len(segments)):
        same = same + 1 if segments[at] == segments[at - period] else 0
        most = max(most, same)
    return most // period + 1


class SchemeRule:
    """Refuses URLs of all schemes except these."""

    name = "scheme"

    def __init__(self, schemes: Iterable[str] = WEB_SCHEMES) -> None:
        self._beginnings = tuple([f"{scheme.lower()}:" for scheme in schemes])
        self._has_web = {f"{scheme}:" for scheme in WEB_SCHEMES} <= set(self._beginnings)

    def refuses(self, candidate: Candidate) -> str | None:
        if candidate.url.startswith(self._beginnings):
            return None
        return candidate.url.partition(":")[0][:20]

    def refuses_none(self, links: LinkBatch) -> bool:
        # Links of other schemes than those of the crawl are not taken at all.
        return self._has_web or all(url.startswith(self._beginnings) for url in links.urls)


class SegmentsRule:
    """Refuses URLs whose path has more than ``limit`` segments; ``/a/b/`` and ``/a/b`` have two."""

    name = "path-segments"

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def refuses(self, candidate: Candidate) -> str | None:
        path = candidate.url.partition("?")[0]
        # Two slashes come before the host, and one begins the path.
        segments = path.count("/") - 2 - path.endswith("/")
        return None if segments <= self._limit else f"{segments} segments, {self._limit} allowed"

    def refuses_none(self, links: LinkBatch) -> bool:
        return links.slashes_most - 2 <= self._limit


Site = Literal["domain", "host"]
SITES: tuple[Site, ...] = ("domain", "host")


class StayRule:
    """Refuses links from one site to another, so that every page is on the site of the seed it was reached from.

    The rule is applied link by link: a page on the seed's site leads only to pages on it. So URLs do not store their
    seed, and a restart or another process decides the same. The target of a seed's redirect is where its crawl
    begins: the rule has no objection to it, and pages reached from it must stay on that site.
    """

    name = "stay"

    def __init__(self, site: Site) -> None:
        """``site``: hosts of one registrable domain are one site, or each host is."""
        named = registrable_domain if site == "domain" else _host_alone
        self._site = lru_cache(REMEMBERED_HOSTS)(named)
        self._detail = f"another {site} than the page that leads there"

    def refuses(self, candidate: Candidate) -> str | None:
        own = self._page_site(candidate.linked_from)
        return None if own is None or self._site(candidate.host) == own else self._detail

    def refuses_none(self, links: LinkBatch) -> bool:
        own = self._page_site(links.linked_from)
        return own is None or all(self._site(host) == own for host in links.different_hosts)

    def _page_site(self, page: str | None) -> str | None:
        """Return the site of a page; None if the operator named the URL, or if the page has no host."""
        if page is None or "://" not in page:
            return None
        return self._site(get_host(page))


def _host_alone(host: str) -> str:
    return host.rstrip(".")


class TopLevelRule:
    """Refuses hosts whose name does not end in one of these: ``de``, ``gov.uk``. An address has no such ending."""

    name = "top-level-domain"

    def __init__(self, domains: Iterable[str]) -> None:
        self._endings = tuple(f".{domain.strip('.').lower()}" for domain in domains)

    def refuses(self, candidate: Candidate) -> str | None:
        host = candidate.host.rstrip(".")
        return None if host.endswith(self._endings) else f"{host} is not under {', '.join(self._endings)}"

    def refuses_none(self, links: LinkBatch) -> bool:
        return all(host.rstrip(".").endswith(self._endings) for host in links.different_hosts)


IMAGES = """
    3fr apng arw avif bmp cdr cr2 cr3 cur dds dng drw dxf emf eps gif heic heif icns ico indd j2k jfif jp2 jpe
    jpeg jpg jxl mng nef orf pbm pct pcx pgm png pnm ppm psd psp ras raw rw2 sketch svg svgz tga tif tiff wbmp
    webp wmf xbm xcf xpm
"""
AUDIO = """
    aac ac3 aif aifc aiff amr ape caf dts flac gsm m3u m3u8 m4a m4b m4p m4r mid midi mka mod mp2 mp3 mpa mpc
    mpga oga ogg opus pls ra ram rm snd spx voc wav weba wma wv xm
"""
VIDEO = """
    3g2 3gp 3gpp asf asx avi divx f4v flv m1v m2ts m2v m4v mkv mng mov mp4 mpe mpeg mpg mpv mts mxf ogm ogv qt
    rmvb srt ssa sub swf ts vob vtt webm wmv
"""
ARCHIVES = """
    7z ace alz arc arj ark bz bz2 bzip2 cab cpio deb egg gz gzip ipk jar lha lz lz4 lzh lzma lzo pea rar rpm
    s7z shar sit sitx snap tar taz tbz tbz2 tgz tlz txz tzst udeb war warc whl xar xz z zip zipx zoo zst zstd
"""
EXECUTABLES = """
    apk appimage appx bat bin class cmd crx dll dmg elf exe hex img ipa iso jnlp mdf msi msix msp msu
    nrg o obj ocx pkg pyc pyd rom scr sys toast torrent vhd vhdx vmdk vxd xpi
"""
FONTS = "eot fnt fon otf pfa pfb ttc ttf woff woff2"
PAGE_PARTS = "css less sass scss js mjs cjs jsx tsx map wasm json jsonld webmanifest htc vcf ics cur ani"
OFFICE = """
    doc docm docx dot dotm dotx key mdb accdb mpp numbers odb odf odg odp ods odt pages pot potm potx pps ppsm
    ppsx ppt pptm pptx rtf sxc sxi sxw vsd vsdx wpd wps xla xls xlsb xlsm xlsx xlt xltx epub mobi azw azw3
    djvu lit fb2
"""
DATA = """
    3dm 3ds blend dae db dbf dem dwg fbx fits gdb geojson gltf glb gpx h5 hdf hdf5 kml kmz las laz mat mbtiles
    npy npz parquet pickle pkl pmtiles rdata rds sav shp skp sqlite sqlite3 stl step stp
"""
SIGNATURES = "asc crt cer der md5 p12 p7s pem pfx sha1 sha256 sha512 sig"

_GROUPS = (IMAGES, AUDIO, VIDEO, ARCHIVES, EXECUTABLES, FONTS, PAGE_PARTS, OFFICE, DATA, SIGNATURES)

USELESS_EXTENSIONS: tuple[str, ...] = tuple(sorted({word for group in _GROUPS for word in group.split()}))
"""All extensions, in lower case and without the dot."""


DOCUMENT_TYPES: dict[str, tuple[str, ...]] = {
    "pdf": ("application/pdf", "application/x-pdf"),
    "ps": ("application/postscript",),
    "dvi": ("application/x-dvi",),
    "jsonl": ("application/jsonl", "application/x-ndjson"),
    "ndjson": ("application/x-ndjson",),
    "txt": ("text/plain",),
    "csv": ("text/csv", "text/plain"),
    "tsv": ("text/tab-separated-values", "text/plain"),
}
"""Extensions of documents without links that a crawl may read, with the types that servers give them. Names of source
files (``md``, ``yaml``, ``py``) are not among them: on many sites they are names of pages.
"""

KEPT_ENDINGS = (".xml.gz", ".txt.gz", "sitemap.txt")
"""Sitemaps (sitemaps.org, "Sitemap file"), although ``gz`` is an archive and no crawl need read plain text."""


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
        # A dot before the last slash gives a text with a slash in it, which is no extension.
        if extension not in self._refused or url.lower().endswith(KEPT_ENDINGS):
            return None
        return f".{extension}"

    def refuses_none(self, links: LinkBatch) -> bool:
        urls = links.urls
        if "?" in links.lines:
            urls = [url.partition("?")[0] for url in urls]
        # A regular expression is not faster, and RE2 releases the GIL, for which other threads are waiting.
        return self._refused.isdisjoint([url.rpartition(".")[2].lower() for url in urls])


NOT_FOR_EMBEDS = frozenset(
    {
        *(
            AllowRule.name,
            DepthRule.name,
            ExtensionRule.name,
            OffsiteRule.name,
            StayRule.name,
            TopLevelRule.name,
        ),
        *("allow-file", "whitelist"),
    }
)
"""The names of the rules that say which pages belong to a crawl. What these embed belongs to it, wherever it is."""
