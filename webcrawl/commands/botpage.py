"""``scrapy botpage``: write the page that the User-Agent's link may lead to, from the settings of the crawl.

With ``--output`` the addresses are also written beside it, as a file for machines.

Exit status 0: the page was written. 2: a setting or an argument is wrong, or the file cannot be written.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.atomic_file import replace
from webcrawl.command import ProjectCommand
from webcrawl.config import Configuration, check
from webcrawl.crawl.drawing import draws
from webcrawl.errors import Problem
from webcrawl.politeness.contact import is_contact
from webcrawl.reports.botpage import Bot, page
from webcrawl.terminal import complain, refuse

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

ADDRESSES = "BOTPAGE_ADDRESSES"
STANDARD_OUTPUT = "-"


class Command(ProjectCommand):
    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "Write the web page that tells site owners about the crawler"

    def long_desc(self) -> str:
        return (
            "Write one self-contained HTML page about the crawler for site owners: what it does, how to "
            "recognise it, how often it sends requests, how to slow it down or block it, and whom to write to. "
            "Its content follows from the settings, so give those of the crawl. Publish it where "
            "CRAWLER_CONTACT or the User-Agent points."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--output",
            metavar="FILE",
            default=STANDARD_OUTPUT,
            help="file to write (default: standard output)",
        )
        parser.add_argument(
            "--reverse-dns",
            action="store_true",
            help="look up the names of the addresses, and tell those that lead back to them",
        )
        parser.add_argument(
            "--address",
            metavar="ADDRESS",
            action="append",
            default=[],
            help="an IP address or network of the crawler, in addition to -s BOTPAGE_ADDRESSES",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        if args:
            yield Problem(args[0], "is one argument too many; botpage takes options alone")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        listed = map(str, self.configuration.botpage_addresses)
        self.settings.set(ADDRESSES, [*listed, *",".join(opts.address).split(",")], priority="cmdline")
        problems = [
            Problem("--address", problem.message) if problem.name == ADDRESSES else problem
            for problem in check(self.settings)
        ]
        if problems := problems or list(_without_contact(self.configuration)):
            refuse(self.name, problems)

    def answer(self, args: list[str], opts: argparse.Namespace) -> int | None:
        assert self.settings is not None
        configuration = self.configuration
        is_printed = opts.output == STANDARD_OUTPUT
        bot = describe_bot(
            configuration,
            runs_scripts=draws(self.settings),
            ranges_url=_ranges_url(configuration, is_printed),
            names=self._names(configuration) if opts.reverse_dns else (),
        )
        html = page(bot)
        if is_printed:
            sys.stdout.write(html.decode("ascii"))
            return 0
        try:
            if bot.ranges_url:
                # Scrapy imports all commands at each start.
                from webcrawl.features.identity.address_ranges import FILE_NAME, address_ranges

                ranges = address_ranges(bot.addresses, bot.token, time.time())
                replace(Path(opts.output).with_name(FILE_NAME), ranges)
            replace(Path(opts.output), html)
        except OSError as error:
            return complain(self.name, [f"--output: {opts.output}: {error.strerror or error}"])
        return 0

    def _names(self, configuration: Configuration) -> list[tuple[str, str]]:
        """Return the addresses that have a name which leads back to them, and tell of the others."""
        # Scrapy imports all commands at each start.
        from webcrawl.features.identity.reverse_dns import look_up, sample_note

        addresses = asyncio.run(look_up(configuration.botpage_addresses, configuration.dns_nameservers))
        complain(
            self.name,
            [
                f"{address.address} {address.reason}; the page has no name for it"
                for address in addresses
                if not address.name
            ],
        )
        if note := sample_note(configuration.botpage_addresses):
            complain(self.name, [f"BOTPAGE_ADDRESSES: {note}"])
        return [(address.address, address.name) for address in addresses if address.name]


def _ranges_url(configuration: Configuration, is_printed: bool) -> str:
    """Return the URL of the addresses as a file: beside the page, or where scrapy identity write puts it."""
    if not configuration.botpage_addresses:
        return ""
    # Scrapy imports all commands at each start.
    from webcrawl.features.identity.address_ranges import FILE_NAME

    if not is_printed:
        return FILE_NAME
    return "" if configuration.identity_agent is None else f"{configuration.identity_agent}/{FILE_NAME}"


def describe_bot(
    configuration: Configuration,
    *,
    runs_scripts: bool = False,
    ranges_url: str = "",
    names: Sequence[tuple[str, str]] = (),
) -> Bot:
    """Return the description of the crawler with these settings. For the last three see ``Bot``."""
    agent, keys_url = configuration.identity_agent or "", ""
    if agent:
        # Scrapy imports all commands at each start.
        from webcrawl.features.identity import publishing

        keys_url = publishing.keys_url(agent)
    return Bot(
        tokens=configuration.product_tokens,
        user_agent=configuration.user_agent,
        contact=configuration.botpage_contact or configuration.crawler_contact,
        purpose=configuration.botpage_purpose,
        answer=configuration.botpage_answer,
        addresses=configuration.botpage_addresses,
        site=configuration.politeness_key,
        min_delay=configuration.politeness_min_delay,
        max_delay=configuration.politeness_max_delay,
        factor=0.0 if configuration.politeness_model == "fixed" else configuration.politeness_factor,
        crawl_delay_max=configuration.politeness_crawl_delay_max,
        robots_ttl=configuration.robots_ttl_seconds,
        obeys_meta=configuration.robots_meta_obey,
        obeys_header=configuration.robots_header_obey,
        nofollow_rels=configuration.nofollow_rels,
        records_usage=configuration.usage_record,
        purposes=configuration.usage_purposes,
        usage_withheld=bool(configuration.usage_withheld),
        usage_refused=bool(configuration.usage_refused),
        data_use=configuration.botpage_data_use,
        runs_scripts=runs_scripts,
        agent=agent,
        keys_url=keys_url,
        ranges_url=ranges_url,
        names=names,
    )


def _without_contact(configuration: Configuration) -> Iterator[Problem]:
    contact = configuration.botpage_contact
    if contact and not is_contact(contact):
        yield Problem(
            "BOTPAGE_CONTACT", f"must be a web or e-mail address that you answer at, not {contact!r}"
        )
    elif not contact and not configuration.crawler_contact:
        yield Problem(
            "BOTPAGE_CONTACT",
            "must be set, for instance to you@your.site: site owners need a contact; or set CRAWLER_CONTACT",
        )
    elif not contact and "://" in configuration.crawler_contact:
        yield Problem(
            "BOTPAGE_CONTACT",
            f"must be set, for instance to you@your.site: CRAWLER_CONTACT, {configuration.crawler_contact}, is a web "
            "page, probably this one, and its readers need an address to write to",
        )
