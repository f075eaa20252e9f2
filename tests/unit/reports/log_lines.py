"""Lines of a fetch log, with what an audit reads and defaults for the rest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from webcrawl.audit.audit import Audit, AuditRules
from webcrawl.politeness.delay import Politeness
from webcrawl.reports.fetch_logs import LoggedRequest, MergedRequests, parse_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from webcrawl.reports.clocks import Violation

T0 = 1_790_000_000.0
DELAY = 5.0
DAY = 86_400.0

Line = dict[str, Any]


def line(at: float, path: str = "/", host: str = "a.test", *, took: float = 0.5, **changes: Any) -> Line:
    """A page of ``host`` that was asked for ``at`` seconds after T0; ``changes`` of None take a field out."""
    url = f"http://{host}{path}"
    found: Line = {
        "start": T0 + at,
        "end": T0 + at + took,
        "url": url,
        "key": ".".join(host.split(".")[-2:]),
        "kind": "robots" if path == "/robots.txt" else "page",
        "status": 200,
        "bytes": 100,
        "worker": "w1",
        "delay": DELAY,
    }
    if path == "/robots.txt":
        found |= {"origin": f"http://{host}", "robots": "rules", "until": T0 + at + took + DAY}
    return {name: value for name, value in (found | changes).items() if value is not None}


def robots(at: float, host: str = "a.test", **changes: Any) -> Line:
    return line(at, "/robots.txt", host, **changes)


def request(at: float, *words: Any, **changes: Any) -> LoggedRequest:
    found = parse_request(line(at, *words, **changes))
    assert found is not None
    return found


def rules(**changes: Any) -> AuditRules:
    values: dict[str, Any] = {
        "politeness": Politeness("fixed", DELAY, 60.0, 0.0, crawl_delay_max=300.0),
        "robots_lifetime_seconds": DAY,
        "sending_seconds": 60.0,
        "tolerance_seconds": 0.01,
    }
    return AuditRules(**(values | changes))


def audited(*logs: Iterable[Line], **changes: Any) -> tuple[list[Violation], Audit]:
    """What is wrong with some logs, and the audit afterwards."""
    audit = Audit(rules(**changes))
    return list(audit.violations(MergedRequests(logs, 180.0))), audit


def told(violations: Sequence[Violation]) -> list[tuple[str, float | None, float]]:
    """Kind, and the starts of both requests."""
    return [
        (
            str(found.kind),
            None if found.before is None else round(found.before.start - T0, 3),
            round(found.request.start - T0, 3),
        )
        for found in violations
    ]


def write(path: Path, lines: Iterable[Line]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="ascii")
