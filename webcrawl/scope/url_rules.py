"""Does the URL look like what the operator wants to see?

A crawl that nobody answers for stays off the public web.

Is the URL near enough to the seeds?

Is the URL of a length that servers and people deal in, or does something generate it?

The sites that a spider names itself, Scrapy's ``allowed_domains``.

Does the path say the same again and again, as links do that are resolved against the page they stand on?

Is the URL of a kind that this crawl can fetch?

Is the path as deep as paths are that somebody made, or does it grow by itself?

Does the link stay on the site of the page that it is on?

Is the host under one of the top-level domains of this crawl?

Does the path end in the name of something that is never a page?

Extensions behind which no document is found that this crawler reads.

What may hold text and links is not here: pages by whatever program, PDF, feeds and sitemaps, plain text.
Neither are ``com``, ``ai``, ``app``, ``au``, ``br``, ``so`` and the like: pages about a domain end in its
name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from webcrawl.scope.scope import Candidate, Links
from webcrawl.urls.politeness_key import host_of, registrable_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webcrawl.scope.scope import Candidate, Links


class PatternError(ValueError):
    """A regular expression that is none; the message says what is wrong and where."""


class AllowRule:
    """Refuses URLs in which a regular expression finds nothing (``re.search``)."""

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
    """Refuses hosts of the public web. For crawls whose User-Agent names no contact."""

    name = "contact"

    def __init__(self, is_public: Callable[[str], bool]) -> None:
        self._is_public = lru_cache(REMEMBERED_HOSTS)(is_public)

    def refuses(self, candidate: Candidate) -> str | None:
        if self._is_public(candidate.host):
            return "a public host, and no contact in the User-Agent; set CRAWLER_CONTACT"
        return None

    def refuses_none(self, links: Links) -> bool:
        return not any(map(self._is_public, links.different_hosts))


class DepthRule:
    """Refuses URLs more than ``limit`` links away from every seed; 0 refuses none."""

    name = "depth"

    def __init__(self, limit: int = 0) -> None:
        self._limit = limit or float("inf")

    def refuses(self, candidate: Candidate) -> str | None:
        return None if candidate.depth <= self._limit else f"depth {candidate.depth}, {self._limit} allowed"

    def refuses_none(self, links: Links) -> bool:
        return links.depth <= self._limit


DEFAULT_LIMIT_BYTES = 2083


class LengthRule:
    """Refuses URLs of more than ``limit_bytes``; 0 refuses none. A resolved URL is ASCII."""

    name = "length"

    def __init__(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self._limit = limit_bytes or float("inf")

    def refuses(self, candidate: Candidate) -> str | None:
        length = len(candidate.url)
        return None if length <= self._limit else f"{length} bytes, {self._limit} allowed"

    def refuses_none(self, links: Links) -> bool:
        return max(map(len, links.urls), default=0) <= self._limit


class OffsiteRule:
    """Refuses hosts that are neither one of the named domains nor below one."""

    name = "offsite"

    def __init__(self, domains: Iterable[str]) -> None:
        self._domains = frozenset(domain.lower().strip(".") for domain in domains)

    def refuses(self, candidate: Candidate) -> str | None:
        return None if self._covers(candidate.host) else "not in allowed_domains"

    def refuses_none(self, links: Links) -> bool:
        return all(map(self._covers, links.different_hosts))

    def _covers(self, host: str) -> bool:
        labels = host.rstrip(".").split(".")
        return any(".".join(labels[start:]) in self._domains for start in range(len(labels)))


LONGEST_PERIOD = 4
"""Segments that are said again together: ``/a/b/c/d/a/b/c/d/...``."""


class RepeatsRule:
    """Refuses URLs in whose path one to four segments stand more than ``limit`` times in a row."""

    name = "path-repeats"

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def refuses(self, candidate: Candidate) -> str | None:
        path = candidate.url.partition("?")[0]
        # Two slashes stand before the host. Most paths are too short to say anything so often.
        if path.count("/") - 2 <= self._limit:
            return None
        segments = path.split("/")[3:]
        for period in range(1, LONGEST_PERIOD + 1):
            if _repeats(segments, period) > self._limit:
                return f"{period} segments {self._limit + 1} times in a row or more"
        return None

    def refuses_none(self, links: Links) -> bool:
        return links.slashes_most - 2 <= self._limit


def _repeats(segments: Sequence[str], period: int) -> int:
    """How often the same ``period`` segments stand in a row at most."""
    most = same = 0
    for at in range(period, len(segments)):
        same = same + 1 if segments[at] == segments[at - period] else 0
        most = max(most, same)
    return most // period + 1


DEFAULT_SCHEMES = ("http", "https")


class SchemeRule:
    """Refuses URLs of every scheme but these."""

    name = "scheme"

    def __init__(self, schemes: Iterable[str] = DEFAULT_SCHEMES) -> None:
        self._beginnings = tuple([f"{scheme.lower()}:" for scheme in schemes])
        self._has_web = {f"{scheme}:" for scheme in DEFAULT_SCHEMES} <= set(self._beginnings)

    def refuses(self, candidate: Candidate) -> str | None:
        if candidate.url.startswith(self._beginnings):
            return None
        return candidate.url.partition(":")[0][:20]

    def refuses_none(self, links: Links) -> bool:
        # Nothing else is ever resolved.
        return self._has_web or all(url.startswith(self._beginnings) for url in links.urls)


class SegmentsRule:
    """Refuses URLs whose path has more than ``limit`` segments; ``/a/b/`` and ``/a/b`` have two."""

    name = "path-segments"

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def refuses(self, candidate: Candidate) -> str | None:
        path = candidate.url.partition("?")[0]
        # Two slashes stand before the host, and one begins the path.
        segments = path.count("/") - 2 - path.endswith("/")
        return None if segments <= self._limit else f"{segments} segments, {self._limit} allowed"

    def refuses_none(self, links: Links) -> bool:
        return links.slashes_most - 2 <= self._limit


Site = Literal["domain", "host"]
SITES: tuple[Site, ...] = ("domain", "host")


class StayRule:
    """Refuses links from one site to another, so that every page is on the site of the seed it was reached from.

    That follows link by link: a page on the seed's site leads only to pages on it. So no URL carries its seed with
    it, and a restart or another process decides the same. Where a seed redirects to is where its crawl begins: there
    the rule has no objection, and what is reached from there stays on that site.
    """

    name = "stay"

    def __init__(self, site: Site) -> None:
        """``site``: hosts of one registrable domain are one site, or each host is."""
        named = registrable_domain if site == "domain" else _host_alone
        self._site = lru_cache(REMEMBERED_HOSTS)(named)
        self._detail = f"another {site} than the page that leads there"

    def refuses(self, candidate: Candidate) -> str | None:
        own = self._site_of(candidate.linked_from)
        return None if own is None or self._site(candidate.host) == own else self._detail

    def refuses_none(self, links: Links) -> bool:
        own = self._site_of(links.linked_from)
        return own is None or all(self._site(host) == own for host in links.different_hosts)

    def _site_of(self, page: str | None) -> str | None:
        """The site of a page; None where the operator named the URL, or what leads there is no page of the web."""
        if page is None or not page.startswith("http"):
            return None
        return self._site(host_of(page))


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

    def refuses_none(self, links: Links) -> bool:
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
"""All of them, in lower case and without the dot."""


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
