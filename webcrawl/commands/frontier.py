"""``scrapy frontier status|pause|resume|stop|check``: a crawl from outside, while it runs or stands still.

0: done, or all agrees. 1: ``check`` found what does not agree. 2: the command or a setting is wrong, or the crawl
cannot be reached; a line on standard error says why.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from webcrawl.command import ProjectCommand
from webcrawl.commands import agreement, standing
from webcrawl.commands.answering import complain, refuse, tell
from webcrawl.commands.arguments import BROAD
from webcrawl.configuration.vocabulary import nearest
from webcrawl.crawls.asked import crawl_named, take_settings_of
from webcrawl.crawls.local import LocalCrawl
from webcrawl.errors import CrawlError, Problem
from webcrawl.frontier.backend import Command as Wanted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


COMMANDS = {"pause": Wanted.PAUSE, "resume": Wanted.RUN, "stop": Wanted.STOP}
VERBS = ("status", *COMMANDS, "check")
_OPTIONS = {"json": ("status", "check"), "wait": tuple(COMMANDS), "mend": ("check",)}


class Command(ProjectCommand):
    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options] <status|pause|resume|stop|check>"

    def short_desc(self) -> str:
        return "Look at a crawl, pause or stop all its workers, check its books"

    def long_desc(self) -> str:
        return (
            "status: how the crawl stands, and each of its workers. pause, resume, stop: all workers of a crawl on "
            "Redis. check: whether every URL is in exactly one state and every count agrees. Which crawl is meant "
            "say -s REDIS_URL=... (or the settings of scrapy-redis), or -s JOBDIR=DIR for a crawl of one process."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--spider", metavar="NAME", default=BROAD, help="whose crawl on Redis (default: %(default)s)"
        )
        parser.add_argument("--json", action="store_true", help="status, check: one JSON object")
        parser.add_argument("--wait", action="store_true", help="pause, resume, stop: until all obey")
        parser.add_argument("--mend", action="store_true", help="check: repair what does not agree")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        if not args:
            raise UsageError
        problems = list(_wrong_words(args, opts))
        take_settings_of(opts.spider, self.settings)
        problems += self.wrong_settings()
        if problems:
            refuse("frontier", problems)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        try:
            self.exitcode = self._carry_out(args[0], opts)
        except CrawlError as error:
            self.exitcode = complain("frontier", [error])
        except KeyboardInterrupt:
            sys.stderr.write("scrapy frontier: interrupted\n")
            self.exitcode = 1

    def _carry_out(self, verb: str, opts: argparse.Namespace) -> int:
        assert self.settings is not None
        crawl = crawl_named(self.settings, opts.spider)
        if verb == "status":
            found = crawl.standing()
            tell(standing.as_json(crawl, found) if opts.json else standing.as_text(crawl, found))
            return 0
        if verb == "check":
            progress = _progress if sys.stderr.isatty() else None
            checked = crawl.mend(progress) if opts.mend else crawl.check(progress)
            tell(agreement.as_json(crawl, checked) if opts.json else agreement.as_text(crawl, checked))
            return 0 if checked.agrees else 1
        if isinstance(crawl, LocalCrawl):
            raise CrawlError(
                f"{verb} is for a crawl on Redis; a crawl of one process is stopped by a signal, SIGINT or SIGTERM"
            )
        crawl.command(COMMANDS[verb], wait=opts.wait, tell=tell)
        return 0


def _wrong_words(args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
    verb = args[0]
    if verb not in VERBS:
        meant = nearest(verb, VERBS)
        hint = f"did you mean {meant}?" if meant else f"there are {', '.join(VERBS)}"
        yield Problem(verb, f"is no command of the frontier; {hint}")
        return
    if len(args) > 1:
        yield Problem(args[1], f"is one argument too many behind {verb}")
    for option, verbs in _OPTIONS.items():
        if getattr(opts, option) and verb not in verbs:
            yield Problem(f"--{option}", f"is for {' and '.join(verbs)}, not for {verb}")


def _progress(done: int, total: int) -> None:
    sys.stderr.write(f"\rshard {done} of {total}" + ("\n" if done >= total else ""))
    sys.stderr.flush()
