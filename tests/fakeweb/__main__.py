"""The command line: ``python -m tests.fakeweb``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fakeweb.behaviours import BEHAVIOURS
from tests.fakeweb.config import Config, Placement
from tests.fakeweb.dead import DEAD_KINDS
from tests.fakeweb.process import Ready, run
from tests.fakeweb.robots import ROBOTS

if TYPE_CHECKING:
    from collections.abc import Callable


_BEHAVIOUR_HELP = "let a share of the pages (0.05), or of the hosts' robots.txt, misbehave; names below"
_DEAD_HELP = "link to hosts of this kind that cannot be reached; kinds below"


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
        epilog=_catalogue(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_web(parser.add_argument_group("the web").add_argument)
    _add_server(parser.add_argument_group("the server").add_argument)
    return parser


def _add_web(add: Callable[..., argparse.Action]) -> None:
    add("--hosts", type=int, metavar="N", help="number of hosts (20; 1,000 with --bench)")
    add("--pages", type=int, metavar="N", help="pages of all hosts together (400); 0: endless")
    add("--links", type=int, default=20, metavar="N", help="links on each page (20)")
    add("--words", type=int, default=120, metavar="N", help="words on each page (120)")
    add("--seed", type=int, default=1, metavar="N", help="which web (1)")
    add("--suffix", default="localhost", help="what the hosts' names end with (localhost)")
    add("--per-domain", type=int, default=1, metavar="N", help="hosts under each domain (1)")
    add("--dirty", action="store_true", help="links as badly written as on the real web")
    add("--charsets", action="store_true", help="pages in several character encodings")
    add("--behaviour", action="append", default=[], metavar="NAME[=SHARE]", help=_BEHAVIOUR_HELP)
    add("--dead", action="append", default=[], metavar="KIND", choices=DEAD_KINDS, help=_DEAD_HELP)
    add(
        "--bench",
        action="store_true",
        help="the benchmarks' web: 29 KB, 100 links; --pages is per host (100)",
    )
    add("--fresh", type=int, default=0, metavar="N", help="with --bench: links of a page that are new (0)")


def _add_server(add: Callable[..., argparse.Action]) -> None:
    add("--port", type=int, default=0, metavar="PORT", help="port on 127.0.0.1 (any free one)")
    add("--tls", type=float, metavar="SHARE", help="serve this share of the hosts by https (also)")
    add("--dns", action="store_true", help="run a name server for all names under the suffix")
    add("--log", type=Path, metavar="FILE", help="append one line of JSON per request")
    add("--json", action="store_true", help="print ports and seeds as one line of JSON")
    add("--config", metavar="JSON", help="everything at once as a JSON object, instead of the options above")
    add("--until-stdin-closes", action="store_true", help="end when standard input does")


def _catalogue() -> str:
    """Return the names of all behaviours with a line for each."""
    families = {
        "behaviours of pages": {name: shown.about for name, shown in BEHAVIOURS.items()},
        "behaviours of a host's robots.txt": {name: shown.about for name, shown in ROBOTS.items()},
        "kinds of dead hosts": DEAD_KINDS,
    }
    lines = []
    for title, family in families.items():
        lines.append(f"{title}:")
        lines += [f"  {name:<20} {about}" for name, about in family.items()]
    return "\n".join(lines).replace("``", "").replace("%", "%%")


def _config(options: argparse.Namespace) -> Config:
    usual_pages = 100 if options.bench else 400
    pages = usual_pages if options.pages is None else options.pages
    return Config(
        kind="bench" if options.bench else "web",
        seed=options.seed,
        hosts=options.hosts or (1000 if options.bench else 20),
        pages=pages or None,
        fresh=options.fresh,
        links=options.links,
        suffix=options.suffix,
        per_domain=options.per_domain,
        words=options.words,
        dirty=options.dirty,
        charsets=options.charsets,
        placements=tuple(_placement(text) for text in options.behaviour),
        dead=tuple(options.dead),
        port=options.port,
        tls=options.tls is not None,
        https=options.tls or 0.0,
        dns=options.dns,
    )


def _placement(text: str) -> Placement:
    name, _, share = text.partition("=")
    return Placement(name, share=float(share or 0.05))


def _print_json(ready: Ready) -> None:
    sys.stdout.write(ready.to_json() + "\n")
    sys.stdout.flush()


def _print_for_people(ready: Ready) -> None:
    ports = [f"http on {ready.ports.http}"]
    if ready.ports.https is not None:
        ports.append(f"https on {ready.ports.https}")
    if ready.ports.dns is not None:
        ports.append(f"a name server on {ready.ports.dns}")
    sys.stdout.write(f"Serving at 127.0.0.1: {', '.join(ports)}. Ctrl-C ends it.\n")
    sys.stdout.write("Every host shows every behaviour below /x/. Start a crawl from:\n")
    sys.stdout.writelines(f"  {seed}\n" for seed in ready.seeds[:10])
    if len(ready.seeds) > 10:
        sys.stdout.write(f"  ... and {len(ready.seeds) - 10} more\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
