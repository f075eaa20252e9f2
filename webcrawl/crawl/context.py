"""The parts of one crawl, built from its settings: the one place that knows all of them.

Scrapy builds the downloader middlewares, the scheduler and the extensions at different moments; all of them find the
same parts here.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.config import Configuration
from webcrawl.crawl import essentials
from webcrawl.crawl.archiving import build_archive
from webcrawl.crawl.feature import CrawlContext, Features, Parts
from webcrawl.crawl.feature_table import FURTHER, SHAPING, build_features, further_entries
from webcrawl.crawl.jobdir import Jobdir, folder_of_all, new_folder
from webcrawl.crawl.ordering import best_first_exploration, build_order
from webcrawl.crawl.page_processing import build_processing
from webcrawl.crawl.refused_start import answering
from webcrawl.crawl.request_codec import is_explicit, may_have_errback, proxy_payload, request_agent
from webcrawl.crawl.rules import CrawlRules, build_hours, build_politeness, extensions_refused
from webcrawl.crawl.schemes import supported_schemes
from webcrawl.crawl.seeded_hosts import SeededHosts
from webcrawl.crawl.storage import build_backend
from webcrawl.errors import ConfigurationError, Problem, StartRefused
from webcrawl.fetching.bandwidth import Bandwidth, get_bandwidth
from webcrawl.fetching.network import get_network, seed_addresses
from webcrawl.fetching.signing import sign_requests
from webcrawl.frontier.committer import ArchiveThread
from webcrawl.frontier.intake import Intake
from webcrawl.frontier.order import LevelSampler
from webcrawl.frontier.policies import FrontierLimits, Policies, RobotsPolicy
from webcrawl.politeness.contact import contact_problem, is_contact, is_public, user_agent
from webcrawl.politeness.health import Health
from webcrawl.robots.answer import Absence
from webcrawl.robots.rules import RulesCache
from webcrawl.scope.exclusion import ExclusionList, ExclusionRule
from webcrawl.scope.port import BadPortRule
from webcrawl.scope.private import PrivateAddressRule
from webcrawl.scope.scope import Rule, Scope
from webcrawl.scope.url_rules import (
    AllowRule,
    ContactRule,
    DepthRule,
    ExtensionRule,
    LengthRule,
    OffsiteRule,
    SchemeRule,
    StayRule,
)
from webcrawl.scope.whitelist import WhitelistRule, load_whitelist
from webcrawl.storage.contract import Backend, ClockStore, SharedBackend
from webcrawl.storage.machine_clocks import MachineClocks
from webcrawl.urls.politeness_key import PolitenessKey, get_host
from webcrawl.urls.schemes import WEB, Schemes

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from webcrawl.storage.technology import CrawlClock

ROBOTS_PARSED = 5_000
"""Origins whose rules are kept parsed, in about 60 MB; a miss costs the 0.3 ms of parsing anew."""

_OF_LINKS = frozenset((ExtensionRule.name,))
"""Rules that judge the links of pages, and not a spider's own Requests."""

_ATTRIBUTE, _CONFIGURATION = "_webcrawl_context", "_webcrawl_configuration"
"""The attributes of the crawler that hold its context and its settings. The parts of a crawl refer to the crawler,
so a table here would keep all crawls of the process in memory, whatever kind of references it has."""


def get_context(crawler: Crawler) -> CrawlContext:
    """Return the crawl's context, built with the first call. :raises ConfigurationError: a setting is wrong."""
    context: CrawlContext | None = vars(crawler).get(_ATTRIBUTE)
    if context is None:
        with answering(crawler):
            context = _build(crawler)
        vars(crawler)[_ATTRIBUTE] = context
    return context


def get_configuration(crawler: Crawler) -> Configuration:
    """Return the crawl's settings as typed values; they are read once for all who ask.

    :raises ConfigurationError: naming every setting that is wrong.
    """
    configuration: Configuration | None = vars(crawler).get(_CONFIGURATION)
    if configuration is None:
        configuration = vars(crawler)[_CONFIGURATION] = Configuration.from_settings(crawler.settings)
    return configuration


def get_fatal_error(crawler: Crawler) -> BaseException | None:
    """Return the error that ended a crawl; None if there was none, or no context."""
    context: CrawlContext | None = vars(crawler).get(_ATTRIBUTE)
    return None if context is None else context.trouble


def _build(crawler: Crawler) -> CrawlContext:
    essentials.require(crawler.settings)
    configuration = get_configuration(crawler)
    if mode := getattr(crawler.spider, "mode", None):
        configuration = replace(configuration, crawl_mode=mode)
    if agent := getattr(crawler.spider, "user_agent", None):
        agent = user_agent(str(agent), configuration.crawler_contact)
        configuration = replace(configuration, user_agent=agent)
    require_contact(crawler.spider, configuration)
    if configuration.sitemaps_follow is None:
        follows = bool(getattr(crawler.spider, "follows_sitemaps", False))
        configuration = replace(configuration, sitemaps_follow=follows)
    choices = CrawlRules(configuration)
    key = choices.politeness_key()
    addresses = seed_addresses(crawler)
    exclusions = load_exclusions(configuration)
    directory = jobdir_path(crawler, configuration)
    jobdir = None if directory is None else Jobdir(directory)
    seeded = SeededHosts(
        addresses, BadPortRule(configuration.ports_allowed), allows=configuration.seeds_private_addresses
    )
    owner, spider = spider_name(crawler), crawler.spider
    backend, clock = build_backend(
        configuration, choices, crawler.settings, directory, owner, spider, seeded.learn
    )
    features = Features()
    parts = Parts(configuration, spider, choices, clock, backend, directory, features)
    others = further_entries()
    build_features([*SHAPING, *(entry for entry in others if entry.is_shaping)], parts)
    schemes = supported_schemes(crawler.settings)
    scopes = build_scopes(configuration, choices, spider, addresses.rule, seeded.ports, exclusions, schemes)
    parts.intake = intake = _intake(key, scopes, choices, features, configuration.embed_hops_max, schemes)
    parts.archive = archive = None if jobdir is None else _archive(configuration, jobdir, crawler, features)
    build_features([*FURTHER, *(entry for entry in others if not entry.is_shaping)], parts)
    for feature in features:
        if feature.signer is not None:
            sign_requests(crawler, feature.signer)
    read_usage = next((feature.read_usage for feature in features if feature.read_usage is not None), None)
    rules = RulesCache(ROBOTS_PARSED, *configuration.product_tokens, read_usage=read_usage)
    return CrawlContext(
        configuration,
        clock,
        key,
        intake,
        _policies(crawler, configuration, choices, key, intake, rules, features),
        rules,
        jobdir,
        backend,
        archive,
        exclusions,
        seeded,
        _bandwidth(crawler, backend),
        features,
        next((feature.results for feature in features if feature.results is not None), archive),
        _clocks(configuration, backend, clock, directory),
        *build_processing(configuration),
    )


def require_contact(spider: object, configuration: Configuration) -> None:
    """:raises ConfigurationError: there is no contact, and so not one of the spider's start URLs would be fetched"""
    sites = getattr(spider, "start_urls", None) or getattr(spider, "allowed_domains", None)
    if is_contact(configuration.user_agent) or not isinstance(sites, list | tuple):
        return
    hosts = [host for text in sites if (host := (get_host(str(text)) if "://" in str(text) else str(text)))]
    if hosts and all(map(is_public, hosts)):
        why = contact_problem(configuration.user_agent, configuration.crawler_contact, hosts)
        raise ConfigurationError([Problem("CRAWLER_CONTACT", why or "is missing")])


def _clocks(
    configuration: Configuration, backend: Backend, clock: CrawlClock, folder: Path | None
) -> ClockStore | None:
    """Return the store of the clocks that this process shares with others; None if it shares none."""
    is_one_of_several = folder is not None and folder_of_all(folder) != folder
    if isinstance(backend, SharedBackend) and not (is_one_of_several and configuration.service_clocks):
        return backend.clocks
    # All workers are on this machine, like the other crawls of the service.
    if configuration.service_clocks is None:
        return None
    try:
        return MachineClocks(configuration.service_clocks, clock)
    except OSError as error:
        raise StartRefused(f"SERVICE_CLOCKS: {configuration.service_clocks}: {error.strerror}") from error


def _bandwidth(crawler: Crawler, backend: Backend) -> Bandwidth:
    bandwidth = get_bandwidth(crawler)
    if isinstance(backend, SharedBackend):
        bandwidth.share_with_others()
    return bandwidth


def _archive(
    configuration: Configuration, jobdir: Jobdir, crawler: Crawler, features: Features
) -> ArchiveThread:
    further = [path for feature in features for path in feature.sinks]
    return ArchiveThread(build_archive(configuration, jobdir, crawler.settings, further))


def _intake(
    key: PolitenessKey,
    scopes: tuple[Scope, Scope],
    choices: CrawlRules,
    features: Features,
    hops: int,
    schemes: Schemes,
) -> Intake:
    applied = ScopesOfIntake.of(scopes, features)
    return Intake(
        key,
        applied.followed,
        applied.fixed,
        choices.compared,
        requested=applied.requested,
        standing=applied.standing,
        withheld={
            feature.rule.name: feature.withhold for feature in features if feature.rule and feature.withhold
        },
        linked=next((feature.linked for feature in features if feature.linked is not None), None),
        stands_for=next((feature.stands_for for feature in features if feature.stands_for is not None), None),
        embed_hops_max=hops,
        schemes=schemes,
    )


class ScopesOfIntake(NamedTuple):
    """The rules for each kind of URL that the intake takes; see ``Intake``."""

    followed: Scope
    fixed: Scope
    requested: Scope
    standing: Scope

    @classmethod
    def of(cls, scopes: tuple[Scope, Scope], features: Features) -> ScopesOfIntake:
        """``scopes``: see ``build_scopes``."""
        fixed, followed = scopes
        requested = Scope(rule for rule in followed.rules if rule.name not in _OF_LINKS)
        standing = fixed
        for feature in features:
            if (rule := feature.rule) is not None:
                followed, requested = followed.with_rule(rule), requested.with_rule(rule)
                standing = standing.with_rule(rule)
        return cls(followed, fixed, requested, standing)


def load_exclusions(configuration: Configuration) -> ExclusionList | None:
    """Load the list of the setting EXCLUSION_FILE; an empty one without a file, if operators can exclude sites while
    the crawl runs. Raises ExclusionError."""
    if configuration.exclusion_file is None:
        return ExclusionList("") if configuration.storage.is_lasting else None
    # The extension that reads it again keeps the time itself.
    return ExclusionList.load(configuration.exclusion_file, 0)


def build_scopes(
    configuration: Configuration,
    choices: CrawlRules,
    spider: object,
    private: PrivateAddressRule,
    ports: BadPortRule,
    exclusions: ExclusionList | None,
    schemes: Schemes = WEB,
) -> tuple[Scope, Scope]:
    """Return the rules for all fetched URLs, seeds included, and those for followed URLs.

    ``spider``: any object with the attributes ``allowed_domains``, ``domains``, ``stay`` and ``allow``, or some of
    them.
    """
    fixed: list[Rule] = [SchemeRule(schemes.names), private, ports]
    if not is_contact(configuration.user_agent):
        fixed.append(ContactRule(is_public))
    if exclusions is not None:
        fixed.append(ExclusionRule(exclusions))
    followed: list[Rule] = [*fixed]
    if configuration.urllength_limit:
        followed.append(LengthRule(configuration.urllength_limit))
    followed += [
        DepthRule(configuration.depth_limit),
        ExtensionRule(extensions_refused(configuration, spider)),
    ]
    followed += choices.rules()
    if allowed := getattr(spider, "allowed_domains", None):
        followed.append(OffsiteRule(allowed))
    if domains := getattr(spider, "domains", None):
        followed.append(WhitelistRule(load_whitelist(domains)))
    if stay := getattr(spider, "stay", None):
        followed.append(StayRule(stay))
    if allow := getattr(spider, "allow", None):
        followed.append(AllowRule(allow))
    return Scope(fixed), Scope(followed)


def spider_name(crawler: Crawler) -> str:
    """Return the name of the spider; a spider class of a script may have none."""
    return getattr(crawler.spidercls, "name", None) or getattr(crawler.spider, "name", None) or "crawl"


def jobdir_path(crawler: Crawler, configuration: Configuration) -> Path | None:
    """Return the folder of the crawl: JOBDIR, or a new folder; None without a JOBDIR if the state ends with the
    process."""
    jobdir = crawler.settings.get("JOBDIR")
    if jobdir:
        return Path(jobdir)
    if not configuration.storage.is_lasting:
        return None
    return new_folder(spider_name(crawler))


def _policies(
    crawler: Crawler,
    configuration: Configuration,
    choices: CrawlRules,
    key: PolitenessKey,
    intake: Intake,
    rules: RulesCache,
    features: Features,
) -> Policies:
    scorer = next((feature.scorer for feature in features if feature.scorer is not None), None)
    return Policies(
        order=build_order(configuration, scorer),
        sampler=LevelSampler(configuration.frontier_bias),
        best_first=best_first_exploration(configuration, scorer),
        politeness=build_politeness(configuration, key),
        health=configuration.build(Health, "health_"),
        robots=RobotsPolicy(
            configuration.robots_ttl_seconds,
            configuration.robots_max_bytes,
            configuration.robots_max_redirects,
            configuration.product_tokens,
            rules,
            Absence(
                configuration.robots_unreachable_seconds,
                configuration.robots_unreachable_policy,  # type: ignore[arg-type]
            ),
            next((feature.site_files for feature in features if feature.site_files is not None), None),
            configuration.usage_refused,
            intake.schemes,
            configuration.robots_ttl_min_seconds,
        ),
        get_key=key.of_url,
        admit=intake.admit,
        retry_times=configuration.retry_times,
        requests_per_key_max=configuration.requests_per_key_max,
        page_budget=configuration.page_budget,
        forget=intake.forget,
        may_return=intake.may_return,
        awaits_refusal=may_have_errback,
        is_own=lambda entry: is_explicit(entry.payload),
        proxy_route=proxy_payload,
        request_agent=request_agent,
        shared_clocks=choices.shared_clocks,
        hours=build_hours(configuration, key),
        refused=features.refused,
        # The network exists once the event loop runs.
        locate=lambda host: get_network(crawler).places.locate(host),
    )


def frontier_limits(configuration: Configuration) -> FrontierLimits:
    return FrontierLimits(
        open_max=configuration.concurrent_requests,
        active_max=configuration.frontier_active_max,
        session_budget=configuration.frontier_session_budget,
        patience_seconds=configuration.frontier_patience_seconds,
        commit_interval_seconds=configuration.commit_interval_seconds,
        reordering_share=configuration.frontier_reordering,
    )
