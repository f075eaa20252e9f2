"""``scrapy mirrors [JOBDIR] [--undo PAIR]``: list the mirrors that a crawl has found, and undo them.

Exit status 0: done, or nothing to do. 2: the command or a setting is wrong, no pair has the given id, or the crawl
cannot be reached; a line on standard error says why.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from webcrawl.command import ProjectCommand
from webcrawl.control.selection import require_crawl
from webcrawl.errors import Problem
from webcrawl.reports import text
from webcrawl.terminal import crawl_as_json, tell
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from webcrawl.control.stored import StoredCrawl
    from webcrawl.features.mirrors.pair import MirrorPair


class Command(ProjectCommand):
    spider_help = "spider of the crawl on Redis"
    json_help = "print one JSON object"

    def syntax(self) -> str:
        return "[options] [JOBDIR]"

    def short_desc(self) -> str:
        return "List the hosts that serve the pages of another one, as a crawl found them, or undo one"

    def long_desc(self) -> str:
        return (
            "With MIRRORS_LEARN, a crawl learns which hosts serve the same pages under another name, and withholds "
            "URLs of such a mirror whose path the other host has. The command lists these pairs of hosts with what "
            "proved them. --undo ends one: its withheld URLs are queued again, and it is never learned again. The "
            "crawl may be running or not."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--undo", action="append", metavar="PAIR", default=[], help="undo the pair with this id, or all")
        add("--all", action="store_true", help="list refuted pairs too")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        if len(args) > 1:
            yield Problem(args[1], "one JOBDIR is enough")

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        # Scrapy imports all commands at each start.
        from webcrawl.control.steering import Steering
        from webcrawl.features.mirrors.store import MirrorStore

        if args:
            self.settings.set("JOBDIR", args[0], priority="cmdline")
        crawl = require_crawl(self.settings, opts.spider)
        if opts.undo:
            undone = Steering(crawl, self.settings, opts.spider).undo_mirrors(opts.undo)
            tell(_as_json(crawl, undone) if opts.json else _undone(crawl, undone))
            return
        pairs = crawl.read_store(MirrorStore, MirrorStore.pairs)
        shown = [pair for pair in pairs if opts.all or pair.state != "refuted"]
        tell(_as_json(crawl, shown) if opts.json else _as_text(crawl, shown))


def _as_text(crawl: StoredCrawl, pairs: Sequence[MirrorPair]) -> str:
    applied = [pair for pair in pairs if pair.state == "confirmed"]
    lines = [f"{crawl.name}: {text.things(len(applied), 'mirror')}"]
    for pair in pairs:
        lines += [
            "",
            f"{pair.id}  {printable(str(pair))}",
            f"  state     {pair.state} since {datetime.fromtimestamp(pair.since):%Y-%m-%d %H:%M:%S}",
            f"  signs     {', '.join(pair.signs)}",
            f"  proof     {text.things(len(pair.equal), 'equal page')}, {text.things(pair.probes, 'probe')}; "
            f"{text.things(pair.samples, 'sample')} after it",
        ]
        if pair.equal:
            lines.append(f"  such as   {printable(next(iter(pair.equal.values())))}")
        if pair.why:
            lines.append(f"  why       {printable(pair.why)}")
        lines.append(f"  withheld  {text.things(pair.withheld, 'URL')}")
    if applied:
        lines += ["", "scrapy mirrors --undo PAIR undoes one, with the same JOBDIR or -s"]
    return "\n".join(lines)


def _undone(crawl: StoredCrawl, pairs: Sequence[MirrorPair]) -> str:
    if not pairs:
        return f"{crawl.name}: no mirror is applied"
    when = "within seconds" if crawl.running_workers() else "when the crawl goes on"
    lines = [
        f"{pair.id}  {printable(str(pair))} is undone; {text.things(pair.withheld, 'URL')} withheld"
        for pair in pairs
    ]
    return "\n".join([*lines, f"Their withheld URLs are queued again {when}"])


def _as_json(crawl: StoredCrawl, pairs: Sequence[MirrorPair]) -> str:
    return crawl_as_json(crawl, mirrors=[_as_object(pair) for pair in pairs])


def _as_object(pair: MirrorPair) -> dict[str, Any]:
    return {
        "id": pair.id,
        "first": pair.first,
        "mirror": pair.mirror,
        "state": pair.state,
        "since": pair.since,
        "signs": list(pair.signs),
        "equal": sorted(pair.equal.values()),
        "probes": pair.probes,
        "samples": pair.samples,
        "withheld": pair.withheld,
        "why": pair.why or None,
    }
