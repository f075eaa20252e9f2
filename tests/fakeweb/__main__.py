"""The command line: ``python -m tests.fakeweb``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tests.fakeweb.behaviours import BEHAVIOURS
from tests.fakeweb.config import Config, Placement
from tests.fakeweb.process import run
from tests.fakeweb.robots import ROBOTS


def main() -> None:
    """Serve a fake web until interrupted."""
    parser = _parser()
    options = parser.parse_args()
    try:
        config = Config.from_json(options.config) if options.config else _config(options)
        ready = _print_json if options.config or options.json else _print_for_people
        run(config, options.log, until_stdin_closes=options.until_stdin_closes, ready=ready)
    except ValueError as error:
        parser.error(str(error))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fakeweb",
        description="Serve a deterministic web on loopback. The same seed gives the same web, always.",
        epilog=f"Behaviours of pages (a share of them, 0.05 unless told): {', '.join(BEHAVIOURS)}. "
        f"Behaviours of hosts (by robots.txt): {', '.join(ROBOTS)}.",
    )
    add = parser.add_argument
    add("--hosts", type=int, default=20, metavar="N", help="number of hosts (20)")
    add(
        "--pages",
        type=int,
        default=400,
        metavar="N",
        help="pages of all hosts together (400); 0: an endless web",
    )
    add("--links", type=int, default=20, metavar="N", help="links on each page (20)")
    add("--seed", type=int, default=1, metavar="N", help="which web (1)")
    add("--port", type=int, default=0, metavar="PORT", help="port on 127.0.0.1 (any free one)")
    add("--suffix", default="localhost", help="what the hosts' names end with (localhost)")
    add("--per-domain", type=int, default=1, metavar="N", help="hosts under each domain (1)")
    add("--dirty", action="store_true", help="links as badly written as on the real web")
    add("--charsets", action="store_true", help="pages in several character encodings")
    add(
        "--behaviour",
        action="append",
        default=[],
        metavar="NAME[=SHARE]",
        help="let a share of pages misbehave",
    )
    add(
        "--bench",
        action="store_true",
        help="the web of the benchmarks: 29 KB, 100 links; --pages is per host",
    )
    add("--log", type=Path, metavar="FILE", help="append one line of JSON per request")
    add("--json", action="store_true", help="print ports and seeds as one line of JSON")
    add("--config", metavar="JSON", help="everything at once, instead of the options above")
    add("--until-stdin-closes", action="store_true", help="end when standard input does")
    return parser


def _config(options: argparse.Namespace) -> Config:
    return Config(
        kind="bench" if options.bench else "web",
        seed=options.seed,
        hosts=options.hosts,
        pages=options.pages or None,
        links=options.links,
        suffix=options.suffix,
        per_domain=options.per_domain,
        dirty=options.dirty,
        charsets=options.charsets,
        placements=tuple(_placement(text) for text in options.behaviour),
        port=options.port,
    )


def _placement(text: str) -> Placement:
    name, _, share = text.partition("=")
    return Placement(name, share=float(share or 0.05))


def _print_json(ready: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(ready) + "\n")
    sys.stdout.flush()


def _print_for_people(ready: dict[str, Any]) -> None:
    sys.stdout.write(f"Serving on 127.0.0.1:{ready['port']}. Ctrl-C ends it. Start a crawl from:\n")
    sys.stdout.writelines(f"{seed}\n" for seed in ready["seeds"][:10])
    sys.stdout.flush()


if __name__ == "__main__":
    main()
