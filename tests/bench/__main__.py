"""``make bench``: every figure of the README and of docs/internals/performance.md, measured now, on this machine."""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.bench import (
    breadth,
    crawls,
    decoding,
    documentation,
    dust,
    engine,
    handover,
    handshakes,
    http2,
    intake,
    links,
    machine,
    near_duplicates,
    planning,
    scale,
    seen,
    shared,
    switching,
    web,
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("only", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all without any")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each crawl is measured (20)")
    parser.add_argument(
        "--seeds", type=int, default=intake.SEEDS, help=f"seeds of the part intake ({intake.SEEDS:,})"
    )
    options = parser.parse_args()
    unknown = [name for name in options.only if name not in PARTS]
    if unknown:
        parser.error(f"no part is called {unknown[0]}; there are {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory(prefix="webcrawl-bench-") as folder:
        parts = {**PARTS, "intake": partial(intake.seeds_beside_a_crawl, seeds=options.seeds)}
        for name in options.only or parts:
            parts[name](Path(folder) / name, options.seconds)
    return 0


PARTS = {
    "pages": crawls.pages_per_second,
    "polite": crawls.with_a_delay,
    "engine": engine.without_each,
    "breadth": breadth.hosts_visited,
    "callbacks": crawls.callbacks,
    "links": links.link_extraction,
    "dust": dust.costs,
    "handshakes": handshakes.fetches_by_handshake,
    "http2": http2.by_protocol,
    "near": near_duplicates.near_duplicates,
    "queue": scale.a_million_queued,
    "start": scale.ten_million_queued,
    "redis": shared.beside_sqlite,
    "workers": machine.workers,
    "shared": shared.several_workers,
    "million": shared.a_million_in_redis,
    "sizes": planning.sizes,
    "seen": seen.seen_tests,
    "recording": switching.recording,
    "signing": switching.signing,
    "documentation": documentation.recognised,
    "web": web.of_the_web,
    "intake": intake.seeds_beside_a_crawl,
    "decoding": decoding.bodies_decoded,
    "handover": handover.pages_handed_over,
}

if __name__ == "__main__":
    sys.exit(main())
