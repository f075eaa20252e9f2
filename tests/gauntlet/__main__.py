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
import importlib.util
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.gauntlet import arena, server
from tests.gauntlet.crawlers import CRAWLERS
from tests.gauntlet.scorecard import Judged, Scorecard, lines_of
from tests.gauntlet.subjects import SUBJECTS, TOGETHER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge, and return the exit status."""
    options = _parser().parse_args(arguments)
    command: str | None = options.subcommand
    if command == "serve":
        return _serve(options)
    words = sys.argv[1:] if arguments is None else arguments
    card = Scorecard(_crawler_of(options), command=" ".join(["python -m tests.gauntlet", *words]))
    with _folder(options.keep) as folder:
        if command == "judge":
            show(card, arena.judge([SUBJECTS[name] for name in options.subjects], options.folder))
        elif command == "promises":
            show(card, _promises(folder, options.only))
        else:
            _run(card, options, folder)
    sys.stdout.write(card.summary() + "\n")
    if options.json:
        options.json.write_text(card.to_json())
    if options.markdown:
        options.markdown.write_text(card.to_markdown())
    return card.exit_status


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


def _crawler_of(options: argparse.Namespace) -> str:
    return str(getattr(options, "crawler", "webcrawl"))


def _run(card: Scorecard, options: argparse.Namespace, folder: Path) -> None:
    """Run all subjects or those that are named; without a subcommand both forms of webcrawl and the promises."""
    names = getattr(options, "only", []) or list(SUBJECTS)
    crawlers = [options.crawler] if options.subcommand == "run" else ["webcrawl", "webcrawl-redis"]
    for name in crawlers:
        card.version = CRAWLERS[name]().version() or "not installed"
        for group in groups(names, together=options.subcommand != "run" or options.together):
            rows = arena.run(
                CRAWLERS[name](), [SUBJECTS[one] for one in group], folder / name / "-".join(group)[:80]
            )
            show(card, (_named(row, name) for row in rows) if len(crawlers) > 1 else rows)
    if options.subcommand is None:
        show(card, _promises(folder / "promises", []))


def groups(names: Sequence[str], *, together: bool) -> list[list[str]]:
    """Return which subjects share a crawl."""
    shared = [name for name in names if name in TOGETHER] if together else []
    alone = [[name] for name in names if name not in shared]
    return [shared, *alone] if shared else alone


def _named(row: Judged, crawler: str) -> Judged:
    """Return a row whose section names the crawler, where a card has several."""
    return Judged(f"{row.section} ({crawler})", row.name, row.promise, row.verdict, row.evidence, row.seconds)


def show(card: Scorecard, rows: Iterable[Judged]) -> None:
    """Add judgements to the card and print each when it is there."""
    for row in rows:
        card.add(row)
        sys.stdout.write("\n".join(lines_of(row)) + "\n")
        sys.stdout.flush()


def _promises(folder: Path, only: list[str]) -> Iterable[Judged]:
    if importlib.util.find_spec("tests.gauntlet.promises") is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    rows: Iterable[Judged] = importlib.import_module("tests.gauntlet.promises").judge(folder, only=only)
    return rows


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
