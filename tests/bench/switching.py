"""What recording and signing cost a page, measured within one crawl whose modes are switched after every few pages.

Two crawls differ by more than a feature that costs a hundredth of a page: by the places of their memory, and by what
the machine does beside them. Here all calls of a page are in place, and neighbouring groups of pages differ in one
feature. CPU time is that of the crawl's own process, where these features run.

On a busy machine neighbouring groups differ by more than the feature, too. Therefore the CPU time of the event loop
is read before and after each of its calls as well, in place and with the caches as they are then. What the clock
itself costs is part of that.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from functools import wraps
from inspect import unwrap
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro

from tests.bench.crawls import AT_ONCE, FRESH, ROOT, SCRAPY, seeds_file, steady
from tests.fakeweb.config import Config
from tests.fakeweb.process import serve_in_process
from webcrawl.crawl.context import get_context
from webcrawl.downloadermiddlewares.outcome import OutcomeMiddleware
from webcrawl.features.identity.keys import KeyRing, load_file, new_key, write_file
from webcrawl.features.identity.web_bot_auth import RequestSigner
from webcrawl.features.refusals.recogniser import Recogniser
from webcrawl.features.refusals.signatures import load
from webcrawl.fetching import signing as fetch_signing
from webcrawl.fetching.network import get_network
from webcrawl.fetching.protocols import NEVER, OFFER
from webcrawl.spidermiddlewares.page import PageMiddleware

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.fakeweb.process import Served

AT_A_TIME = 16
"""Requests that are open at a time: few, so that pages of one mode hardly end in the next one."""
WARM_UP = 1_000
SMALL, LARGE = 20, 200
"""Pages of a group."""
GROUPS = {SMALL: 600, LARGE: 60}
"""Groups of each mode in 20 seconds, as --seconds has them by default: others are as many times more or fewer."""
SKIPPED = 0.1
"""The part of a group, at its beginning, that is not measured: pages of the mode before end in it."""
AGENT = "https://crawler.example.org"


class Switch:
    """Goes through the modes of SWITCH_MODES group by group, and writes what a page took in each to SWITCH_FILE."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._file = Path(crawler.settings["SWITCH_FILE"])
        self._modes = crawler.settings["SWITCH_MODES"].split(",")
        self._pages = int(crawler.settings["SWITCH_PAGES"])
        self._groups = int(crawler.settings["SWITCH_GROUPS"])
        self._taken: dict[str, list[float]] = {mode: [] for mode in self._modes}
        self._seen = -WARM_UP
        self._mode, self._begun = "", 0.0
        self._setters: dict[str, Callable[[bool], None]] = {}
        self._clocks: dict[str, _Clock] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        switch = cls(crawler)
        crawler.signals.connect(switch._response, signal=signals.response_received)
        return switch

    def _response(self, **_: Any) -> None:
        self._seen += 1
        if self._seen < 0:
            return
        if not self._setters:
            self._clocks = _with_clocks(self._crawler)
            self._setters = {"usage": _Usage(self._crawler), "refusals": _Refusals(self._crawler)}
            signed = self._clocks["signed"]
            self._setters["http2"] = _Http2(self._crawler)
            self._setters |= {
                "head": _Signing(self._crawler, None),
                "signed": _Signing(self._crawler, signed),
            }
        group, page = divmod(self._seen, self._pages)
        if page == 0:
            if self._mode:
                pages = self._pages - int(self._pages * SKIPPED)
                self._taken[self._mode].append((time.process_time() - self._begun) / pages)
            if group == len(self._modes) * self._groups:
                self._end()
                return
            # Every second time backwards: what always comes first would have an advantage.
            turn, place = divmod(group, len(self._modes))
            self._mode = self._modes[place if turn % 2 == 0 else -1 - place]
            for name, setter in self._setters.items():
                if name != self._mode:
                    setter(False)
            if self._mode in self._setters:
                self._setters[self._mode](True)
        if page == int(self._pages * SKIPPED):
            self._begun = time.process_time()

    def _end(self) -> None:
        self._mode = ""
        self._seen = -1 << 60
        timed = {
            f"{name} timed": [clock.seconds / clock.pages]
            for name, clock in self._clocks.items()
            if clock.pages
        }
        self._file.write_text(json.dumps({**self._taken, **timed}))
        deferred_from_coro(self._crawler.engine.close_spider_async(reason="measured"))


class _Clock:
    """The CPU time of this thread in some calls, and the number of pages for which they were made."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.pages = 0

    def around(self, call: Callable[..., Any], *, is_once_a_page: bool = False) -> Callable[..., Any]:
        """Return a call with the clock around it."""

        @wraps(call)
        def timed(*arguments: Any, **named: Any) -> Any:
            begun = time.thread_time()
            try:
                return call(*arguments, **named)
            finally:
                self.seconds += time.thread_time() - begun
                self.pages += is_once_a_page

        return timed


def _with_clocks(crawler: Crawler) -> dict[str, _Clock]:
    """Put clocks around all calls of both features, and return them by the names of modes."""
    outcome: Any = crawler.get_downloader_middleware(OutcomeMiddleware)
    page: Any = crawler.get_spider_middleware(PageMiddleware)
    context = get_context(crawler)
    rules: Any = context.policies.robots.rules
    usage, refusals = _Clock(), _Clock()
    outcome._record_usage = usage.around(outcome._record_usage, is_once_a_page=True)
    page._complete_usage = usage.around(page._complete_usage)
    rules.usage = usage.around(rules.usage)
    feature: Any = context.features.get("usage")
    feature.settled = usage.around(feature.settled)
    chain = crawler.engine.downloader.middleware.methods["process_response"]
    for place, method in enumerate(chain):
        if _is_of_refusals(method):
            chain[place] = refusals.around(method, is_once_a_page=True)
    recognised: Any = context.features.get("refusals")
    recognised.of_response = refusals.around(recognised.of_response)
    return {"usage": usage, "refusals": refusals, "signed": _Clock()}


def _is_of_refusals(method: Any) -> bool:
    return type(getattr(unwrap(method), "__self__", None)).__name__ == "RefusalsMiddleware"


class _Usage:
    """All calls of the feature that records what pages may be used for."""

    def __init__(self, crawler: Crawler) -> None:
        self._feature = get_context(crawler).features.get("usage")
        self._places = [crawler.get_downloader_middleware(OutcomeMiddleware)]
        self._places.append(crawler.get_spider_middleware(PageMiddleware))
        self._rules = get_context(crawler).policies.robots.rules
        self._look_up = self._rules.usage

    def __call__(self, on: bool) -> None:
        for place in self._places:
            place._usage = self._feature if on else None
        self._rules.usage = self._look_up if on else _nothing


class _Refusals:
    """All calls of the feature that recognises refusals."""

    def __init__(self, crawler: Crawler) -> None:
        self._feature = get_context(crawler).features.get("refusals")
        self._outcome = crawler.get_downloader_middleware(OutcomeMiddleware)
        self._methods = crawler.engine.downloader.middleware.methods
        self._all = self._methods["process_response"]
        self._others = type(self._all)(method for method in self._all if not _is_of_refusals(method))

    def __call__(self, on: bool) -> None:
        self._outcome._refusals = self._feature if on else None
        self._methods["process_response"] = self._all if on else self._others


class _Signing:
    """The signature of each request; or fields of the same length that are always the same."""

    def __init__(self, crawler: Crawler, clock: _Clock | None) -> None:
        """``clock``: that of the signatures; None for the constant fields."""
        self._crawler = crawler
        self._signer: Any = None
        key_file = crawler.settings["SWITCH_KEY"]
        if key_file:
            signer = RequestSigner(load_file(Path(key_file)), AGENT, ("@method", "@authority", "@path"))
            if clock is None:
                self._signer = _Constant(signer)
            else:
                self._signer = signer
                self._signer.head_fields = clock.around(signer.head_fields, is_once_a_page=True)

    def __call__(self, on: bool) -> None:
        if self._signer is None:
            return
        if on:
            fetch_signing.sign_requests(self._crawler, self._signer)
        else:
            fetch_signing._signers.pop(self._crawler, None)


class _Http2:
    """HTTP/2 with all servers of https that have it, or with none."""

    def __init__(self, crawler: Crawler) -> None:
        self._protocols: Any = get_network(crawler).protocols

    def __call__(self, on: bool) -> None:
        self._protocols._policy = OFFER if on else NEVER


class _Constant:
    """A signer that makes one signature, and sends it with each request."""

    def __init__(self, signer: RequestSigner) -> None:
        self._fields = signer.head_fields("GET", "http", "localhost", "/", time.time())

    def head_fields(self, method: str, scheme: str, authority: str, path: str, now: float) -> bytes:
        return self._fields


def _nothing(*_: Any) -> None:
    """Return no reading of a robots.txt."""


def recording(folder: Path, seconds: float) -> None:
    """What it costs to record what pages may be used for, and to recognise refusals."""
    groups = _groups(LARGE, seconds)
    print(f"Recording, switched every {LARGE} pages, {groups} groups of each mode in turn in one crawl:")
    taken = _switched(folder, ["none", "usage", "refusals"], LARGE, groups)
    print(f"  a page takes {median(taken['none']) * 1e6:.0f} us of the crawl's process without both")
    for name in ("usage", "refusals"):
        _tell(f"  {name}", taken["none"], taken[name])
        timed = taken[f"{name} timed"][0]
        print(f"    by the clock around its calls {timed * 1e6:.1f} us, {timed / median(taken['none']):.2%}")
    print(f"    of which the clock {_best(time.thread_time):.1f} us a call")
    recogniser = Recogniser(load(None))
    page = b"<html><head><title>A page</title></head><body>" + b"<p>Some words of a text. </p>\n" * 970
    linked = page.replace(b"<p>", b'<p><a href="/x">A link.</a>')[: len(page)]
    print("  recognition alone, best of five, us: ", end="")
    rows = {
        "a page of 29 kB with links": lambda: recogniser.of_success(200, dict, linked),
        "without links": lambda: recogniser.of_success(200, dict, page),
        "an error page of 3 kB": lambda: recogniser.of_error(403, {"server": "x"}, page[:3_000]),
    }
    print(", ".join(f"{name} {_best(call):.1f}" for name, call in rows.items()))


def signing(folder: Path, seconds: float) -> None:
    """What a signed request costs: the whole, the longer head alone, and Ed25519 alone."""
    groups = _groups(SMALL, seconds)
    folder.mkdir(parents=True, exist_ok=True)
    key = new_key()
    write_file(folder / "key", KeyRing([key]))
    print(f"Signing, {groups} groups of {SMALL} pages of each mode in turn in one crawl:")
    taken = _switched(folder, ["plain", "head", "signed"], SMALL, groups, folder / "key")
    print(f"  a page takes {median(taken['plain']) * 1e6:.0f} us of the crawl's process without a signature")
    _tell("  signed requests", taken["plain"], taken["signed"])
    _tell("  the longer head alone", taken["plain"], taken["head"])
    _tell("  signing, with the head as long", taken["head"], taken["signed"])
    print(f"    by the clock around the signer {taken['signed timed'][0] * 1e6:.1f} us a request")
    signer = RequestSigner(KeyRing([key]), AGENT, ("@method", "@authority", "@path"))
    message = os.urandom(400)
    print(f"  Ed25519 alone, in a loop: {_best(lambda: key.private.sign(message)):.1f} us")
    whole = _best(lambda: signer.head_fields("GET", "http", "a.example.org", "/p/1", time.time()))
    print(f"  all of the signer, in a loop: {whole:.1f} us")


def by_protocol(folder: Path, seconds: float, hosts: int, *settings: str) -> tuple[list[float], list[float]]:
    """Return what a page took in each group of pages over HTTP/1.1, and over HTTP/2, in one crawl of so many hosts on
    https."""
    config = Config(kind="bench", hosts=hosts, pages=20, fresh=FRESH, tls=True, http2=("both",))

    def seeds(place: Path, web: Served) -> Path:
        path = place / "seeds.txt"
        path.write_text("".join(f"https://{host}:{web.ports.https}/\n" for host in web.site.hosts))
        return path

    groups = _groups(LARGE, seconds)
    taken = _switched(folder, ["none", "http2"], LARGE, groups, config=config, seeds=seeds, more=settings)
    return taken["none"], taken["http2"]


def _tell(name: str, without: Sequence[float], with_it: Sequence[float]) -> None:
    """Print by how much a page takes longer: the median of neighbouring groups, and the range in which the median of
    endlessly many is with 95 %."""
    found = sorted((new - old) * 1e6 for old, new in zip(without, with_it, strict=True))
    reach = round(len(found) ** 0.5)
    low, high = found[max(len(found) // 2 - reach, 0)], found[min(len(found) // 2 + reach, len(found) - 1)]
    share = median(found) / (median(without) * 1e6)
    print(f"{name}: {median(found):+.1f} us ({low:.1f} to {high:.1f}), {share:.2%} of that process")


def _best(call: Callable[[], object], times: int = 2_000) -> float:
    """Return the microseconds of CPU time that a call takes, in the best of five loops."""
    found = []
    for _ in range(5):
        begun = time.process_time()
        for _ in range(times):
            call()
        found.append((time.process_time() - begun) / times * 1e6)
    return min(found)


def _groups(pages: int, seconds: float) -> int:
    return max(round(GROUPS[pages] * seconds / 20), 10)


def _switched(
    folder: Path,
    modes: list[str],
    pages: int,
    groups: int,
    key: Path | None = None,
    *,
    config: Config | None = None,
    seeds: Callable[[Path, Served], Path] = seeds_file,
    more: Sequence[str] = (),
) -> dict[str, list[float]]:
    """Crawl the benchmarks' web, or another; return what a page took in each group, by mode. On https, links to http
    are not followed."""
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / "switched.json"
    with serve_in_process(config or steady(FRESH)) as web:
        arguments = ["broad", "-a", f"seeds={seeds(folder, web)}"]
        if config is not None and config.tls:
            arguments += ["-a", "allow=^https:"]
        settings = {
            "JOBDIR": folder / "job",
            "FETCH_PRIVATE_ADDRESSES": 1,
            "CONCURRENT_REQUESTS": AT_A_TIME,
            "EXTENSIONS": json.dumps({"tests.bench.switching.Switch": 0}),
            "+SWITCH_FILE": result,
            "+SWITCH_MODES": ",".join(modes),
            "+SWITCH_PAGES": pages,
            "+SWITCH_GROUPS": groups,
            "+SWITCH_KEY": key or "",
        }
        given = [f"{name}={value}" for name, value in settings.items()]
        for setting in (*given, *AT_ONCE, *more):
            arguments += ["-s", setting]
        environment = {
            **os.environ,
            "SCRAPY_SETTINGS_MODULE": "webcrawl.settings",
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        }
        with (folder / "output.txt").open("wb") as output:
            command = [SCRAPY, "crawl", *arguments]
            subprocess.run(command, cwd=ROOT, env=environment, stdout=output, stderr=output, check=False)
    if not result.exists():
        raise SystemExit((folder / "output.txt").read_text(errors="replace")[-2000:])
    taken: dict[str, list[float]] = json.loads(result.read_text())
    return taken
