"""Whether a crawl stays out of the network of its own machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.gauntlet.judges.rows import complete, naming
from tests.gauntlet.scorecard import Judged, judged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence, Trip

SECTION = "Own network"


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge by the listeners that nobody has a reason to contact."""
    asked = bool(evidence.paths("links"))
    inside = [trip for trip in evidence.trips if not trip.wire.startswith("port-")]
    named = [trip for trip in inside if " /name" in trip.first]
    robots = [trip for trip in inside if " /robots.txt" in trip.first]
    moved = [trip for trip in inside if "-moved " in trip.first and trip not in named]
    direct = [trip for trip in inside if trip not in (*named, *moved, *robots)]
    yield _row("links", "Links to loopback addresses, in any notation, are not followed.", direct, asked)
    yield _row(
        "redirects", "Redirects to loopback addresses, in any notation, are not followed.", moved, asked
    )
    yield _row(
        "robots",
        "A robots.txt, also of such an address, is not fetched from a loopback address.",
        robots,
        asked,
    )
    yield _row(
        "names",
        "A name that resolves to a loopback address is not contacted.",
        named,
        asked if "nameserver" in evidence.run.can else None,
    )
    ports = [trip for trip in evidence.trips if trip.wire.startswith("port-")]
    watched = [wire for wire in evidence.bound if wire.startswith("port-")]
    row = _row(
        "ports",
        "Ports of SSH, mail, Redis and memcached are not contacted, on a seed's host neither.",
        ports,
        asked and bool(watched),
    )
    yield replace(row, evidence=f"{row.evidence} (watched: {', '.join(watched)})")
    yield complete(evidence, SECTION, "complete", "Links beside them are requested.")


def _row(name: str, promise: str, trips: list[Trip], applies: bool | None) -> Judged:
    if applies is None:
        return judged(SECTION, name, promise, None, "this crawler has no option for a name server")
    first = [trip.first.partition("\r\n")[0] or f"a connection to {trip.wire}" for trip in trips]
    return judged(
        SECTION,
        name,
        promise,
        applies and not trips,
        f"{len(trips)} connections{naming(first)}",
    )
