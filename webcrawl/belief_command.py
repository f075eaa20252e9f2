"""The course of a command that lists beliefs of a crawl, and undoes them."""

from __future__ import annotations

from abc import abstractmethod
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

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
    from webcrawl.features.beliefs.belief import Belief
    from webcrawl.features.beliefs.store import BeliefStore

Held = TypeVar("Held", bound="Belief")


class BeliefCommand(ProjectCommand, Generic[Held]):
    """Exit status 0: done, or nothing to do. 2: the command or a setting is wrong, no belief has the given id, or the
    crawl cannot be reached; a line on standard error says why."""

    spider_help = "spider of the crawl on Redis"
    json_help = "print one JSON object"

    noun: ClassVar[str]
    """The word for one belief of this kind, such as "DUST rule"."""
    short: ClassVar[str]
    """The word for it without its kind, such as "rule"."""
    plural: ClassVar[str]
    """The key of their list in JSON."""
    applied: ClassVar[str] = ""
    """The word behind the number of those that are used."""

    def syntax(self) -> str:
        return "[options] [JOBDIR]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add, short = parser.add_argument, self.short
        add(
            "--undo",
            action="append",
            metavar=short.upper(),
            default=[],
            help=f"undo the {short} with this id, or all",
        )
        add("--all", action="store_true", help=f"list refuted {short}s too")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        if len(args) > 1:
            yield Problem(args[1], "one JOBDIR is enough")

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        # Scrapy imports all commands at each start.
        from webcrawl.control.steering import Steering
        from webcrawl.features.beliefs.belief import REFUTED

        if args:
            self.settings.set("JOBDIR", args[0], priority="cmdline")
        crawl, store = require_crawl(self.settings, opts.spider), self.store()
        if opts.undo:
            beliefs = Steering(crawl, self.settings, opts.spider).undo_beliefs(store, self.noun, opts.undo)
        else:
            stored = crawl.read_store(store, store.beliefs)
            beliefs = [belief for belief in stored if opts.all or belief.state != REFUTED]
        if opts.json:
            objects = [self._as_object(belief) for belief in beliefs]
            tell(crawl_as_json(crawl, **{self.plural: objects}))
        else:
            tell(self._undone(crawl, beliefs) if opts.undo else self._as_text(crawl, beliefs))

    def _as_text(self, crawl: StoredCrawl, beliefs: Sequence[Held]) -> str:
        from webcrawl.features.beliefs.belief import CONFIRMED

        count = sum(belief.state == CONFIRMED for belief in beliefs)
        lines = [f"{crawl.name}: {text.things(count, self.noun)}{self.applied}"]
        for belief in beliefs:
            lines += ["", f"{belief.id}  {printable(self.describe(belief))}"]
            moment = datetime.fromtimestamp(belief.since)
            lines.append(f"  state     {belief.state} since {moment:%Y-%m-%d %H:%M:%S}")
            lines += [f"  {name:9} {printable(value)}" for name, value in self.proof(belief)]
            if belief.why:
                lines.append(f"  why       {printable(belief.why)}")
            lines.append(f"  withheld  {text.things(belief.withheld, 'URL')}")
        if count:
            undo = f"scrapy {self.name} --undo {self.short.upper()} undoes a {self.short}"
            lines += ["", f"{undo}, with the same JOBDIR or -s"]
        return "\n".join(lines)

    def _undone(self, crawl: StoredCrawl, beliefs: Sequence[Held]) -> str:
        if not beliefs:
            return f"{crawl.name}: no {self.noun} is applied"
        when = "within seconds" if crawl.running_workers() else "when the crawl goes on"
        lines = [
            f"{belief.id}  {printable(self.describe(belief))} is undone; {text.things(belief.withheld, 'URL')} "
            "withheld"
            for belief in beliefs
        ]
        return "\n".join([*lines, f"Their withheld URLs are queued again {when}"])

    def _as_object(self, belief: Held) -> dict[str, Any]:
        return {
            "id": belief.id,
            **self.fields(belief),
            "state": belief.state,
            "since": belief.since,
            "probes": belief.probes,
            "samples": belief.samples,
            "withheld": belief.withheld,
            "why": belief.why or None,
        }

    @abstractmethod
    def store(self) -> type[BeliefStore[Held]]:
        """Return the class of their store. Scrapy imports all commands at each start, so it is imported here."""

    @abstractmethod
    def describe(self, belief: Held) -> str:
        """Return what is believed."""

    @abstractmethod
    def proof(self, belief: Held) -> Iterator[tuple[str, str]]:
        """Yield what proved a belief: names of lines, and their text."""

    @abstractmethod
    def fields(self, belief: Held) -> dict[str, Any]:
        """Return the values of a belief that only beliefs of its kind have, for JSON."""
