"""What the judges read: the log of the web, what happened to the crawl, and the files that it left."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

from tests.fakeweb.log import Hit, read_log

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gauntlet.web.site import Site

ACCESS, WIRES, BOUND, RUN = "access.jsonl", "wires.jsonl", "bound.json", "run.json"


@dataclass(slots=True)
class Run:
    """How a crawl went, as the system tells it."""

    crawler: str = ""
    seconds: float = 0.0
    exit_statuses: list[int] = field(default_factory=list)
    """Of the last processes that were started; empty where none are known."""
    ended: bool = True
    """Whether it ended by itself, within the time it had."""
    peak_bytes: int = 0
    """The most memory that all its processes had together."""
    kills: list[float] = field(default_factory=list)
    """When it was killed, by the monotonic clock of the machine."""
    delay_seconds: float = 0.0
    """The delay between two requests to a host that it was told to keep."""
    request_seconds: float = 0.0
    """The longest time for one request that it was told."""
    redirects: int = 0
    """The most redirects in a row that it was told to follow."""
    can: list[str] = field(default_factory=list)
    """What the crawler has an option for; see ``crawlers.base.Crawler``."""
    jobdirs: list[str] = field(default_factory=list)
    """Folders with the files that webcrawl's contract names."""
    files: list[str] = field(default_factory=list)
    """Folders with everything that the crawl wrote."""

    def to_json(self) -> str:
        """Return it as one JSON object."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what ``to_json`` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class Trip:
    """A connection to a wire: somebody contacted what is no part of the web."""

    wire: str
    at_mono: float
    first: str
    """The first bytes that came, or nothing."""


@dataclass(slots=True)
class Evidence:
    """All that is known of one subject in one crawl."""

    site: Site
    hits: list[Hit]
    """The requests to this site's hosts, in the order of their arrival."""
    trips: list[Trip]
    run: Run
    folder: Path
    bound: list[str] = field(default_factory=list)
    """The wires that the system allowed to be watched."""

    @classmethod
    def read(cls, site: Site, folder: Path) -> Self:
        """Read what the server and the run have left in a folder."""
        access, wires, run = (folder / name for name in (ACCESS, WIRES, RUN))
        addresses = {host.address for host in site.hosts.values()}
        hits = [hit for hit in read_log(access) if hit.address in addresses] if access.exists() else []
        lines = wires.read_text().splitlines() if wires.exists() else []
        known = {wire.name for wire in site.wires}
        trips = [trip for trip in (Trip(**json.loads(line)) for line in lines) if trip.wire in known]
        told = Run.from_json(run.read_text()) if run.exists() else Run()
        bound = folder / BOUND
        return cls(site, hits, trips, told, folder, json.loads(bound.read_text()) if bound.exists() else [])

    def of(self, host: str) -> list[Hit]:
        """Return the requests to one host."""
        address = self.site.address(host)
        return [hit for hit in self.hits if hit.address == address]

    def paths(self, host: str) -> Counter[str]:
        """Return how often each path of a host was requested, robots.txt excepted."""
        return Counter(hit.path for hit in self.of(host) if not hit.is_robots)

    def by_host(self) -> dict[str, list[Hit]]:
        """Return the requests to each host that got one."""
        hosts: dict[str, list[Hit]] = defaultdict(list)
        names = {host.address: host.name for host in self.site.hosts.values()}
        for hit in self.hits:
            hosts[names[hit.address]].append(hit)
        return hosts

    def missed(self, *hosts: str) -> list[str]:
        """Return the wanted paths (with their hosts) that were never requested."""
        return [
            name + path
            for name in hosts or self.site.hosts
            for path in sorted(self.site.hosts[name].wanted - set(self.paths(name)))
        ]

    def trespassed(self, *hosts: str) -> list[str]:
        """Return the forbidden paths (with their hosts) that were requested."""
        return [
            name + path
            for name in hosts or self.site.hosts
            for path in self.paths(name)
            if self.site.hosts[name].forbidden and path.startswith(self.site.hosts[name].forbidden)
        ]

    def log_lines(self) -> list[dict[str, Any]]:
        """Return the lines of all fetch.jsonl of the crawl."""
        return [
            json.loads(line)
            for folder in self.run.jobdirs
            for path in sorted((self.folder / folder).glob("fetch.jsonl*"))
            for line in unpacked(path).splitlines()
        ]

    def warc_records(self) -> Iterator[tuple[str, str]]:
        """Yield type and target URI of each record of the crawl's WARC files."""
        for folder in self.run.jobdirs:
            for path in sorted((self.folder / folder / "warc").glob("*.warc.gz*")):
                yield from records_of(unpacked(path))


def unpacked(path: Path) -> bytes:
    """Return the content of a file, decompressed if it is gzip."""
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def records_of(warc: bytes) -> Iterator[tuple[str, str]]:
    """Yield type and target URI of each record of a decompressed WARC file (WARC 1.1, section 4)."""
    at = 0
    while (end := warc.find(b"\r\n\r\n", at)) >= 0:
        fields = {}
        for line in warc[at:end].split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            fields[name.strip().lower()] = value.strip().decode()
        yield fields[b"warc-type"], fields.get(b"warc-target-uri", "")
        at = end + 4 + int(fields[b"content-length"]) + 4
