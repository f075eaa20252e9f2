"""Checks of the arguments of a crawl, made before anything starts and without changing anything."""

from __future__ import annotations

from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from webcrawl import storage
from webcrawl.config.features import focus
from webcrawl.config.readers import as_list
from webcrawl.config.vocabulary import hint
from webcrawl.crawl.feature_table import SEGMENT_FILE
from webcrawl.crawl.rules import wrong_files
from webcrawl.errors import Problem
from webcrawl.politeness.contact import contact_problem
from webcrawl.scope.exclusion import ExclusionError, ExclusionList
from webcrawl.scope.url_rules import SITES, AllowRule, PatternError
from webcrawl.scope.whitelist import WhitelistError, load_whitelist
from webcrawl.urls.schemes import WEB, Schemes
from webcrawl.urls.seeds import BadSeed, Seed, SeedsError, read_seeds

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from scrapy import Spider
    from scrapy.settings import BaseSettings

    from webcrawl.config import Configuration

BROAD = "broad"
"""The name of the project's own spider."""
BROAD_ARGUMENTS = ("seeds", "allow", "domains", "focus", "mode", "segment", "stay")
MODES = ("once", "continuous")
STANDARD_INPUT = "-"
_PREFIXES = "SETTINGS_PREFIXES"


def own_names(opts: argparse.Namespace, settings: BaseSettings) -> frozenset[str]:
    """Return the names in ``-s +NAME=VALUE``, which are settings of packages or of a project; remove the signs.

    The names are added to SETTINGS_PREFIXES, by which the crawl knows them too.
    """
    own = frozenset(
        setting.partition("=")[0].removeprefix("+") for setting in opts.set if setting.startswith("+")
    )
    opts.set[:] = [setting.removeprefix("+") for setting in opts.set]
    if own:
        values = [setting.partition("=")[2] for setting in opts.set if setting.partition("=")[0] == _PREFIXES]
        known = values[-1] if values else settings.get(_PREFIXES, ())
        names = [name for name in sorted(own) if name.isupper()]
        opts.set.append(f"{_PREFIXES}={','.join([*as_list(known), *names])}")
    return own


def check_arguments(
    spider: type[Spider],
    arguments: Mapping[str, str],
    configuration: Configuration,
    *,
    resuming: bool,
    schemes: Schemes = WEB,
) -> Iterator[Problem]:
    """Yield all problems of the spider's arguments, and of their combination with the settings.

    ``resuming``: a crawl is resumed, so seeds are not required. The broad spider's arguments are checked; those of
    another spider are not, except that it must not crawl without a contact. ``schemes``: those of the crawl.
    """
    if configuration.exclusion_file is not None:
        try:
            ExclusionList.load(configuration.exclusion_file)
        except ExclusionError as error:
            yield from (Problem("EXCLUSION_FILE", line) for line in str(error).splitlines())
    for name, line in wrong_files(configuration):
        yield Problem(name, line)
    sought = arguments.get("focus") or configuration.focus or callable(getattr(spider, "relevance", None))
    if configuration.warc_pages == "relevant" and not sought:
        yield Problem("WARC_PAGES", "relevant needs a subject: -a focus=WHAT or FOCUS")
    if spider.name != BROAD:
        yield from _start_urls(spider)
        yield from _contact(_hosts_of_spider(spider), configuration)
        return
    yield from unknown_arguments(arguments)
    if "allow" in arguments:
        yield from _pattern(arguments["allow"])
    if arguments.get("focus") and (why := focus().problem(arguments["focus"])):
        yield Problem("-a focus", why)
    if "mode" in arguments and arguments["mode"] not in MODES:
        yield Problem("-a mode", f"must be {' or '.join(MODES)}, not {arguments['mode']!r}")
    if "stay" in arguments and arguments["stay"] not in SITES:
        yield Problem("-a stay", f"must be {' or '.join(SITES)}, not {arguments['stay']!r}")
    if arguments.get("segment") or _holds_segment(configuration):
        yield from _segment(arguments, configuration)
        return
    if not (arguments.get("seeds") or arguments.get("domains") or resuming or configuration.asks_for_seeds):
        yield Problem("", "nothing to crawl; give -a seeds=FILE, -a seeds=URL or -a domains=FILE")
        return
    yield from _places(arguments, configuration, schemes)


def _of_class(spider: type[Spider], name: str) -> list[str]:
    """Return the values of a list that the class has; none of a property, which needs a spider."""
    values = getattr(spider, name, None)
    return [] if hasattr(values, "__get__") else [str(value) for value in values or ()]


def _start_urls(spider: type[Spider]) -> Iterator[Problem]:
    """Yield a problem for each of a spider's URLs without a scheme, of which Scrapy makes no Request."""
    for url in _of_class(spider, "start_urls"):
        if "://" not in url and not url.startswith(("about:", "data:")):
            yield Problem("start_urls", f"{url!r} has no scheme; write 'https://{url}'")


def unknown_arguments(arguments: Mapping[str, str]) -> Iterator[Problem]:
    """Yield names that are no argument of the broad spider. What a scheduler of jobs notes begins with ``_``."""
    for name in arguments:
        if name not in BROAD_ARGUMENTS and not name.startswith("_"):
            known = hint(name.lower(), BROAD_ARGUMENTS)
            yield Problem(f"-a {name}", f"is no argument of the spider {BROAD}; {known}")


def _pattern(text: str) -> Iterator[Problem]:
    try:
        AllowRule(text)
    except PatternError as error:
        yield Problem("-a allow", str(error))


def _places(
    arguments: Mapping[str, str], configuration: Configuration, schemes: Schemes
) -> Iterator[Problem]:
    """Yield problems of the seeds and the whitelist, and of the contact that their crawling requires."""
    problems: dict[str, Problem] = {}
    hosts_of_seeds = partial(_hosts_of_seeds, schemes=schemes)
    for name, hosts_of in (("domains", _hosts_of_whitelist), ("seeds", hosts_of_seeds)):
        if not arguments.get(name):
            continue
        try:
            hosts = hosts_of(arguments[name])
            # The first is always read, so that an empty file is detected; the others only when they matter.
            first = [host for host in (next(hosts, None),) if host is not None]
            for problem in _contact(chain(first, hosts), configuration):
                problems.setdefault(problem.name, problem)
        except (SeedsError, WhitelistError) as error:
            problems[name] = Problem(f"-a {name}", str(error))
    yield from problems.values()


def _segment(arguments: Mapping[str, str], configuration: Configuration) -> Iterator[Problem]:
    """Yield problems of a crawl of a segment: one that is given, or that its JOBDIR holds.

    Its lines, and whether they require a contact, are checked when it is read.
    """
    for name in ("seeds", "domains"):
        if arguments.get(name):
            yield Problem(f"-a {name}", "a crawl of a segment takes its URLs from the segment; leave it out")
    if (arguments.get("mode") or configuration.crawl_mode) == "continuous":
        yield Problem("-a mode", "a crawl of a segment visits its URLs once; leave continuous out")
    if configuration.frontier_seen == "bloom":
        yield Problem("-a segment", "needs FRONTIER_SEEN=exact: a Bloom filter cannot say what was fetched")
    if configuration.storage.frontier_file is None:
        able = storage.technology_names(lambda technology: technology.frontier_file is not None)
        yield Problem("-a segment", f"needs FRONTIER_BACKEND={able}, not {configuration.storage.name}")
    if path := arguments.get("segment"):
        try:
            with Path(path).open("rb"):
                pass
        except OSError as error:
            yield Problem("-a segment", f"{path} cannot be read: {error.strerror or error}")
    jobdir = configuration.jobdir
    if jobdir is not None and storage.technology_in(jobdir) is not None and not _holds_segment(configuration):
        yield Problem("-a segment", f"{jobdir} is the crawl of no segment; give another JOBDIR")


def _holds_segment(configuration: Configuration) -> bool:
    return configuration.jobdir is not None and (configuration.jobdir / SEGMENT_FILE).exists()


def _contact(hosts: Iterator[str], configuration: Configuration) -> Iterator[Problem]:
    if why := contact_problem(configuration.user_agent, configuration.crawler_contact, hosts):
        yield Problem("CRAWLER_CONTACT", why)


def _hosts_of_whitelist(source: str) -> Iterator[str]:
    return load_whitelist(source).names()


def _hosts_of_seeds(source: str, schemes: Schemes) -> Iterator[str]:
    """Yield the hosts of all seeds. Standard input is not read here: the crawl reads it and checks the contact."""
    if source.strip() == STANDARD_INPUT:
        return
    bad: BadSeed | None = None
    has_seeds = False
    for seed in read_seeds(source, schemes=schemes):
        if isinstance(seed, Seed):
            has_seeds = True
            yield urlsplit(seed.url).hostname or ""
        elif bad is None:
            bad = seed
    if bad is not None and not has_seeds:
        raise SeedsError(f"no seed in {source!r} is a URL; line {bad.line}, {bad.text!r}: {bad.reason}")


def _hosts_of_spider(spider: type[Spider]) -> Iterator[str]:
    """Yield the hosts that a spider names in its class; hosts that it determines later are not known yet."""
    for url in _of_class(spider, "start_urls"):
        yield urlsplit(str(url) if "://" in str(url) else f"//{url}").hostname or "localhost"
    for domain in _of_class(spider, "allowed_domains"):
        yield urlsplit(f"//{domain}").hostname or "localhost"
