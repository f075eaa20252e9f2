"""The errors of single URLs that a crawl has logged: counted by kind and host, and the last ones."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter, deque
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import urlsplit

from webcrawl import rotated_log
from webcrawl.errors import JobdirUnusable
from webcrawl.politeness.refusals import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

NAME = "errors.log"
UNANTICIPATED = "unanticipated.log"
LIMIT = 20
"""The number of errors that are returned if nothing else is said."""
HOSTS_SHOWN = 10
HOSTS_COUNTED = 100_000
"""The number of hosts whose errors are counted. If more hosts have errors, those with the fewest are dropped."""
_TRACEBACK = "Traceback (most recent call last):"
_LINE_MOST = 20_000
"""Characters of a line that are read."""


@dataclass(frozen=True, slots=True)
class LoggedError:
    """A line of ``errors.log``."""

    at: float
    """Epoch seconds."""
    error: str
    """Its kind: the word of the fetch log, or the rule that refused the URL."""
    url: str
    detail: str = ""


@dataclass(slots=True)
class ErrorReport:
    """The errors of a crawl that its logs still have, all runs together."""

    total: int = 0
    since: float | None = None
    """The time of the first one that is kept, epoch seconds."""
    kinds: Counter[str] = field(default_factory=Counter)
    hosts: Counter[str] = field(default_factory=Counter)
    """Hosts by number of errors."""
    last: list[LoggedError] = field(default_factory=list)
    """The last ones, the latest first."""
    unanticipated: int = 0
    """Tracebacks in ``unanticipated.log``: errors of the spider's code or of the crawler."""

    def as_object(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "total": self.total,
            "since": self.since,
            "kinds": dict(self.kinds.most_common()),
            "hosts": dict(self.hosts.most_common(HOSTS_SHOWN)),
            "unanticipated": self.unanticipated,
            "remedies": remedies(self.kinds),
            "last": [asdict(one) for one in self.last],
        }


def remedies(kinds: Iterable[str]) -> dict[str, str]:
    """Return what would help, for those kinds that are refusals of sites."""
    return {kind: KINDS[kind].remedy for kind in kinds if kind in KINDS}


def read(folder: Path, *, limit: int = LIMIT, search: str = "", kind: str = "") -> ErrorReport:
    """Return the errors of a JOBDIR; with ``search`` those whose URL or detail contains it, with ``kind`` those of
    this kind. Reads the whole log.

    :raises JobdirUnusable: a log cannot be read
    """
    report = ErrorReport()
    last: deque[LoggedError] = deque(maxlen=limit)
    for error in _errors(folder):
        if (kind and error.error != kind) or (search and search not in f"{error.url} {error.detail}"):
            continue
        report.total += 1
        report.since = error.at if report.since is None else report.since
        report.kinds[error.error] += 1
        report.hosts[_host(error.url)] += 1
        if len(report.hosts) > HOSTS_COUNTED:
            report.hosts = Counter(dict(report.hosts.most_common(HOSTS_COUNTED // 10)))
        last.append(error)
    report.last = list(reversed(last))
    report.unanticipated = sum(_TRACEBACK in line for line in _lines(folder, UNANTICIPATED))
    return report


def _errors(folder: Path) -> Iterator[LoggedError]:
    for line in _lines(folder, NAME):
        if (error := parsed(line)) is not None:
            yield error


def parsed(line: str) -> LoggedError | None:
    """Return the error of a line; None for a line that is cut, as a full disk leaves it."""
    at, _, rest = line.rstrip("\n").partition(" ")
    error, _, rest = rest.partition(" ")
    url, _, detail = rest.partition(" ")
    if not url:
        return None
    with suppress(ValueError):
        return LoggedError(datetime.strptime(at, "%Y-%m-%dT%H:%M:%S%z").timestamp(), error, url, detail)
    return None


def _lines(folder: Path, name: str) -> Iterator[str]:
    """Yield the lines of a log and of its older parts, oldest first."""
    try:
        for path in (*rotated_log.parts(folder / name), folder / name):
            # A running crawl may have renamed or compressed it meanwhile.
            with suppress(FileNotFoundError), _opened(path) as file:
                while line := file.readline(_LINE_MOST):
                    yield line
    except (OSError, EOFError, zlib.error) as error:
        where = getattr(error, "filename", None) or folder / name
        raise JobdirUnusable(
            f"{where} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error


def _opened(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", errors="replace")
    return path.open(encoding="utf-8", errors="replace")


def _host(url: str) -> str:
    with suppress(ValueError):
        return urlsplit(url).hostname or url[:100]
    return url[:100]
