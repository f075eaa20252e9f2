"""``scrapy dust [JOBDIR] [--undo RULE]``: list the DUST rules that a crawl has learned, and undo them.

Exit status 0: done, or nothing to do. 2: the command or a setting is wrong, no rule has the given id, or the crawl
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
    from webcrawl.features.dust.learner import TrackedRule


class Command(ProjectCommand):
    spider_help = "spider of the crawl on Redis"
    json_help = "print one JSON object"

    def syntax(self) -> str:
        return "[options] [JOBDIR]"

    def short_desc(self) -> str:
        return "List the parts of URLs that make no difference, as a crawl learned them, or undo a rule"

    def long_desc(self) -> str:
        return (
            "With DUST_LEARN, a crawl learns which parts of the URLs of a site make no difference, and withholds "
            "URLs of pages that it has. The command lists these rules with what proved them. --undo ends one: its "
            "withheld URLs are queued again, and it is never learned again. The crawl may be running or not."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--undo", action="append", metavar="RULE", default=[], help="undo the rule with this id, or all")
        add("--all", action="store_true", help="list refuted rules too")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        if len(args) > 1:
            yield Problem(args[1], "one JOBDIR is enough")

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        # Scrapy imports all commands at each start.
        from webcrawl.control.steering import Steering
        from webcrawl.features.dust.store import DustStore

        if args:
            self.settings.set("JOBDIR", args[0], priority="cmdline")
        crawl = require_crawl(self.settings, opts.spider)
        if opts.undo:
            undone = Steering(crawl, self.settings, opts.spider).undo_dust(opts.undo)
            tell(_as_json(crawl, undone) if opts.json else _undone(crawl, undone))
            return
        rules = crawl.read_store(DustStore, DustStore.rules)
        shown = [tracked for tracked in rules if opts.all or tracked.state != "refuted"]
        tell(_as_json(crawl, shown) if opts.json else _as_text(crawl, shown))


def _as_text(crawl: StoredCrawl, rules: Sequence[TrackedRule]) -> str:
    applied = [tracked for tracked in rules if tracked.state == "confirmed"]
    lines = [f"{crawl.name}: {text.things(len(applied), 'DUST rule')} applied"]
    for tracked in rules:
        pairs = f"{text.things(len(tracked.pairs), 'pair')} of pages, {text.things(tracked.probes, 'probe')}"
        lines += [
            "",
            f"{tracked.rule.id}  {printable(str(tracked.rule))}",
            f"  state     {tracked.state} since {_moment(tracked.since)}",
            f"  proof     {pairs}",
        ]
        if all(tracked.pair):
            lines.append(f"  such as   {printable(tracked.pair[0])} and {printable(tracked.pair[1])}")
        if tracked.why:
            lines.append(f"  why       {printable(tracked.why)}")
        lines.append(f"  withheld  {text.things(tracked.withheld, 'URL')}")
    if applied:
        lines += ["", "scrapy dust --undo RULE undoes a rule, with the same JOBDIR or -s"]
    return "\n".join(lines)


def _undone(crawl: StoredCrawl, rules: Sequence[TrackedRule]) -> str:
    if not rules:
        return f"{crawl.name}: no rule is applied"
    when = "within seconds" if crawl.running_workers() else "when the crawl goes on"
    lines = [
        f"{tracked.rule.id}  {printable(str(tracked.rule))} is undone; {text.things(tracked.withheld, 'URL')} "
        "withheld"
        for tracked in rules
    ]
    return "\n".join([*lines, f"Their withheld URLs are queued again {when}"])


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M:%S}"


def _as_json(crawl: StoredCrawl, rules: Sequence[TrackedRule]) -> str:
    return crawl_as_json(crawl, rules=[_as_object(tracked) for tracked in rules])


def _as_object(tracked: TrackedRule) -> dict[str, Any]:
    rule = tracked.rule
    return {
        "id": rule.id,
        "rule": str(rule),
        "site": rule.site,
        "kind": rule.kind,
        "place": rule.place,
        "name": rule.name,
        "value": rule.value,
        "state": tracked.state,
        "since": tracked.since,
        "pairs": len(tracked.pairs),
        "pair": list(tracked.pair),
        "probes": tracked.probes,
        "samples": tracked.samples,
        "withheld": tracked.withheld,
        "why": tracked.why or None,
    }
