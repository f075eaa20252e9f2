"""``scrapy crawl``: Scrapy's command with a check of all input before the start, and with an exit status.

Exit status 0: the crawl ended as requested: the frontier was empty, a limit was reached, or a signal came. 1: it
ended because of errors. 2: it did not start, because an argument, a setting, a file or the JOBDIR is wrong; each
problem has a line on standard error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import BaseRunSpiderCommand
from scrapy.settings import Settings

if TYPE_CHECKING:
    import argparse

    from webcrawl.start import CrawlRun


class Command(BaseRunSpiderCommand):
    requires_project = True

    _crawl: CrawlRun

    def syntax(self) -> str:
        return "[options] <spider>"

    def short_desc(self) -> str:
        return "Run a spider, polite and resumable: -s JOBDIR=DIR is the crawl"

    def long_desc(self) -> str:
        return (
            "Run a spider of the project by name. The broad spider takes -a seeds=FILE|URL,...|- and, if "
            "you want, -a allow=REGEX, -a domains=FILE|NAME[,NAME...], -a stay=domain|host, -a focus=WHAT, "
            "-a segment=FILE and -a mode=continuous. A setting of a package or of your own is -s +NAME=VALUE. The "
            "folder of -s JOBDIR=DIR is the crawl: the same command again resumes it. Exit status: 0 ended as "
            "requested, 1 ended because of errors, 2 the command is wrong and nothing was started."
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check all input; nothing has been started or written when something is wrong."""
        # Scrapy imports all commands at each start.
        from webcrawl.start import CrawlRun

        assert isinstance(self.settings, Settings)
        self._crawl = CrawlRun(self.settings)
        self._crawl.check(args, opts, super().process_options)
        self.requires_crawler_process = self._crawl.is_alone

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not self._crawl.is_alone:
            self.exitcode = self._crawl.run_workers(args, opts)
            return
        assert self.crawler_process is not None
        self.exitcode = self._crawl.run(self.crawler_process, self._warn_if_feeds_unused, opts)
