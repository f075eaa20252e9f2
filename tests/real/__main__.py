"""``python -m tests.real [NAME ...]``: crawl real software with and without DUST rules, and judge what they save.

Exit status 0: no page was lost; 1: pages were lost; 2: the command is wrong, or no software could be had.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.real.judging import Verdict, judge
from tests.real.software import SOFTWARE, MissingError

_LINE = "{:12} {:>8} {:>8} {:>8} {:>8} {:>7} {:>6} {:>9} {:>6}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.real", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"the software: {', '.join(SOFTWARE)} (all)")
    parser.add_argument(
        "--pages", type=int, default=1200, metavar="N", help="pages of a crawl at most (1200)"
    )
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="where it is installed, and is found again"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    parser.add_argument(
        "--show", action="store_true", help="print the rules, and some of the copies that are left"
    )
    options = parser.parse_args()
    if wrong := [name for name in options.names if name not in SOFTWARE]:
        parser.error(f"{wrong[0]} is none of {', '.join(SOFTWARE)}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        verdicts = _judge(options.names or list(SOFTWARE), folder, options.pages, shows=options.show)
    if options.json is not None:
        options.json.write_text(json.dumps([verdict.as_object() for verdict in verdicts], indent=2) + "\n")
    if not verdicts:
        return 2
    return int(any(verdict.lost for verdict in verdicts))


def _judge(names: list[str], folder: Path, pages: int, *, shows: bool) -> list[Verdict]:
    heads = ("software", "requests", "with", "copies", "with", "saved", "rules", "withheld", "lost")
    print(_LINE.format(*heads), flush=True)
    verdicts = []
    for name in names:
        home = (folder / name).resolve()
        home.mkdir(parents=True, exist_ok=True)
        try:
            with SOFTWARE[name](home) as served:  # type: ignore[attr-defined]
                verdict = judge(name, served, home, pages)
        except (MissingError, OSError, subprocess.SubprocessError) as error:
            print(f"{name:12} left out: {error}", flush=True)
            continue
        verdicts.append(verdict)
        saved = "-" if verdict.saved is None else f"{verdict.saved:.0%}"
        print(
            _LINE.format(
                name,
                verdict.requests_without,
                verdict.requests_with,
                verdict.copies_without,
                verdict.copies_with,
                saved,
                len(verdict.rules),
                verdict.withheld,
                len(verdict.lost),
            ),
            flush=True,
        )
        for rule in verdict.rules if shows else ():
            print(f"    withheld {rule}", flush=True)
        for url, first in verdict.left[:: max(len(verdict.left) // 12, 1)] if shows else ():
            print(f"    fetched  {url}, which {first} has", flush=True)
        for url in verdict.lost[:5]:
            print(f"    lost: {url}", flush=True)
    return verdicts


if __name__ == "__main__":
    sys.exit(main())
