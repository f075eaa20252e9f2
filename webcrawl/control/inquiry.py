"""The answer to one question about a URL of a crawl, collected from its rules, its storage and its logs.

The explanation uses the rules in the settings, the crawl if one is named, and its fetch log. Nothing is changed.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from webcrawl.archive import fetchlog
from webcrawl.archive.disk import ArchiveError
from webcrawl.archive.listed_links import LISTED
from webcrawl.config import Configuration
from webcrawl.control.selection import no_inspection_message, select_crawl
from webcrawl.crawl.context import build_scopes, load_exclusions
from webcrawl.crawl.jobdir import folders_with_files
from webcrawl.crawl.rules import CrawlRules, build_hours, build_politeness
from webcrawl.crawl.schemes import supported_schemes
from webcrawl.crawl.storage import agreed
from webcrawl.errors import CrawlError, JobdirUnusable
from webcrawl.explain.account import (
    Difference,
    ExaminedCrawl,
    Explanation,
    Fate,
    RulesForUrls,
    explain,
    explain_address,
)
from webcrawl.explain.as_json import as_json
from webcrawl.explain.as_text import as_text
from webcrawl.explain.clocks import shared_wait_reasons, uses_in_log
from webcrawl.explain.discovery import (
    CUT,
    DROPPED,
    Discovery,
    InboundLinks,
    LinkTo,
    find_cut_pages,
    find_way,
    follow_redirects,
    summarize_links,
)
from webcrawl.explain.features import Remembered, explain_worth
from webcrawl.explain.logged_fetches import logged_fetches
from webcrawl.features.dust.knowledge import DustKnowledge
from webcrawl.features.dust.store import DustStore
from webcrawl.features.dust.withholding import DustScopeRule
from webcrawl.features.mirrors.knowledge import MirrorKnowledge, MirrorScopeRule
from webcrawl.features.mirrors.store import MirrorStore
from webcrawl.features.revisits.feature import visit_rules
from webcrawl.features.revisits.policies import LearningPolicy
from webcrawl.features.revisits.store import VisitStore
from webcrawl.features.steering.kept_settings import arguments_of_crawl, settings_of_crawl
from webcrawl.features.steering.live_settings import changed, find_problems, values_at_start
from webcrawl.features.steering.store import SteeringStore
from webcrawl.features.traps.quarantine import Quarantine, TrapRule
from webcrawl.features.traps.store import TrapStore
from webcrawl.fetching.private_addresses import address_rule
from webcrawl.links import segments
from webcrawl.links.reading import LinkLogs
from webcrawl.politeness.groups import GroupsError
from webcrawl.politeness.hours import HoursError
from webcrawl.scope.exclusion import ExclusionError
from webcrawl.scope.patterns import PatternsError
from webcrawl.scope.port import BadPortRule
from webcrawl.scope.private import names_that_allow
from webcrawl.scope.url_rules import SITES, PatternError
from webcrawl.scope.whitelist import WhitelistError, load_whitelist
from webcrawl.storage.technology import SCOPE
from webcrawl.urls.canonical import canonical
from webcrawl.urls.host_rules import HostRulesError
from webcrawl.urls.politeness_key import get_host, get_port
from webcrawl.urls.schemes import resolve_any
from webcrawl.urls.seeds import BadSeed, Seed, SeedsError, read_seed, read_seeds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.settings import BaseSettings

    from webcrawl.control.stored import StoredCrawl
    from webcrawl.explain.account import Address
    from webcrawl.explain.clocks import WaitReason
    from webcrawl.explain.logged_fetches import LoggedFetches
    from webcrawl.features.dust.learner import TrackedRule
    from webcrawl.features.mirrors.pair import MirrorPair
    from webcrawl.features.mirrors.store import WithheldMirrorUrl
    from webcrawl.features.steering.store import Excluded
    from webcrawl.features.traps.quarantine import Trap
    from webcrawl.links.line import Linking, LoggedLink
    from webcrawl.scope.private import PrivateAddressRule
    from webcrawl.scope.scope import Rule
    from webcrawl.storage.inspection import UrlSnapshot
    from webcrawl.urls.schemes import Schemes


_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:").match
LINKS_SECONDS = 10.0
"""Seconds that link logs are searched at most."""
WRONG = (
    PatternError,
    PatternsError,
    HostRulesError,
    GroupsError,
    HoursError,
    ExclusionError,
    SeedsError,
    WhitelistError,
    ArchiveError,
)
"""Errors of rules and seeds; their messages name the cause."""


@dataclass(frozen=True, slots=True)
class Question:
    """The question on the command line."""

    url: str
    via: str | None = None
    depth: int | None = None
    spider: str = "broad"
    arguments: Mapping[str, str] = field(default_factory=dict)
    allowed_domains: object = None
    """``allowed_domains`` of the spider's class."""
    logs: Sequence[Path] = ()
    """Folders with fetch logs of other workers, in addition to that of the setting JOBDIR."""
    reads_logs: bool = True
    """False to leave out what only the fetch logs and link logs have, which take long to search."""


class Inquiry:
    """Answers one question about one crawl, or about the rules alone.

    Every method may raise CrawlError, or an error of ``WRONG`` when an argument, a setting or a file is wrong.
    """

    def __init__(self, settings: BaseSettings, configuration: Configuration, question: Question) -> None:
        self._settings = settings
        self._configuration = configuration
        self._question = question
        self._choices = CrawlRules(configuration)
        if (stay := question.arguments.get("stay")) and stay not in SITES:
            raise CrawlError(f"-a stay must be {' or '.join(SITES)}, not {stay!r}")
        self._excluded: Sequence[Excluded] = ()
        self._delays: Mapping[str, float] = {}
        self._spider = SimpleNamespace(**{"allowed_domains": question.allowed_domains, **question.arguments})

    def as_text(self) -> str:
        return as_text(*self.answer())

    def as_json(self) -> str:
        return as_json(*self.answer())

    def answer(self) -> tuple[Explanation, ExaminedCrawl]:
        """Collect the explanation from all sources."""
        crawl = self._crawl()
        if crawl is not None:
            self._learn_changes(crawl)
        address = self._address()
        key, snapshot = self._look_up(address, crawl)
        visits = self._visits(address)
        rules, named = self._read_rules(address, crawl)
        explanation = explain(
            address,
            key,
            rules,
            time.time() if snapshot is None else snapshot.now,
            snapshot=snapshot,
            visits=visits,
            named=named,
            depth=self._question.depth,
            via=None if self._question.via is None else self._absolute(self._question.via).url,
            shared=self._shared_clocks(
                address, crawl, visits, time.time() if snapshot is None else snapshot.now
            ),
            remembered=self._remembered(address, key, crawl),
        )
        discovery = self._discovery(address, crawl, snapshot, visits, explanation.conclusion.fate)
        explanation = replace(explanation, discovery=discovery)
        learner = None if crawl is None else crawl.learner()
        if learner is not None:
            entry = None if snapshot is None else snapshot.entry
            explanation = replace(explanation, worth=explain_worth(learner, address.url, entry))
        return explanation, self._described(crawl, snapshot)

    def of_link(self, crawl: StoredCrawl) -> Explanation:
        """Return the explanation of a link that an operator gives to ``crawl``, without what the logs say of it."""
        self._learn_changes(crawl)
        address = self._address()
        key, snapshot = self._look_up(address, crawl)
        rules, _ = self._read_rules(address, crawl)
        now = time.time() if snapshot is None else snapshot.now
        return explain(address, key, rules, now, snapshot=snapshot, depth=0)

    def _look_up(self, address: Address, crawl: StoredCrawl | None) -> tuple[str, UrlSnapshot | None]:
        """Return the politeness key of a URL, and what the crawl knows of it."""
        keys: list[str] = []

        def key_of(begun_with: Mapping[str, str]) -> str:
            self._refuse_other_comparison(begun_with)
            mode = begun_with.get("POLITENESS_KEY")
            keys.append(self._choices.politeness_key(mode).of_host(address.host))
            return keys[-1]

        snapshot = None
        if crawl is not None:
            snapshot = crawl.snapshot(key_of, address.fingerprint, address.origin)
        return (keys[-1] if keys else key_of({})), snapshot

    def _learn_changes(self, crawl: StoredCrawl) -> None:
        """Apply the settings with which the crawl was started, unless others were given here, and what operators have
        changed since."""

        async def read(store: SteeringStore) -> tuple[Any, ...]:
            return (
                await store.overlay(),
                await store.excluded(),
                await store.delays(),
                await store.workers(),
            )

        overlay, self._excluded, delays, workers = crawl.read_store(SteeringStore, read)
        if workers:
            self._settings = settings_of_crawl(self._settings, workers)
            self._configuration = Configuration.from_settings(self._settings)
            self._choices = CrawlRules(self._configuration)
            given = {name: value for name, value in vars(self._spider).items() if value}
            self._spider = SimpleNamespace(**{**vars(self._spider), **arguments_of_crawl(workers), **given})
        self._delays = {key: one.seconds for key, one in delays.items()}
        texts = {name: override.value for name, override in overlay.items()}
        if not texts or find_problems(texts, self._settings, {}):
            return
        start = values_at_start(self._settings, self._configuration, self._spider)
        values = changed(start, self._settings, texts)
        self._configuration = values.configuration
        self._choices = CrawlRules(values.configuration)
        self._spider = SimpleNamespace(**{**vars(self._spider), **values.arguments})

    # -- the URL ---------------------------------------------------------------------------------------------

    def _address(self) -> Address:
        written, via = self._question.url, self._question.via
        if via is None:
            return self._absolute(written, "; --via PAGE names the page that links to it")
        page = self._absolute(via).url
        url = resolve_any(written, page)
        if url is None:
            raise CrawlError(f"{written!r} is no link that can be requested, on {page}")
        return explain_address(
            written, url, self._choices.compared, absolute=_HAS_SCHEME(written.strip()) is not None
        )

    def _absolute(self, written: str, hint: str = "") -> Address:
        url = resolve_any(written, "about:blank")
        if url is None:
            seed = read_seed(written.strip())
            if isinstance(seed, BadSeed):
                raise CrawlError(f"{seed.text!r} is no URL: {seed.reason}{hint}")
            url = seed.url
        return explain_address(written, url, self._choices.compared)

    # -- the rules -------------------------------------------------------------------------------------------

    def _read_rules(self, address: Address, crawl: StoredCrawl | None) -> tuple[RulesForUrls, bool]:
        """Return the rules, and whether the operator named the URL as a seed."""

        private = address_rule(self._configuration.fetch_private_addresses)
        ports = BadPortRule(self._configuration.ports_allowed)
        named = self._learn_named(address, private, ports)
        if crawl is not None:
            self._learn_stored(address, crawl, private, ports)
        return self._rules(
            private, ports, self._traps(crawl), self._dust(crawl), *self._mirrors(address, crawl)
        ), named

    def _rules(
        self,
        private: PrivateAddressRule,
        ports: BadPortRule,
        traps: Iterable[Trap],
        dust: Iterable[TrackedRule],
        mirrors: Iterable[MirrorPair],
        withheld: Iterable[WithheldMirrorUrl],
    ) -> RulesForUrls:
        configuration = self._configuration

        exclusions = load_exclusions(configuration)
        if exclusions is not None:
            exclusions.add((one.entry, one.reason) for one in self._excluded)
        fixed, followed = build_scopes(
            configuration,
            self._choices,
            self._spider,
            private,
            ports,
            exclusions,
            self._schemes(),
        )
        quarantine = Quarantine()
        quarantine.learn(traps)
        learned: list[Rule] = [TrapRule(quarantine)] if configuration.traps_quarantine else []
        if configuration.dust_learn:
            knowledge = DustKnowledge(random.Random(0), asks_known=False)
            knowledge.load(dust)
            learned.append(DustScopeRule(knowledge.withholding))
        if configuration.mirrors_learn:
            pairs = MirrorKnowledge()
            pairs.load(mirrors)
            of_mirrors = MirrorScopeRule(pairs, refuses_links=True)
            for each in withheld:
                of_mirrors.refuse_once(each.url)
            learned.append(of_mirrors)
        recheck = fixed
        for rule in learned:
            followed, recheck = followed.with_rule(rule), recheck.with_rule(rule)
        return RulesForUrls(
            followed,
            fixed,
            build_politeness(configuration, self._choices.politeness_key()).raised(self._delays),
            configuration.product_tokens,
            configuration.requests_per_key_max,
            configuration.page_budget,
            usage_tokens=configuration.usage_tokens if configuration.usage_record else (),
            usage_refused=configuration.usage_refused,
            hours=build_hours(configuration, self._choices.politeness_key()),
            recheck=recheck,
        )

    def _schemes(self) -> Schemes:

        return supported_schemes(self._settings)

    def _learn_named(self, address: Address, private: PrivateAddressRule, ports: BadPortRule) -> bool:
        """Allow the hosts of the seeds, as the crawl does; return True if the URL is one of them."""
        named, allowing = False, names_that_allow(address.host)
        for url in self._seeds():
            if (host := get_host(url)).rstrip(".") in allowing:
                private.allow_seed(host)
                ports.allow_seed(host, get_port(url))
            named = named or canonical(url, self._choices.compared) == address.canonical
        return named

    @staticmethod
    def _learn_stored(
        address: Address, crawl: StoredCrawl, private: PrivateAddressRule, ports: BadPortRule
    ) -> None:
        """Allow the URL's host and port if the crawl has stored them as seeds."""
        if crawl.named(address.host):
            private.allow_seed(address.host)
        if ports.is_bad(address.url) and crawl.named(f"{address.host}:{get_port(address.url)}"):
            ports.allow_seed(address.host, get_port(address.url))

    def _seeds(self) -> Iterator[str]:
        seeds, domains = (self._question.arguments.get(name) for name in ("seeds", "domains"))
        if seeds and seeds.strip() != "-":
            found = read_seeds(seeds, schemes=self._schemes())
            yield from (seed.url for seed in found if isinstance(seed, Seed))
        elif domains and not seeds:
            yield from load_whitelist(domains).roots()

    # -- the crawl -------------------------------------------------------------------------------------------

    def _crawl(self) -> StoredCrawl | None:
        configuration = self._configuration
        if configuration.jobdir is not None and not configuration.jobdir.is_dir():
            raise JobdirUnusable(f"JOBDIR {configuration.jobdir} is no folder")
        return select_crawl(self._settings, configuration, self._question.spider)

    def _refuse_other_comparison(self, begun_with: Mapping[str, str]) -> None:
        """Refuse other comparison rules: by them the URL would have another fingerprint and would not be found."""
        for name, here in self._choices.comparison().items():
            there = begun_with.get(name, here)
            if there != here:
                which = (
                    f"{name}={there}" if name == "CANONICAL_RULES" else f"the {name} with which it was begun"
                )
                raise CrawlError(f"the crawl compares URLs by other rules than were given here; give {which}")

    def _described(self, crawl: StoredCrawl | None, snapshot: UrlSnapshot | None) -> ExaminedCrawl:
        if crawl is not None and snapshot is not None:
            return ExaminedCrawl(crawl.storage, crawl.place, crawl.name, None, self._differences(snapshot))
        if not self._configuration.storage.is_lasting:
            return ExaminedCrawl(note=no_inspection_message(self._configuration))
        return ExaminedCrawl(
            note="-s JOBDIR=DIR or -s REDIS_URL=... names one; only the rules were evaluated"
        )

    def _differences(self, snapshot: UrlSnapshot) -> tuple[Difference, ...]:
        """Return the differences between the rules of a shared crawl and those given here."""
        if not any(name.startswith(SCOPE) for name in snapshot.settings):
            return ()

        here = agreed(self._configuration, self._choices, self._spider, self._schemes())
        return tuple(
            Difference(name.removeprefix(SCOPE), there, here[name])
            for name, there in snapshot.settings.items()
            if name.startswith(SCOPE) and here.get(name, there) != there
        )

    @staticmethod
    def _traps(crawl: StoredCrawl | None) -> list[Trap]:

        return [] if crawl is None else crawl.read_store(TrapStore, TrapStore.beliefs)

    @staticmethod
    def _dust(crawl: StoredCrawl | None) -> list[TrackedRule]:

        return [] if crawl is None else crawl.read_store(DustStore, DustStore.beliefs)

    @staticmethod
    def _mirrors(
        address: Address, crawl: StoredCrawl | None
    ) -> tuple[list[MirrorPair], list[WithheldMirrorUrl]]:
        """Return the mirrors of a crawl, and the URL if it is withheld because of them."""
        if crawl is None:
            return [], []
        pairs = crawl.read_store(MirrorStore, MirrorStore.beliefs)
        withheld: list[WithheldMirrorUrl] = []
        for pair in pairs:
            if address.url.startswith((f"{pair.first}/", f"{pair.mirror}/")):
                ask = partial(MirrorStore.find_withheld, pair_id=pair.id, urls=[address.url])
                withheld += crawl.read_store(MirrorStore, ask)
        return pairs, [each for each in withheld if not each.is_owed]

    def _remembered(self, address: Address, key: str, crawl: StoredCrawl | None) -> Remembered | None:
        if crawl is None:
            return None

        try:
            found = crawl.read_store(VisitStore, lambda visits: visits.lookup((key, address.fingerprint)))
        except ValueError as error:
            raise JobdirUnusable(f"the visits of {crawl.name} cannot be read: {error}") from error
        if found.page is None:
            return None

        rules = visit_rules(self._configuration)
        policy = rules.policy
        if isinstance(policy, LearningPolicy):
            policy.recall(None, found.lessons, found.pages)
        history = found.page.history
        fresh_until = rules.fresh_until(history, found.page.fresh_seconds)
        return Remembered(found.page, policy.explain(history, history.last_at), fresh_until)

    # -- the log ---------------------------------------------------------------------------------------------

    def _folders(self) -> list[Path]:
        if not self._question.reads_logs:
            return []
        jobdir = self._configuration.jobdir
        folders = [*([] if jobdir is None else [jobdir]), *self._question.logs]
        for folder in folders:
            if not folder.is_dir():
                raise JobdirUnusable(f"there is no folder {folder} with a fetch log")
        return folders_with_files(folders)

    def _shared_clocks(
        self, address: Address, crawl: StoredCrawl | None, visits: LoggedFetches | None, now: float
    ) -> list[WaitReason]:
        policy = self._choices.shared_clocks
        if not policy or crawl is None:
            return []
        place = None if visits is None else visits.ip
        pauses = policy.of(address.host, place)
        uses = crawl.uses(pauses)
        for name in () if uses else pauses:
            holding = json.dumps(name).encode()
            for folder in self._folders():
                uses |= uses_in_log(fetchlog.read(folder, _pass_over, holding=holding), pauses)
        return list(shared_wait_reasons(policy, pauses, uses, place, now))

    def _visits(self, address: Address) -> LoggedFetches | None:
        folders = self._folders()
        if not folders:
            return None
        # Other spellings of the URL have the same origin, unless the comparison rules change hosts.
        compares_hosts = self._choices.compared.hosts is not None or self._choices.compared.drop_host_dot
        begin = b"" if compares_hosts else json.dumps(f"{address.origin}/")[:-1].encode()
        lines = (fetchlog.read(folder, _pass_over, holding=begin) for folder in folders)
        return logged_fetches(chain.from_iterable(lines), address.canonical, self._choices.compared)

    def _discovery(
        self,
        address: Address,
        crawl: StoredCrawl | None,
        snapshot: UrlSnapshot | None,
        visits: LoggedFetches | None,
        fate: Fate,
    ) -> Discovery | None:
        """Return how the URL was found; if that is unknown, return the links to it in the logs."""
        folders = self._folders()
        way = find_way(
            address.canonical,
            snapshot,
            visits,
            lambda url: self._find_lines(url, folders),
            lambda url: canonical(url, self._choices.compared),
        )
        if way is not None:
            onward = None
            if visits is not None and visits.last:
                onward = follow_redirects(
                    visits.last[-1],
                    lambda url: self._find_lines(url, folders),
                    lambda url: self._find_rule(url, crawl),
                    self._configuration.redirect_max_times,
                )
            return Discovery(way, onward=onward)
        if not folders or fate not in (Fate.WOULD_BE_QUEUED, Fate.WOULD_BE_REFUSED):
            return None
        unread, dropped = (
            find_cut_pages(
                chain.from_iterable(
                    fetchlog.read(folder, _pass_over, holding=f'"{fact}":'.encode()) for folder in folders
                ),
                address.host,
                fact,
            )
            for fact in (CUT, DROPPED)
        )
        return Discovery(None, self._links(address, folders), unread, dropped)

    def _find_rule(self, url: str, crawl: StoredCrawl | None) -> str | None:
        """Return the stored rule of a URL that failed or was refused."""
        address = explain_address(url, url, self._choices.compared)
        _, snapshot = self._look_up(address, crawl)
        return None if snapshot is None or snapshot.record is None else snapshot.record.rule

    @staticmethod
    def _find_lines(url: str, folders: Iterable[Path]) -> Iterator[Mapping[str, object]]:
        for folder in folders:
            for line in fetchlog.read(folder, _pass_over, holding=json.dumps(url).encode()):
                if line.get("url") == url:
                    yield line

    def _links(self, address: Address, folders: Sequence[Path]) -> InboundLinks | None:
        """Return the links to the URL; None if no link log is kept."""
        logged = [folder for folder in folders if segments.times(folder)]
        if not logged:
            return None
        end = time.monotonic() + LINKS_SECONDS
        in_time = True

        def goes_on() -> bool:
            nonlocal in_time
            in_time = time.monotonic() < end
            return in_time

        found = summarize_links(
            LinkTo(page.page, page.at, link.type, link.text, link.rel, self._withheld(page, link))
            for page, link in LinkLogs(logged).naming(address.canonical, goes_on)
        )
        return replace(found, whole=found.whole and in_time)

    def _withheld(self, page: Linking, link: LoggedLink) -> str | None:
        """Return why a link is not followed, or None if it is; a redirect always is."""
        if link.type == "redirect":
            return None
        if link.type == LISTED:
            return "sitemaps" if self._configuration.sitemaps_follow is False else None
        if page.nofollow:
            return "page"
        if link.type not in self._configuration.link_types:
            return "type"
        return "rel" if set(link.rel.split()) & set(self._configuration.nofollow_rels) else None


def _pass_over(damage: str) -> None:
    """Ignore a damaged line: the crawl's repair handles it, and it says nothing about the URL."""
