"""Whether only the web's schemes are fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gauntlet.evidence import unpacked
from tests.gauntlet.judges.rows import complete, naming
from tests.gauntlet.scorecard import Judged, judged
from tests.gauntlet.web.schemes import FTP, PIPE, TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence

SECTION = "Schemes"


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge files, FTP and what lies beside them."""
    asked = bool(evidence.paths("links"))
    opened = sum(trip.wire == PIPE for trip in evidence.trips)
    copies = list(_files(evidence))
    yield judged(
        SECTION,
        "file",
        "A file: URL of a page, or of a redirect, is not opened.",
        asked and not opened and not copies,
        f"a named pipe was opened {opened} times; {len(copies)} files of the crawl have what the file says"
        + naming(copies),
    )
    contacts = [trip for trip in evidence.trips if trip.wire == FTP]
    yield judged(
        SECTION,
        "ftp",
        "ftp:, sftp:, gopher: and ws: URLs of a page, or of a redirect, are not contacted.",
        asked and not contacts,
        f"{len(contacts)} connections to the port that they name",
    )
    inner = [path for path in evidence.paths("links") if path in ("/from-data", "/read-from-the-pipe")]
    yield judged(
        SECTION,
        "data",
        "Links within data: URLs and local files are not followed.",
        asked and not inner,
        f"{len(inner)} requests for them",
    )
    yield complete(evidence, SECTION, "complete", "Links beside them are requested.")


def _files(evidence: Evidence) -> Iterator[str]:
    """Yield the names of the crawl's files that contain the canary's token."""
    for folder in evidence.run.files:
        for path in sorted((evidence.folder / folder).rglob("*")):
            if path.is_file() and TOKEN.encode() in unpacked(path):
                yield path.name
