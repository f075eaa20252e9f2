"""``scrapy traps [release PATTERN|ID...|all]``: list the traps that a crawl has found, and release them.

Exit status 0: done, or nothing to do. 2: the command or a setting is wrong, no trap has the given name, or the crawl
cannot be reached; a line on standard error says why.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from webcrawl.command import ProjectCommand
from webcrawl.control.selection import require_crawl
from webcrawl.errors import Problem
from webcrawl.reports import text
from webcrawl.terminal import crawl_as_json, instead, tell
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from webcrawl.control.stored import StoredCrawl
    from webcrawl.features.traps.quarantine import Trap

RELEASE = "release"


class Command(ProjectCommand):
    spider_help = "spider of the crawl on Redis"
    json_help = "print one JSON object"

    def syntax(self) -> str:
        return "[options] [release <PATTERN|ID>... | release all]"

    def short_desc(self) -> str:
        return "List the traps that a crawl has found, or release them"

    def long_desc(self) -> str:
        return (
            "URL patterns whose pages brought nothing new are in quarantine: matching URLs are withheld. "
            "Without an argument, the command lists them with the reason and samples. release ends the "
            "quarantine of patterns: their withheld URLs are queued again, and the patterns are never evaluated "
            "again. -s REDIS_URL=... or -s JOBDIR=DIR selects the crawl, running or not."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--dry-run", action="store_true", help="release: show what would be released, change nothing")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        return _wrong_words(args, opts)

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        # Scrapy imports all commands at each start.
        from webcrawl.control.steering import Steering
        from webcrawl.features.traps.store import TrapStore

        crawl = require_crawl(self.settings, opts.spider)
        if not args:
            traps = crawl.read_store(TrapStore, TrapStore.beliefs)
            tell(_as_json(crawl, traps) if opts.json else _as_text(crawl, traps))
            return
        chosen = Steering(crawl, self.settings, opts.spider).release(args[1:], is_trial=opts.dry_run)
        if opts.json:
            tell(_as_json(crawl, chosen))
        else:
            tell(_released(crawl, chosen, dry_run=opts.dry_run))


def _wrong_words(args: Sequence[str], opts: argparse.Namespace) -> Iterator[Problem]:
    if args and args[0] != RELEASE:
        yield Problem(args[0], f"is no command of traps; there is {RELEASE}{instead(args[0])}")
    elif args and not args[1:]:
        yield Problem(RELEASE, "no pattern; give patterns or their ids as scrapy traps lists them, or all")
    elif opts.dry_run and not args:
        yield Problem("--dry-run", f"is for {RELEASE}")


def _as_text(crawl: StoredCrawl, traps: Sequence[Trap]) -> str:
    held = [trap for trap in traps if trap.released_at is None]
    lines = [f"{crawl.name}: {text.things(len(held), 'pattern')} in quarantine"]
    for trap in traps:
        state = "" if trap.released_at is None else f", released {_moment(trap.released_at)}"
        lines += [
            "",
            f"{trap.id}  {printable(trap.pattern)}{state}",
            f"  covers    {printable(trap.covers)}",
            f"  why       {trap.why}",
            f"  since     {_moment(trap.since)}",
            f"  examined  {text.things(trap.looked, 'page')}",
            f"  withheld  {text.things(trap.withheld, 'URL')}",
            *(f"  such as   {printable(url)}" for url in trap.samples),
        ]
    if held:
        lines += ["", "scrapy traps release ID releases a pattern, with the same -s"]
    return "\n".join(lines)


def _released(crawl: StoredCrawl, traps: Sequence[Trap], *, dry_run: bool) -> str:
    if not traps:
        return f"{crawl.name}: no pattern is in quarantine"
    verb = "would be released" if dry_run else "is released"
    lines = [
        f"{trap.id}  {printable(trap.pattern)} {verb}; {text.things(trap.withheld, 'URL')} withheld"
        for trap in traps
    ]
    if not dry_run:
        when = "within seconds" if crawl.running_workers() else "when the crawl goes on"
        lines.append(f"Their withheld URLs are queued again {when}")
    return "\n".join(lines)


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M:%S}"


def _as_json(crawl: StoredCrawl, traps: Sequence[Trap]) -> str:
    return crawl_as_json(crawl, traps=[_as_object(trap) for trap in traps])


def _as_object(trap: Trap) -> dict[str, Any]:
    return {
        "id": trap.id,
        "pattern": trap.pattern,
        "covers": trap.covers,
        "why": trap.why,
        "since": trap.since,
        "looked": trap.looked,
        "withheld": trap.withheld,
        "samples": list(trap.samples),
        "released_at": trap.released_at,
    }
