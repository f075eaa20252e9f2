"""The parts of one crawl, built from its settings: the one place that knows all of them.

Scrapy builds the downloader middlewares, the scheduler and the extensions at different moments; all of them find the
same parts here.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from webcrawl.config import Configuration
from webcrawl.crawl import essentials
from webcrawl.crawl.archiving import archive_of
from webcrawl.crawl.contact import is_contact, is_public
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.crawl.ordering import Ranking, best_first_of, order_of, ranking_of
from webcrawl.crawl.page_processing import processing_of
from webcrawl.crawl.refused_start import answering
from webcrawl.crawl.rules import CrawlRules, politeness_of
from webcrawl.crawl.seeded_hosts import SeededHosts
from webcrawl.features.content_seen.content_seen import ContentSeen
from webcrawl.features.focus.feature import FocusFeature, focus_feature_of
from webcrawl.features.hints.feature import HintsFeature, hints_feature_of
from webcrawl.features.revisits.feature import RevisitsFeature, revisits_feature_of
from webcrawl.features.segments.feature import STORE, SegmentCrawl, identity_of, segment_crawl_of
from webcrawl.features.traps.feature import TrapsFeature, traps_feature_of
from webcrawl.features.websub.feature import WebSubFeature, websub_feature_of
from webcrawl.fetching.network import network_of, seed_addresses
from webcrawl.frontier.committer import ArchiveThread
from webcrawl.frontier.intake import Intake
from webcrawl.frontier.order import LevelSampler
from webcrawl.frontier.policies import Limits, Policies, RobotsPolicy
from webcrawl.frontier.seen import Seen
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
from webcrawl.scope.whitelist import WhitelistRule, whitelist_of
from webcrawl.storage.contract import Backend, ClockStore, SharedBackend
from webcrawl.storage.memory.contents import MemoryContents
from webcrawl.storage.memory.frontier import MemoryBackend
from webcrawl.storage.sqlite import SqliteBackend
from webcrawl.storage.sqlite.contents import SqliteContents
from webcrawl.storage.sqlite.frontier import SqliteOptions
from webcrawl.storage.sqlite.opening import SPIDER
from webcrawl.urls.politeness_key import PolitenessKey

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from webcrawl.frontier.order import Scorer
    from webcrawl.processing.chain import Chain
    from webcrawl.processing.text_digest import TextDigests
    from webcrawl.storage.contract import Counts

ROBOTS_PARSED = 5_000
"""Origins whose rules are kept parsed, in about 60 MB; a miss costs the 0.3 ms of parsing anew."""

_machines: WeakKeyDictionary[Crawler, CrawlContext] = WeakKeyDictionary()


class Clock:
    """Epoch seconds that never run backwards: the wall clock at the start plus the time passed since.

    A wall clock that is set while the crawl runs must neither stop it for an hour nor let it be impolite.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def __call__(self) -> float:
        return self._offset + time.monotonic()


@dataclass(slots=True, weakref_slot=True)
class CrawlContext:
    """The parts of a crawl that its components share."""

    configuration: Configuration
    clock: Callable[[], float]
    key: PolitenessKey
    intake: Intake
    policies: Policies
    rules: RulesCache
    jobdir: Jobdir | None
    backend: Backend
    archive: ArchiveThread | None
    exclusions: ExclusionList | None
    seeded: SeededHosts
    trapping: TrapsFeature | None
    clocks: ClockStore | None = None
    """The store of the clocks that keys share with keys of other processes; None if there are none."""
    contents: ContentSeen | None = None
    processing: Chain | None = None
    """The modules that find fields in pages; None if there are none."""
    texts: TextDigests | None = None
    """Computes digests of the main text of pages; None if no setting needs them."""
    focusing: FocusFeature | None = None
    """The focus of the crawl; None for a crawl without one."""
    visiting: RevisitsFeature | None = None
    """Stores pages to revisit them; None if each page is visited once."""
    subscribing: WebSubFeature | None = None
    """Receives notifications of hubs about changed pages; None if hubs cannot reach the crawl."""
    hinting: HintsFeature | None = None
    """Uses the statements of sitemaps and feeds about known pages; None if they are not used."""
    segment: SegmentCrawl | None = None
    """Records found URLs instead of following them; None for a crawl of more than a segment."""

    ranking: Ranking | None = None
    """Link counts, for a crawl whose order depends on the links to URLs."""

    trouble: BaseException | None = None
    """The error that ended the crawl."""

    @property
    def spool(self) -> str:
        """The folder for payloads that are read from files."""
        return tempfile.gettempdir() if self.jobdir is None else str(self.jobdir.spool)

    async def open_beside(self, counts: Counts) -> None:
        """Open the stores beside the frontier, which is open with these figures. Raises CrawlError."""
        await self.seeded.recall()
        if self.contents is not None:
            await self.contents.open()
        if self.visiting is not None:
            await self.visiting.open(has_fetched=counts.done > 0)
        if self.trapping is not None:
            await self.trapping.begin(self.clock())
        if self.subscribing is not None:
            await self.subscribing.open()
        if self.hinting is not None:
            await self.hinting.open()


def context_of(crawler: Crawler) -> CrawlContext:
    """Return the crawl's context, built with the first call. :raises ConfigurationError: a setting is wrong."""
    context = _machines.get(crawler)
    if context is None:
        with answering(crawler):
            context = _machines[crawler] = _build(crawler)
    return context


def trouble_of(crawler: Crawler) -> BaseException | None:
    """Return the error that ended a crawl; None if there was none, or no context."""
    context = _machines.get(crawler)
    return None if context is None else context.trouble


def _build(crawler: Crawler) -> CrawlContext:
    essentials.require(crawler.settings)
    configuration = Configuration.from_settings(crawler.settings)
    if mode := getattr(crawler.spider, "mode", None):
        configuration = replace(configuration, crawl_mode=mode)
    choices = CrawlRules(configuration)
    key = choices.politeness_key()
    addresses = seed_addresses(crawler)
    exclusions = exclusions_of(configuration)
    directory = jobdir_path(crawler)
    jobdir = None if directory is None else Jobdir(directory)
    seeded = SeededHosts(addresses, BadPortRule(configuration.ports_allowed))
    backend, clock = _backend_and_clock(configuration, choices, crawler, key, directory, seeded)
    trapping = traps_feature_of(configuration, clock, backend, directory)
    fixed, followed = scopes_of(
        configuration, choices, crawler.spider, addresses.rule, seeded.ports, exclusions
    )
    ranking = ranking_of(configuration, backend, directory)
    intake = _intake(key, followed, fixed, choices, trapping, ranking)
    segment = segment_crawl_of(crawler.spider, choices, identity_of(configuration, choices), directory)
    rules = RulesCache(ROBOTS_PARSED, configuration.product_token)
    further = () if segment is None else (STORE,)
    archive = (
        None
        if jobdir is None
        else ArchiveThread(archive_of(configuration, jobdir, crawler.settings, further))
    )
    visiting = revisits_feature_of(configuration, clock, backend, directory, archive, intake)
    focusing = focus_feature_of(configuration, crawler.spider, backend, directory)
    scorer = focusing.scorer if focusing is not None else ranking.importance if ranking is not None else None
    policies = _policies(crawler, configuration, choices, key, intake, rules, scorer)
    if visiting is not None:
        policies = replace(policies, refused=visiting.refused)
    return CrawlContext(
        configuration,
        clock,
        key,
        intake,
        policies,
        rules,
        jobdir,
        backend,
        archive,
        exclusions,
        seeded,
        trapping,
        backend.clocks if isinstance(backend, SharedBackend) else None,
        _contents(configuration, backend, directory),
        *processing_of(configuration),
        focusing,
        visiting,
        subscribing=websub_feature_of(configuration, clock, backend, directory, intake),
        hinting=hints_feature_of(configuration, clock, backend, directory, intake, visiting),
        segment=segment,
        ranking=ranking,
    )


def _contents(configuration: Configuration, backend: Backend, directory: Path | None) -> ContentSeen | None:
    if not configuration.content_seen:
        return None
    if isinstance(backend, SharedBackend):
        return ContentSeen(backend.contents)
    if configuration.frontier_backend == "memory" or directory is None:
        return ContentSeen(MemoryContents())
    return ContentSeen(SqliteContents(directory))


def _intake(
    key: PolitenessKey,
    followed: Scope,
    fixed: Scope,
    choices: CrawlRules,
    trapping: TrapsFeature | None,
    ranking: Ranking | None,
) -> Intake:
    linked = None if ranking is None else ranking.importance.linked
    if trapping is None:
        return Intake(key, followed, fixed, choices.compared, linked=linked)
    rule = trapping.rule
    return Intake(
        key,
        followed.with_rule(rule),
        fixed,
        choices.compared,
        standing=fixed.with_rule(rule),
        withheld={rule.name: trapping.detector.withheld},
        linked=linked,
    )


def exclusions_of(configuration: Configuration) -> ExclusionList | None:
    """Load the list of the setting EXCLUSION_FILE. Raises ExclusionError."""
    if configuration.exclusion_file is None:
        return None
    # The extension that reads it again keeps the time itself.
    return ExclusionList.load(configuration.exclusion_file, 0)


def scopes_of(
    configuration: Configuration,
    choices: CrawlRules,
    spider: object,
    private: PrivateAddressRule,
    ports: BadPortRule,
    exclusions: ExclusionList | None,
) -> tuple[Scope, Scope]:
    """Return the rules for all fetched URLs, seeds included, and those for followed URLs.

    ``spider``: any object with the attributes ``allowed_domains``, ``domains``, ``stay`` and ``allow``, or some of
    them.
    """
    fixed: list[Rule] = [SchemeRule(), private, ports]
    if not is_contact(configuration.user_agent):
        fixed.append(ContactRule(is_public))
    if exclusions is not None:
        fixed.append(ExclusionRule(exclusions))
    followed: list[Rule] = [*fixed]
    if configuration.urllength_limit:
        followed.append(LengthRule(configuration.urllength_limit))
    followed += [DepthRule(configuration.depth_limit), ExtensionRule(configuration.extensions_refused)]
    followed += choices.rules()
    if allowed := getattr(spider, "allowed_domains", None):
        followed.append(OffsiteRule(allowed))
    if domains := getattr(spider, "domains", None):
        followed.append(WhitelistRule(whitelist_of(domains)))
    if stay := getattr(spider, "stay", None):
        followed.append(StayRule(stay))
    if allow := getattr(spider, "allow", None):
        followed.append(AllowRule(allow))
    return Scope(fixed), Scope(followed)


def jobdir_path(crawler: Crawler) -> Path | None:
    """Return the folder of the crawl: JOBDIR, or a new folder; None with the memory backend and no JOBDIR."""
    given = crawler.settings.get("JOBDIR")
    if given:
        return Path(given)
    if crawler.settings.get("FRONTIER_BACKEND") == "memory":
        return None
    spider = crawler.spidercls.name or "crawl"
    return Path("crawls") / f"{spider}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"


def _backend_and_clock(
    configuration: Configuration,
    choices: CrawlRules,
    crawler: Crawler,
    key: PolitenessKey,
    directory: Path | None,
    seeded: SeededHosts,
) -> tuple[Backend, Callable[[], float]]:
    if configuration.frontier_backend == "redis":
        # A crawl of one process does not wait for an import that it does not need.
        from webcrawl.crawl.redis import shared_backend

        return shared_backend(configuration, choices, crawler, key, seeded.learn)
    return own_backend(configuration, choices, directory, crawler.spidercls.name), Clock()


def own_backend(
    configuration: Configuration, choices: CrawlRules, directory: Path | None, spider: str | None = None
) -> Backend:
    """Return the backend of a crawl that no other process shares; ``spider``: the spider that owns it, if that
    matters."""
    if configuration.frontier_backend == "memory" or directory is None:
        seen = None
        if configuration.frontier_seen == "bloom":
            seen = Seen(configuration.frontier_seen_capacity, configuration.frontier_seen_error_rate)
        return MemoryBackend(
            queue_max=configuration.frontier_queue_max,
            seen=seen,
            delay_seconds=configuration.politeness_min_delay,
        )
    options = SqliteOptions(
        seen=configuration.frontier_seen,  # type: ignore[arg-type]
        seen_capacity=configuration.frontier_seen_capacity,
        seen_error_rate=configuration.frontier_seen_error_rate,
        cache_bytes=configuration.frontier_cache_bytes,
        queue_max=configuration.frontier_queue_max,
        robots_max=configuration.robots_cache_size,
        delay_seconds=configuration.politeness_min_delay,
    )
    identity = {
        "FRONTIER_SEEN": configuration.frontier_seen,
        **identity_of(configuration, choices),
        **({SPIDER: spider} if spider else {}),
    }
    return SqliteBackend(directory, options, identity)


def _policies(
    crawler: Crawler,
    configuration: Configuration,
    choices: CrawlRules,
    key: PolitenessKey,
    intake: Intake,
    rules: RulesCache,
    scorer: Scorer | None,
) -> Policies:
    return Policies(
        order=order_of(configuration, scorer),
        draw=LevelSampler(configuration.frontier_bias),
        best_first=best_first_of(configuration, scorer),
        politeness=politeness_of(configuration),
        health=configuration.build(Health, "health_"),
        robots=RobotsPolicy(
            configuration.robots_ttl_seconds,
            configuration.robots_max_bytes,
            configuration.robots_max_redirects,
            configuration.product_token,
            rules,
            Absence(
                configuration.robots_unreachable_seconds,
                configuration.robots_unreachable_policy,  # type: ignore[arg-type]
            ),
        ),
        key_of=key.of_url,
        admit=intake.admit,
        retry_times=configuration.retry_times,
        requests_per_key_max=configuration.requests_per_key_max,
        page_budget=configuration.page_budget,
        forget=intake.forget,
        may_return=intake.may_return,
        shared_clocks=choices.shared_clocks,
        # The network exists once the event loop runs.
        locate=lambda host: network_of(crawler).places.locate(host),
    )


def limits_of(configuration: Configuration) -> Limits:
    return Limits(
        open_max=configuration.concurrent_requests,
        active_max=configuration.frontier_active_max,
        session_budget=configuration.frontier_session_budget,
        patience_seconds=configuration.frontier_patience_seconds,
        commit_interval_seconds=configuration.commit_interval_seconds,
        reordering_share=configuration.frontier_reordering,
    )
