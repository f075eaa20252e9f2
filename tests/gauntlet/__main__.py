"""The command line: ``python -m tests.gauntlet``.

Without a subcommand everything is judged for webcrawl. The exit status is 0 when no promise was broken, 1 when one
was, 2 for a wrong argument.

The promises of webcrawl's commands, endpoints and settings come from ``tests.gauntlet.promises``, whose function
``judge(folder, only=...)`` yields a ``Judged`` for each promise as soon as it is known.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.gauntlet.scorecard import Judged, Scorecard, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable


def main(arguments: list[str] | None = None) -> int:
    """Judge, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.gauntlet", description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the scorecard as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the scorecard as Markdown")
    subcommands = parser.add_subparsers(dest="subcommand")
    promises = subcommands.add_parser(
        "promises", help="judge commands, endpoints, settings and exit statuses"
    )
    promises.add_argument("--only", nargs="+", default=[], metavar="NAME", help="the promises to judge (all)")
    options = parser.parse_args(arguments)
    card = Scorecard("webcrawl", command=" ".join(["python -m tests.gauntlet", *sys.argv[1:]]))
    with tempfile.TemporaryDirectory(prefix="webcrawl-gauntlet-") as folder:
        if options.subcommand in (None, "promises"):
            show(card, _promises(Path(folder), getattr(options, "only", [])))
    sys.stdout.write(card.summary() + "\n")
    if options.json:
        options.json.write_text(card.to_json())
    if options.markdown:
        options.markdown.write_text(card.to_markdown())
    return card.exit_status


def show(card: Scorecard, rows: Iterable[Judged]) -> None:
    """Add judgements to the card and print each when it is there."""
    for row in rows:
        card.add(row)
        sys.stdout.write("\n".join(lines_of(row)) + "\n")
        sys.stdout.flush()


def _promises(folder: Path, only: list[str]) -> Iterable[Judged]:
    if importlib.util.find_spec("tests.gauntlet.promises") is None:
        return []
    rows: Iterable[Judged] = importlib.import_module("tests.gauntlet.promises").judge(folder, only=only)
    return rows


if __name__ == "__main__":
    sys.exit(main())
