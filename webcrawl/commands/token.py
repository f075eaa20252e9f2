"""``scrapy token add NAME|list|revoke NAME [JOBDIR|FOLDER|REDIS_URL]``: operators of a dashboard or a service.

Exit status 0: done. 2: an argument or a setting is wrong, there is no such operator, or none such crawl or service.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.command import CrawlCommand
from webcrawl.errors import CrawlError, Problem
from webcrawl.terminal import table, tell

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

ADD, LIST, REVOKE = "add", "list", "revoke"
_VERBS = (ADD, LIST, REVOKE)


class Command(CrawlCommand):
    def syntax(self) -> str:
        return "[options] add <NAME> | list | revoke <NAME> [JOBDIR | FOLDER | REDIS_URL]"

    def short_desc(self) -> str:
        return "Give operators tokens for the dashboard or the service"

    def long_desc(self) -> str:
        return (
            "Give an operator of a dashboard, or of the service for the crawls in FOLDER, a token of its own: add "
            "shows it once, with --read it only reads. list shows the operators, revoke ends the token of one and "
            "its sessions. All is in force from the next request on."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--read", action="store_true", help="with add: the token only reads")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        self._verb, self._name = args[0] if args else "", ""
        if self._verb not in _VERBS:
            if args:
                yield Problem(self._verb, "is no command; give add, list or revoke")
            else:
                yield Problem("", "no command; give add, list or revoke")
            return
        rest = args[1:]
        if self._verb != LIST:
            if not rest:
                yield Problem(self._verb, "no name; give that of the operator")
                return
            self._name = rest.pop(0)
        if opts.read and self._verb != ADD:
            yield Problem("--read", "is for add")
        yield from super().wrong_words(rest, opts)

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        # Scrapy imports all commands at each start.
        from webcrawl.web.dashboard import operators

        path = self._path(opts)
        if self._verb == LIST:
            operators_known = operators.OperatorsFile(path).operators()
            rows = [(operator.name, operators.right_in_words(operator.right)) for operator in operators_known]
            if opts.json:
                listed = [{"name": name, "right": right} for name, right in rows]
                tell(json.dumps({"file": str(path), "operators": listed}))
            elif rows:
                tell("\n".join(table([("name", "right"), *rows], 2)))
            else:
                tell(f"There are no operators by name in {path}.")
            return
        right = token = None
        if self._verb == ADD:
            right = operators.READ if opts.read else operators.OPERATE
            token = operators.add(path, self._name, right)
        else:
            operators.revoke(path, self._name)
        if opts.json:
            tell(json.dumps({"file": str(path), "name": self._name, "right": right, "token": token}))
        elif token is None:
            tell(f"The token of {self._name} is void, and so are its sessions.")
        else:
            tell(
                f"The token of {self._name}, who may {right}, is in {path}, and is not shown again:\n{token}"
            )

    def _path(self, opts: argparse.Namespace) -> Path:
        """Return the file of the operators. :raises CrawlError: there is no such crawl or service"""
        from webcrawl.control import folders
        from webcrawl.crawl.jobdir import CRAWLS
        from webcrawl.web.dashboard.process import OPERATORS, operators_path
        from webcrawl.web.dashboard.source import CrawlSource
        from webcrawl.web.service.command import OPERATORS as OF_SERVICE
        from webcrawl.web.service.folder import NAME as SERVICE

        assert self.settings is not None
        configuration = self.configuration
        if configuration.dashboard_operators_file is not None:
            return configuration.dashboard_operators_file
        folder = self._folder
        if folder is None and configuration.storage.is_shared:
            source = CrawlSource(self.settings, opts.spider)
            # It refuses a crawl that is not there, and learns the place of the others.
            source.crawl.status()
            return operators_path(source)
        folder = folder or configuration.jobdir or CRAWLS
        if (folder / SERVICE).is_dir():
            return folder / SERVICE / OF_SERVICE
        if folders.is_crawl(folder):
            return folder / OPERATORS
        raise CrawlError(f"{folder} is no folder of a crawl, nor of a service")
