"""``scrapy set [NAME=VALUE ...] [JOBDIR|REDIS_URL]``: change settings of a crawl while it runs, or list those that
can be changed.

Exit status 0: done. 1: done, and a running worker does not apply it. 2: a name or a value is wrong, or there is no
such crawl; nothing was changed, and a line on standard error says why.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from webcrawl.command import CrawlCommand
from webcrawl.commands.changes import given_by, not_applied, value_in_words
from webcrawl.errors import ConfigurationError, Problem
from webcrawl.terminal import crawl_as_json, refuse, tell
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawl.control.steering import Changed, SettingState
    from webcrawl.control.stored import StoredCrawl

_CHANGE = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)", re.DOTALL).fullmatch


class Command(CrawlCommand):
    def syntax(self) -> str:
        return "[options] [NAME=VALUE ...] [JOBDIR | REDIS_URL]"

    def short_desc(self) -> str:
        return "Change settings of a crawl while it runs"

    def long_desc(self) -> str:
        return (
            "Change settings of a crawl: within seconds in all processes that work on it, and for its next runs. "
            "Without NAME=VALUE, list the settings that can be changed, with their present values. NAME= takes a "
            "change back. Values are checked as at the start of a crawl; if one is wrong, nothing is changed."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--no-wait",
            dest="wait",
            action="store_false",
            help="do not wait until the crawl applies the change",
        )
        parser.add_argument(
            "--reset", metavar="NAME", action="append", default=[], help="take the change of a setting back"
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        matches = [(word, _CHANGE(word)) for word in args]
        changes: dict[str, str | None] = dict.fromkeys(opts.reset)
        for word, change in matches:
            if change is None:
                continue
            name, value = change.groups()
            if name in changes:
                yield Problem(printable(name), "is given twice")
            changes[name] = value or None
            args.remove(word)
        self._changes = changes
        yield from super().wrong_words(args, opts)

    def answer(self, args: list[str], opts: argparse.Namespace) -> int:
        # Scrapy imports all commands at each start.
        from webcrawl.control.steering import Steering

        assert self.settings is not None
        crawl = self.crawl(opts)
        steering = Steering(crawl, self.settings, opts.spider)
        if not self._changes:
            rows = steering.settings()
            tell(_as_json(crawl, rows) if opts.json else "\n".join(_as_text(crawl, rows)))
            return 0
        try:
            changed = steering.set(self._changes)
        except ConfigurationError as error:
            refuse(self.name, error.problems)
        running = [worker.name for worker in crawl.running_workers()]
        late = steering.not_obeyed("overlay") if opts.wait and running else []
        rows = [row for row in steering.settings() if row.name in self._changes]
        if opts.json:
            answer = crawl_as_json(
                crawl,
                changed=[asdict(change) for change in changed],
                running=running,
                late=late,
                settings=_rows(rows),
            )
            tell(answer)
        else:
            for change in changed:
                tell(_change_in_words(change))
            for line in _in_force(crawl, running, late, rows, waited=opts.wait):
                tell(line)
        return 1 if late or any(row.refused for row in rows) else 0


def _in_force(
    crawl: StoredCrawl,
    running: Sequence[str],
    late: Sequence[str],
    rows: Sequence[SettingState],
    *,
    waited: bool,
) -> Iterator[str]:
    if not running:
        yield f"{crawl.name} is not running: in force when it runs again"
    elif not waited:
        yield f"{crawl.name}: in force within seconds"
    elif obedient := [name for name in running if name not in late]:
        yield f"In force: {', '.join(map(printable, obedient))}"
    for name in late:
        yield f"Not in force: {printable(name)} has not applied it; it hangs, or is of an older version"
    for row in rows:
        for worker, why in row.refused.items():
            yield f"Not in force: {printable(worker)} does not apply {row.name}: it {printable(why)}"


def _change_in_words(change: Changed) -> str:
    if change.old == change.new:
        return f"{printable(change.name)} is {value_in_words(change.new)}, as before"
    return f"{printable(change.name)} is {value_in_words(change.new)}; it was {value_in_words(change.old)}"


def _as_text(crawl: StoredCrawl, rows: Sequence[SettingState]) -> Iterator[str]:
    yield f"{crawl.name}: settings that can be changed while it runs"
    for group, some in groupby(rows, lambda row: row.group):
        yield ""
        yield group
        for row in some:
            unit = f" {row.unit}" if row.unit and row.value else ""
            yield f"  {row.name:<28} {value_in_words(row.value)}{unit}"
            if row.override is not None:
                yield f"    {given_by(row.override)}; started with {value_in_words(row.started_with)}"
            yield from not_applied(row.refused)
    yield ""
    yield "scrapy set NAME=VALUE changes one, scrapy set NAME= takes the change back"


def _as_json(crawl: StoredCrawl, rows: Sequence[SettingState]) -> str:
    return crawl_as_json(crawl, settings=_rows(rows))


def _rows(rows: Sequence[SettingState]) -> list[dict[str, Any]]:
    return [asdict(row) for row in rows]
