"""Rows that several judges make: pages that were missed, requested twice, or forbidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gauntlet.scorecard import Judged, judged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.gauntlet.evidence import Evidence

SHOWN = 4
"""How many of the things that are wrong a row names."""


def listed(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    shown = ", ".join(name[:60] for name in names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown


def naming(names: Sequence[str], before: str = ": ") -> str:
    """Return the first few names behind a colon, and nothing where there are none."""
    return before + listed(names) if names else ""


def complete(evidence: Evidence, section: str, name: str, promise: str, *hosts: str) -> Judged:
    """Judge whether every wanted page of the hosts (all) was requested."""
    names = hosts or tuple(evidence.site.hosts)
    wanted = sum(len(evidence.site.hosts[host].wanted) for host in names)
    missed = evidence.missed(*names)
    figures = f"{wanted - len(missed)} of {wanted} pages requested"
    return judged(
        section, name, promise, not missed, figures + (f"; missed: {listed(missed)}" if missed else "")
    )


def obedient(evidence: Evidence, section: str, name: str, promise: str, *hosts: str) -> Judged:
    """Judge whether the hosts' forbidden pages were left alone and their wanted pages were requested."""
    missed, trespassed = evidence.missed(*hosts), evidence.trespassed(*hosts)
    wanted = sum(len(evidence.site.hosts[host].wanted) for host in hosts)
    figures = f"{len(trespassed)} forbidden pages requested, {wanted - len(missed)} of {wanted} allowed ones"
    wrong = f": {listed(trespassed or missed)}" if trespassed or missed else ""
    if missed and not trespassed and not evidence.run.ended:
        figures = f"stopped after {evidence.run.seconds:.0f} s, before all were requested: {figures}"
        return judged(section, name, promise, None, figures)
    asked = bool(evidence.hits) and all(evidence.of(host) for host in hosts)
    return judged(section, name, promise, asked and not missed and not trespassed, figures + wrong)
