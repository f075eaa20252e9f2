"""The command line: ``python -m tests.gauntlet``.

Without a subcommand everything is judged for webcrawl. The exit status is 0 when no promise was broken, 1 when one
was, 2 for a wrong argument.

``serve`` and ``judge`` are for any other crawler: serve a subject, crawl its seeds, end the server, judge the folder.

The promises of webcrawl's commands, endpoints and settings come from ``tests.gauntlet.promises``, whose function
``judge(folder, only=...)`` yields a ``Judged`` for each promise as soon as it is known.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.gauntlet import arena, comparison, documented, server
from tests.gauntlet.crawlers import CRAWLERS
from tests.gauntlet.crawlers.peers import install as install_peers
from tests.gauntlet.scorecard import Judged, Scorecard, lines_of, side_by_side, to_json
from tests.gauntlet.subjects import SUBJECTS, TOGETHER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge, and return the exit status."""
    options = _parser().parse_args(arguments)
    command: str | None = options.subcommand
    if command == "serve":
        return _serve(options)
    if command == "docs":
        documented.write(options.cards)
        return 0
    words = sys.argv[1:] if arguments is None else arguments
    with _folder(options.keep) as folder:
        cards = list(_cards(options, " ".join(["python -m tests.gauntlet", *words]), folder))
    if command == "peers":
        sys.stdout.write(side_by_side(cards))
    for card in cards:
        sys.stdout.write(card.summary() + "\n" + "".join(f"  {line}\n" for line in card.broken()))
    if options.json:
        options.json.write_text(to_json(cards))
    if options.markdown:
        options.markdown.write_text("\n".join(card.to_markdown() for card in cards))
    # A promise that a peer breaks is no fault of ours.
    return max(card.exit_status for card in cards if command != "peers" or card.crawler == "webcrawl")


def _cards(options: argparse.Namespace, command: str, folder: Path) -> Iterator[Scorecard]:
    """Yield the scorecards that a subcommand makes; without one, those of both forms of webcrawl and its promises."""
    match options.subcommand:
        case "judge":
            card = Scorecard("any", command=command)
            show(card, arena.judge([SUBJECTS[name] for name in options.subjects], options.folder))
            yield card
        case "peers":
            install_peers()
            yield from comparison.compare(
                options.only or list(TOGETHER),
                folder,
                jobs=options.jobs,
                minutes=options.minutes,
                command=command,
            )
        case "run":
            yield _crawled(options.crawler, options.only, command, folder, together=options.together)
        case "promises":
            yield _promised(options.only, command, folder)
        case _:
            yield from _everything(command, folder)


def _everything(command: str, folder: Path) -> Iterator[Scorecard]:
    """Judge both forms of webcrawl, one after the other, and beside them its promises, which mostly wait."""
    with ThreadPoolExecutor(1) as pool:
        promises = pool.submit(_promised, [], command, folder)
        for name in ("webcrawl", "webcrawl-redis"):
            yield _crawled(name, [], command, folder, together=True)
        yield promises.result()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.gauntlet", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the scorecard as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the scorecard as Markdown")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep logs and crawls in this folder")
    subcommands = parser.add_subparsers(dest="subcommand")
    run = subcommands.add_parser("run", help="crawl the gauntlet's web with a crawler and judge it")
    run.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", choices=SUBJECTS, help="the subjects (all)"
    )
    run.add_argument("--crawler", default="webcrawl", choices=CRAWLERS, help="the crawler (webcrawl)")
    run.add_argument(
        "--together", action="store_true", help="all subjects in one crawl, where that is possible"
    )
    promises = subcommands.add_parser(
        "promises", help="judge commands, endpoints, settings and exit statuses"
    )
    promises.add_argument("--only", nargs="+", default=[], metavar="NAME", help="the promises to judge (all)")
    peers = subcommands.add_parser("peers", help="install other crawlers and judge each beside webcrawl")
    peers.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        choices=SUBJECTS,
        help="the subjects (those of one crawl)",
    )
    peers.add_argument(
        "--minutes", type=float, default=30.0, metavar="N", help="begin no crawl after so many minutes (30)"
    )
    peers.add_argument("--jobs", type=int, default=2, metavar="N", help="crawls at a time (2)")
    docs = subcommands.add_parser("docs", help="write docs/internals/gauntlet.md from the scorecards")
    docs.add_argument(
        "cards", nargs="*", type=Path, metavar="FILE", help="new scorecards, as --json writes them"
    )
    serve = subcommands.add_parser("serve", help="serve subjects for any crawler, until interrupted")
    serve.add_argument("subjects", nargs="+", choices=SUBJECTS)
    serve.add_argument("--folder", type=Path, required=True, help="where the log is written")
    serve.add_argument("--port", type=int, default=0)
    serve.add_argument("--json-line", action="store_true", help=argparse.SUPPRESS)
    judge = subcommands.add_parser("judge", help="judge the log in a folder")
    judge.add_argument("subjects", nargs="+", choices=SUBJECTS)
    judge.add_argument("--folder", type=Path, required=True, help="the folder that was given to serve")
    return parser


def _serve(options: argparse.Namespace) -> int:
    arena.prepare(options.folder)
    sites = [SUBJECTS[name].site() for name in options.subjects]
    asyncio.run(server.serve(sites, options.folder, port=options.port, until_stdin_closes=options.json_line))
    return 0


def _crawled(name: str, only: Sequence[str], command: str, folder: Path, *, together: bool) -> Scorecard:
    """Judge one crawler on the subjects that are named, or on all."""
    card = Scorecard(name, CRAWLERS[name]().version() or "not installed", command)
    sys.stdout.write(f"{card.crawler} {card.version}\n")
    for group in groups(only or list(SUBJECTS), together=together):
        subjects = [SUBJECTS[one] for one in group]
        show(card, arena.run(CRAWLERS[name](), subjects, folder / name / "-".join(group)[:80]))
    return card


def _promised(only: Sequence[str], command: str, folder: Path) -> Scorecard:
    """Judge the promises of commands, endpoints, settings and exit statuses."""
    card = Scorecard("webcrawl's commands and settings", CRAWLERS["webcrawl"]().version() or "", command)
    (folder / "promises").mkdir(parents=True, exist_ok=True)
    show(card, importlib.import_module("tests.gauntlet.promises").judge(folder / "promises", only=only))
    return card


def groups(names: Sequence[str], *, together: bool) -> list[list[str]]:
    """Return which subjects share a crawl."""
    shared = [name for name in names if name in TOGETHER] if together else []
    alone = [[name] for name in names if name not in shared]
    return [shared, *alone] if shared else alone


def show(card: Scorecard, rows: Iterable[Judged]) -> None:
    """Add judgements to the card and print each when it is there."""
    for row in rows:
        card.add(row)
        sys.stdout.write("\n".join(lines_of(row)) + "\n")
        sys.stdout.flush()


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        return
    folder = tempfile.mkdtemp(prefix="webcrawl-gauntlet-")
    try:
        yield Path(folder)
    finally:
        # Children of a crawl that was killed may still write.
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
