"""``scrapy identity new|list|rotate|write|check``: the keys that sign requests, and what the crawler publishes.

Exit status 0: done, and of ``check``: all is right. 1: ``check`` found something wrong. 2: an argument or a setting
is wrong, a key file cannot be used, or a file cannot be written; a line on standard error says why.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.command import ProjectCommand, number
from webcrawl.config.identity import KEY_VARIABLE, https_origin, load_keys
from webcrawl.errors import CrawlError, Problem
from webcrawl.reports.text import read_moment
from webcrawl.terminal import tell

if TYPE_CHECKING:
    from collections.abc import Iterator

NEW, LIST, ROTATE, WRITE, CHECK = "new", "list", "rotate", "write", "check"
_VERBS = (NEW, LIST, ROTATE, WRITE, CHECK)
_OF_FILES = (NEW, LIST, ROTATE)
_OWN = ("IDENTITY_KEY_FILE", "IDENTITY_AGENT", KEY_VARIABLE)
_ONLY_WITH = {"begin": ROTATE, "end": ROTATE, "at_once": ROTATE, "days": WRITE}
_NAMES = {"begin": "--from", "end": "--until", "at_once": "--at-once", "days": "--days"}
DAYS = 30.0
DAY_SECONDS = 86_400


class Command(ProjectCommand):
    expected = (CrawlError, OSError)
    json_help = "print one JSON object"

    def syntax(self) -> str:
        return "new [FILE] | list [FILE] | rotate [FILE] | write FOLDER | check [ORIGIN] [options]"

    def short_desc(self) -> str:
        return "Make the keys that sign requests, and publish what verifies them"

    def long_desc(self) -> str:
        return (
            "new writes a new key into FILE, which nobody else can read; list shows the keys in it, rotate adds one "
            "that signs later and lets the others end after that. write puts the directory of public keys, the card "
            "of the crawler and its address ranges into the FOLDER of a web server for IDENTITY_AGENT; check fetches "
            "them from there. Without FILE, that of IDENTITY_KEY_FILE is used. Dates are UTC, such as 2026-03-01 or "
            "2026-03-01T12:30."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add(
            "--from",
            dest="begin",
            type=_moment,
            metavar="DATE",
            help="with rotate: when the new key begins to sign (in two days by default)",
        )
        add(
            "--until",
            dest="end",
            type=_moment,
            metavar="DATE",
            help="with rotate: until when the old keys stay in the directory (a day after --from by default)",
        )
        add(
            "--at-once",
            action="store_true",
            help="with rotate: the new key signs now, and the old ones are removed, since others know them",
        )
        add(
            "--days",
            type=number(float, 1, 3660, "a number of days from 1 to 3660"),
            metavar="N",
            help=f"with write: how long the signature of the directory is valid (default: {DAYS:g})",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        assert self.settings is not None
        self._verb = args[0] if args else ""
        if self._verb not in _VERBS:
            problem = "is no command" if args else "no command"
            yield Problem(self._verb, f"{problem}; give new, list, rotate, write or check")
            return
        for name, verb in _ONLY_WITH.items():
            if getattr(opts, name) not in (None, False) and verb != self._verb:
                yield Problem(_NAMES[name], f"is for {verb}")
        if opts.at_once and (opts.begin or opts.end):
            yield Problem("--at-once", "leaves no time for --from and --until")
        if len(args) > 2:
            yield Problem(args[2], "is one argument too many")
            return
        yield from self._wrong_place(args[1] if len(args) == 2 else "")

    def _wrong_place(self, word: str) -> Iterator[Problem]:
        """Check the file, folder or origin."""
        assert self.settings is not None
        if self._verb in _OF_FILES:
            given = word or str(self.settings.get("IDENTITY_KEY_FILE") or "")
            self._path = Path(given)
            if not given:
                yield Problem(self._verb, "no key file; give one, or set IDENTITY_KEY_FILE")
        elif self._verb == WRITE:
            self._path = Path(word)
            if not word:
                yield Problem(WRITE, "no folder; give that of the web server")
        elif word:
            reader = https_origin()
            if (why := reader.problem(word)) is not None:
                yield Problem(word, why.rpartition(", not ")[0])
                return
            self._agent = str(reader.read(word))
        else:
            self._agent = ""

    def wrong_settings(self) -> list[Problem]:
        problems = super().wrong_settings()
        # A key file that is not there yet, or of which all keys have ended, is what these are for.
        return [item for item in problems if item.name not in _OWN] if self._verb in _OF_FILES else problems

    def answer(self, args: list[str], opts: argparse.Namespace) -> int:
        if self._verb in _OF_FILES:
            self._keys(opts)
            return 0
        return self._write(opts) if self._verb == WRITE else self._check(opts)

    def _keys(self, opts: argparse.Namespace) -> None:
        # Scrapy imports all commands at each start.
        from webcrawl.features.identity import command

        now, path = time.time(), self._path
        if self._verb == NEW:
            ring = command.new(path)
        elif self._verb == LIST:
            ring = command.load(path)
        elif opts.at_once:
            ring = command.rotate(path, command.Rotation(now, now))
        else:
            ring = command.rotate(path, command.Rotation.of(opts.begin, opts.end, now))
        now = time.time()
        if opts.json:
            tell(json.dumps({"file": str(path), "keys": command.as_objects(ring, now)}))
            return
        tell("\n".join(command.as_lines(ring, now)))
        if self._verb != LIST:
            tell(f"Keep {path} secret. Publish the public keys now: scrapy identity write FOLDER")

    def _write(self, opts: argparse.Namespace) -> int:
        # Scrapy imports all commands at each start.
        from webcrawl.features.identity import publishing

        configuration = self.configuration
        ring = load_keys(configuration.identity_key_file)
        if ring is None or configuration.identity_agent is None:
            raise CrawlError("there is no key; set IDENTITY_KEY_FILE and IDENTITY_AGENT")
        seconds = (opts.days or DAYS) * DAY_SECONDS
        files = list(
            publishing.published_files(
                configuration, configuration.identity_agent, ring, time.time(), seconds
            )
        )
        paths = [str(path) for path in publishing.write_files(self._path, files)]
        if opts.json:
            tell(json.dumps({"agent": configuration.identity_agent, "files": paths}))
            return 0
        tell("\n".join(paths))
        tell(
            f"Serve them at {configuration.identity_agent} with the headers of {Path(paths[-2]).name} or "
            f"{publishing.NGINX}, and write them again within {opts.days or DAYS:g} days"
        )
        return 0

    def _check(self, opts: argparse.Namespace) -> int:
        # Scrapy imports all commands at each start.
        from webcrawl.features.identity import command, reachability, reverse_dns

        configuration = self.configuration
        agent = self._agent or configuration.identity_agent
        if agent is None:
            raise CrawlError("no origin; give one such as https://bot.your.site, or set IDENTITY_AGENT")
        # The keys of this crawler are nothing to the origin of another one.
        is_own = agent == configuration.identity_agent
        ring = load_keys(configuration.identity_key_file) if is_own else None
        addresses = configuration.botpage_addresses if is_own else ()
        contact = configuration.crawler_contact
        page_url = contact if is_own and contact.startswith(("http://", "https://")) else ""
        findings = reachability.check_origin(
            agent, ring, addresses, configuration.user_agent, time.time(), page_url
        )
        look_up = reverse_dns.look_up(addresses, configuration.dns_nameservers)
        names = asyncio.run(look_up)
        sample = reverse_dns.sample_note(addresses)
        if opts.json:
            tell(
                json.dumps(
                    {
                        "agent": agent,
                        "right": findings.all_right and all(one.name for one in names),
                        "findings": [
                            {"url": url, "right": is_right, "finding": finding}
                            for url, is_right, finding in findings.lines
                        ],
                        "names": [
                            {"address": one.address, "name": one.name or None, "reason": one.reason or None}
                            for one in names
                        ],
                        "sample": sample or None,
                    }
                )
            )
        else:
            tell("\n".join(command.finding_lines(findings, names, sample)))
        return 0 if findings.all_right and all(one.name for one in names) else 1


def _moment(text: str) -> float:
    try:
        return read_moment(text)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"must be a date such as 2026-03-01 or 2026-03-01T12:30, not {text!r}"
        ) from None
