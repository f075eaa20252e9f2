"""The crawls of a software, and the judgement: it is asked again for every URL that was fetched or withheld."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.archive import fetchlog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.real.software import Served

PROJECT = Path(__file__).resolve().parents[2]
CRAWL_SECONDS = 1200.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result for one software."""

    software: str
    requests_without: int
    """Pages that were fetched without rules."""
    requests_with: int
    copies_without: int
    """Of these, those whose body came before."""
    copies_with: int
    withheld: int
    """URLs that DUST rules withheld."""
    lost: tuple[str, ...]
    """Of these, those whose body no fetched page has."""
    rules: tuple[str, ...]
    """The rules that are applied, each with the number of URLs that it withheld."""
    left: tuple[tuple[str, str], ...]
    """Copies that were fetched with rules, each with the page that came first."""

    @property
    def saved(self) -> float | None:
        """The share of the copies that were not fetched; None if there were none."""
        return 1 - self.copies_with / self.copies_without if self.copies_without else None

    def as_object(self) -> dict[str, object]:
        """Return it as plain values."""
        return {**asdict(self), "saved": self.saved}


class Bodies:
    """The digests of the bodies that a software gives, each asked for once."""

    def __init__(self, noise: bytes = b"") -> None:
        self._noise = re.compile(noise) if noise else None
        self._digests: dict[str, bytes | None] = {}

    def digest(self, url: str) -> bytes | None:
        """Return the digest of the body of a URL; None if there is no page."""
        if url not in self._digests:
            try:
                with urllib.request.urlopen(url, timeout=60) as response:
                    body = response.read() if self._noise is None else self._noise.sub(b"", response.read())
                    self._digests[url] = hashlib.sha256(body).digest()
            except (OSError, urllib.error.URLError, ValueError):
                self._digests[url] = None
        return self._digests[url]


def judge(name: str, served: Served, folder: Path, pages: int) -> Verdict:
    """Crawl a software without and with DUST rules, and compare.

    :raises subprocess.CalledProcessError: a crawl did not end well
    """
    without = _crawl(served, folder / "without", pages, learns=False)
    with_rules = _crawl(served, folder / "with", pages, learns=True)
    bodies = Bodies(served.noise)
    fetched = {digest for url in with_rules if (digest := bodies.digest(url)) is not None}
    withheld = _withheld(folder / "with" / "dust.db")
    lost = [url for url in withheld if (digest := bodies.digest(url)) is not None and digest not in fetched]
    return Verdict(
        name,
        len(without),
        len(with_rules),
        _copies(without, bodies),
        _copies(with_rules, bodies),
        len(withheld),
        tuple(sorted(lost)),
        _rules(folder / "with"),
        _left(with_rules, bodies),
    )


def _crawl(served: Served, jobdir: Path, pages: int, *, learns: bool) -> list[str]:
    """Crawl a software; return the URLs of the pages that were fetched, each once."""
    shutil.rmtree(jobdir, ignore_errors=True)
    origin = served.seed[: served.seed.index("/", 8)]
    settings = {
        "JOBDIR": jobdir,
        "DUST_LEARN": int(learns),
        "DUST_EQUALITY": "text" if served.noise else "body",
        "FETCH_PRIVATE_ADDRESSES": 1,
        # In which a page is processed before the next request begins.
        "POLITENESS_MIN_DELAY": 0.03,
        "POLITENESS_FACTOR": 0,
        "COMMIT_INTERVAL_SECONDS": 0,
        # The software is here: its wishes for the crawlers of others would leave nothing to judge.
        "ROBOTS_META_OBEY": 0,
        "ROBOTS_HEADER_OBEY": 0,
        "NOFOLLOW_RELS": "",
        "CLOSESPIDER_PAGECOUNT": pages,
        "LOG_LEVEL": "WARNING",
    }
    command = [Path(sys.executable).with_name("scrapy"), "crawl", "broad"]
    command += ["-a", f"seeds={served.seed}", "-a", f"allow=^{origin}/"]
    for name, value in settings.items():
        command += ["-s", f"{name}={value}"]
    jobdir.parent.mkdir(parents=True, exist_ok=True)
    with (jobdir.parent / f"{jobdir.name}.log").open("wb") as log:
        subprocess.run(command, cwd=PROJECT, check=True, stdout=log, stderr=log, timeout=CRAWL_SECONDS)
    lines = fetchlog.read(jobdir)
    return list(
        dict.fromkeys(line["url"] for line in lines if line["kind"] == "page" and line["status"] == 200)
    )


def _copies(urls: Iterable[str], bodies: Bodies) -> int:
    digests = [digest for url in urls if (digest := bodies.digest(url)) is not None]
    return len(digests) - len(set(digests))


def _left(urls: Iterable[str], bodies: Bodies) -> tuple[tuple[str, str], ...]:
    first: dict[bytes, str] = {}
    pairs = []
    for url in urls:
        digest = bodies.digest(url)
        if digest is not None and first.setdefault(digest, url) != url:
            pairs.append((url, first[digest]))
    return tuple(pairs)


def _withheld(file: Path) -> list[str]:
    """Return the URLs that are stored as withheld: rows whose value begins with a URL."""
    if not file.exists():
        return []
    found = set()
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as base:
        for [value] in base.execute("SELECT value FROM dust"):
            try:
                row = json.loads(value)
            except ValueError:
                continue
            if isinstance(row, list) and row and isinstance(row[0], str) and "://" in row[0]:
                found.add(row[0])
    base.close()
    return sorted(found)


def _rules(jobdir: Path) -> tuple[str, ...]:
    program = Path(sys.executable).with_name("scrapy")
    told = subprocess.run(
        [program, "dust", jobdir, "--json"], cwd=PROJECT, check=True, capture_output=True, text=True
    )
    rules = [rule for rule in json.loads(told.stdout)["rules"] if rule["state"] == "confirmed"]
    return tuple(
        f"{rule['withheld']:6} by {rule['rule']}"
        for rule in sorted(rules, key=lambda rule: -rule["withheld"])
    )
