"""Judges of the endpoints of a dashboard that read: their numbers and names are compared with the server's log."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tests.fakeweb.labyrinth import is_trap
from tests.gauntlet.promises.judges.acting import SETTLE_SECONDS, counted, fresh
from tests.gauntlet.promises.judges.live_politeness import failing_host
from tests.gauntlet.promises.stages import DELAY, Client, last_line
from tests.gauntlet.promises.table import judge, need
from tests.gauntlet.promises.web import STEADY, page, until

if TYPE_CHECKING:
    from tests.gauntlet.promises.stages import Live, Stage, Story
    from tests.gauntlet.promises.table import Promise

LAG_SECONDS = 20.0
"""How old figures of a running crawl may be."""
COMMIT_SECONDS = 5.0
"""How long it may take until an answer is stored as done."""
API = "/api/v1"


def _answered(stage: Live, until_: float) -> int:
    """Return how many pages the server had answered at a time."""
    return sum(hit.status is not None and hit.end < until_ for hit in stage.web.pages())


def _rows(stage: Stage, path: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = stage.dashboard().get(f"{API}{path}")["rows"]
    return rows


def _fetched(stage: Live) -> str:
    """Return a URL that the server has answered."""
    hit = next(hit for hit in stage.web.pages(STEADY[0]) if hit.path != "/")
    url: str = stage.site.url(hit.host, hit.path)
    return url


# -- sessions ------------------------------------------------------------------------------------------------------


@judge
def tells_the_session(stage: Live, promise: Promise) -> str:
    client = stage.dashboard()
    own = client.get(f"{API}/session")
    _, others = Client(client.base, "").ask("GET", f"{API}/session")
    url = stage.site.url(fresh(stage, "stranger"), "/x")
    status, _ = Client(client.base, "").ask("POST", f"{API}/urls", {"urls": [url]})
    time.sleep(2.0)
    return need(
        own["write"] and not others["write"] and status in (401, 403) and not stage.web.has(url),
        f"with the token write is {own['write']}, without it {others['write']}; a change without it got {status}",
    )


def _add(stage: Live, client: Client, **headers: str) -> tuple[int, bool]:
    """Add a URL; return the status, and whether it was requested."""
    url = stage.site.url(fresh(stage, "session"), "/x")
    status, _ = client.ask("POST", f"{API}/urls", {"urls": [url]}, **headers)
    return status, until(lambda: stage.web.has(url), SETTLE_SECONDS if status == 200 else 2.0)


@judge
def opens_a_session(stage: Live, promise: Promise) -> str:
    base, token = stage.dashboard().base, stage.dashboard().token
    client = Client(base, "")
    wrong, _ = client.ask("POST", f"{API}/session", {"token": "wrong"})
    _, begun = client.ask("POST", f"{API}/session", {"token": token})
    stage.kept["session"] = {
        "Cookie": client.cookie,
        "X-CSRF-Token": begun["csrf"],
        "Origin": base,
    }
    good = _add(stage, client, **stage.kept["session"])
    bad = _add(stage, client, Cookie=stage.kept["session"]["Cookie"], Origin=base)
    return need(
        wrong in (401, 403) and good == (200, True) and bad[0] in (401, 403) and not bad[1],
        f"wrong token: {wrong}; a URL added with X-CSRF-Token: {good[0]}, requested: {good[1]}; "
        f"without it: {bad[0]}, requested: {bad[1]}",
    )


@judge
def ends_a_session(stage: Live, promise: Promise) -> str:
    need("session" in stage.kept, "no session was opened")
    client = Client(stage.dashboard().base, "")
    status, _ = client.ask("DELETE", f"{API}/session", None, **stage.kept["session"])
    after, requested = _add(stage, client, Cookie=client.cookie, Origin=client.base)
    return need(
        status == 200 and after in (401, 403) and not requested,
        f"ended with {status}; a URL added by this browser then: {after}, requested: {requested}",
    )


@judge
def gives_a_token(stage: Live, promise: Promise) -> str:
    """A token that only reads is taken at once, reads, changes nothing, and is void when it is revoked."""
    base = stage.dashboard().base
    done = stage.do("token", "add", "grace", stage.target, "--read")
    client = Client(base, last_line(done.out))
    read, _ = client.ask("GET", f"{API}/crawl")
    changed, requested = _add(stage, client)
    listed = stage.do("token", "list", stage.target).out.split()
    stage.do("token", "revoke", "grace", stage.target)
    void, _ = client.ask("GET", f"{API}/crawl")
    return need(
        (read, changed, requested, void) == (200, 403, False, 401)
        and client.token not in listed
        and "grace" in listed,
        f"it reads: {read}; a URL added with it: {changed}, requested: {requested}; revoked: {void}; "
        f"list names grace: {'grace' in listed}, shows the token: {client.token in listed}",
    )


# -- figures ---------------------------------------------------------------------------------------------------


@judge
def tells_the_crawl(stage: Live, promise: Promise) -> str:
    answer = stage.dashboard().get(f"{API}/crawl")
    now = time.time()
    least, most = _answered(stage, now - LAG_SECONDS), _answered(stage, now)
    number, counts = answer["totals"]["pages"], answer["counts"]
    return need(
        least <= number <= most and answer["state"] == "running",
        f"state {answer['state']}, {number:,.0f} pages; the server answered {least:,} until {LAG_SECONDS:g} s before "
        f"and {most:,} until then; done {counts['done']:,}",
    )


@judge
def streams_the_crawl(stage: Live, promise: Promise) -> str:
    seen = [event["counts"]["done"] for event in stage.dashboard().stream(f"{API}/events", 4)]
    most = len(stage.web.pages())
    return need(
        len(seen) == 4 and seen[0] < seen[-1] <= most and seen == sorted(seen),
        f"done in four events: {seen}; the server answered {most:,} pages",
    )


@judge
def tells_urls(stage: Live, promise: Promise) -> str:
    last = stage.site.url(STEADY[0], "/p/1499")
    fates = [
        stage.dashboard().get(f"{API}/url?url={quote(url, safe='')}")["conclusion"]["fate"]
        for url in (_fetched(stage), last, stage.site.url("unheard.hubs.test", "/x"))
    ]
    return need(
        fates == ["done", "waits", "would_be_queued"] and not stage.web.has(last),
        f"fetched: {fates[0]}, linked and not fetched: {fates[1]}, not linked: {fates[2]}",
    )


@judge
def names_series(stage: Live, promise: Promise) -> str:
    units = {row["name"]: row["unit"] for row in _rows(stage, "/series/names")}
    return need(units.get("pages") == "pages per second", f"{len(units)} series; pages: {units.get('pages')}")


@judge
def draws_series(stage: Live, promise: Promise) -> str:
    """Over four whole steps the sum of a series is the number of pages in the server's log, within a tenth."""
    first = stage.web.hits()[0].start
    until(lambda: time.time() > first + LAG_SECONDS + 60.0, 90.0)
    begin = int(time.time() - LAG_SECONDS - 40.0) // 10 * 10
    answer = stage.dashboard().get(f"{API}/series?names=pages&from={begin}&to={begin + 40}")
    step = answer["step"]
    values = [value for value in answer["names"]["pages"] if value is not None]
    end = answer["start"] + step * len(answer["names"]["pages"])
    served = sum(answer["start"] <= hit.end < end for hit in stage.web.pages() if hit.status is not None)
    total = sum(values) * step
    return need(
        served > 100 and abs(total - served) <= 0.1 * served + 10,
        f"{total:,.0f} pages in {end - answer['start']:,.0f} s by the series, {served:,} by the server",
    )


# -- lists -----------------------------------------------------------------------------------------------------------


@judge
def tells_hosts(stage: Live, promise: Promise) -> str:
    until(lambda: time.time() - stage.dashboard().get(f"{API}/hosts")["as_of"] < LAG_SECONDS)
    answer = stage.dashboard().get(f"{API}/hosts?limit=200")
    keys = {row["key"] for row in answer["rows"]}
    old = {hit.host for hit in stage.web.log.hits if hit.end < answer["as_of"] - LAG_SECONDS}
    seen = {hit.host for hit in stage.web.log.hits}
    missing, more = sorted(old - keys), sorted(keys - seen)
    return need(
        not missing and len(more) <= 1,
        f"{counted(len(keys), 'host')}, {time.time() - answer['as_of']:.0f} s old; not named {missing[:3]}, not "
        f"asked by the server's log {more[:3]}",
    )


@judge
def tells_a_host(stage: Live, promise: Promise) -> str:
    asked = time.time()
    answer = stage.dashboard().get(f"{API}/host?key={STEADY[1]}")
    hits = stage.web.hits(STEADY[1])
    # What was answered a moment ago may be stored as done a moment later.
    served = {stage.site.url(hit.host, hit.path) for hit in hits if hit.end < asked - COMMIT_SECONDS}
    number = answer["record"]["fetches"]
    queued = {entry["url"] for entry in answer["queue"]} & served
    return need(
        len(hits) - LAG_SECONDS / DELAY <= number <= len(hits) and not queued,
        f"{number} fetches, the server's log has {len(hits)}; of the head of its queue {len(queued)} were answered "
        f"{COMMIT_SECONDS:g} s before",
    )


def _logs_are_elsewhere(stage: Stage, path: str) -> str:
    """On Redis the logs are in the folders of the workers: there are no rows, and a note says why."""
    answer = stage.dashboard().get(f"{API}{path}")
    return need(
        answer["rows"] == [] and answer["note"], f"{len(answer['rows'])} rows, note: {answer['note']}"
    )


def _failing(stage: Live) -> str:
    """Return a host that has failed five times in a row and rests since."""
    if "failing" not in stage.kept:
        host = failing_host(stage, "parked")
        until(lambda: len([hit for hit in stage.web.pages(host) if hit.status is None]) >= 5)
        stage.kept["failing"] = host
    found: str = stage.kept["failing"]
    return found


@judge
def tells_fetches(stage: Live, promise: Promise) -> str:
    if stage.redis is not None:
        return _logs_are_elsewhere(stage, "/fetches")
    rows = _rows(stage, "/fetches?limit=50")
    missing = [row["url"] for row in rows if not stage.web.has(row["url"])]
    age = time.time() - max((row["end"] for row in rows), default=0.0)
    return need(
        len(rows) == 50 and not missing and age < LAG_SECONDS,
        f"{counted(len(rows), 'row')}, the last {age:.0f} s old; {len(missing)} are not in the server's log",
    )


@judge
def tells_errors(stage: Story, promise: Promise) -> str:
    if stage.redis is not None:
        return _logs_are_elsewhere(stage, "/errors")
    failed = {stage.url(hit) for hit in stage.pages() if hit.status is None}
    urls_told = {row["url"] for row in _rows(stage, "/errors?limit=200")}
    return need(
        urls_told == failed, f"{counted(len(urls_told), 'URL')}; the server has not answered {len(failed)}"
    )


@judge
def tells_parked(stage: Live, promise: Promise) -> str:
    failing = {_failing(stage)}
    time.sleep(2.5)
    until(lambda: {row["key"] for row in _rows(stage, "/parked?limit=200")} & failing)
    keys_told = {row["key"] for row in _rows(stage, "/parked?limit=200")}
    active = {hit.host for hit in stage.web.hits(since=time.time() - 2.0)}
    return need(
        keys_told & failing and not keys_told & active,
        f"{sorted(keys_told)[:3]}; of them got requests in the last 2 s: {sorted(keys_told & active)}",
    )


def _quarantine(stage: Stage) -> list[dict[str, Any]]:
    """Return the patterns that are in quarantine."""
    done = stage.run("traps", "--json", **stage.select)
    return json.loads(done.out)["traps"] if done.status == 0 else []


def _requested(stage: Stage, pattern: str, since: float = 0.0) -> int:
    """Return how many URLs were requested that begin as a pattern does."""
    beginning = "/" + re.split(r"[+?*{<]", pattern.partition("/")[2])[0]
    return sum(hit.path.startswith(beginning) for hit in stage.web.pages(since=since))


@judge
def tells_traps(stage: Stage, promise: Promise) -> str:
    """Each pattern that is told begins as a trap of the site does, and no URL is requested that begins so."""
    until(lambda: _quarantine(stage), 60.0)
    if promise.kind == "command":
        rows = _quarantine(stage)
    else:
        rows = stage.dashboard().get(f"{API}/traps?limit=100")["rows"]
    patterns = [row["pattern"] for row in rows]
    genuine = [row["pattern"] for row in rows if not all(map(is_trap, row["samples"]))]
    since = time.time() + 0.5
    time.sleep(2.5)
    late = sum(_requested(stage, pattern, since) for pattern in patterns)
    before = sum(_requested(stage, pattern) for pattern in patterns)
    return need(
        patterns and not genuine and before and not late,
        f"{patterns[:2]}: {counted(before, 'request')}, {late} of them while it was told; genuine: {genuine}",
    )


RELEASED = {"command": "folders", "dashboard": "days"}
"""The section whose trap each of them releases: a pattern that was released once is never in quarantine again."""


@judge
def releases_traps(stage: Stage, promise: Promise) -> str:
    section = RELEASED[promise.kind]

    def held() -> list[dict[str, Any]]:
        """Return the patterns of the section in quarantine. The crawl does not end before there are some."""
        return [
            row
            for row in _quarantine(stage)
            if row["released_at"] is None and row["pattern"].partition("/")[2].startswith(f"{section}/")
        ]

    need(until(held, 120.0), f"nothing of /{section}/ is in quarantine")
    row = held()[0]
    if promise.kind == "command":
        stage.do("traps", "release", row["id"], **stage.select)
    else:
        stage.dashboard().change("POST", f"{API}/traps/release", {"traps": [row["id"]]})
    since = time.time()

    def requested() -> int:
        return _requested(stage, row["pattern"], since)

    until(lambda: requested() or not stage.is_running())
    if not requested():
        # The crawl had nothing else left, and was ending while the command ran.
        stage.statuses()
        stage.again()
    come = until(requested)
    return need(come, f"{counted(requested(), 'request')} of {row['pattern']} after")


# -- stored pages ----------------------------------------------------------------------------------------------------


def _captures(stage: Live, url: str) -> list[dict[str, Any]]:
    versions: list[dict[str, Any]] = stage.dashboard().get(f"{API}/pages?url={quote(url, safe='')}")[
        "versions"
    ]
    return versions


@judge
def tells_captures(stage: Live, promise: Promise) -> str:
    if stage.redis is not None:
        status, _ = stage.dashboard().ask("GET", f"{API}/pages?url={quote(_fetched(stage), safe='')}")
        return need(status in (400, 404), f"the archive is with the workers: {status}")
    versions = _captures(stage, _fetched(stage))
    return need(
        [version["status"] for version in versions] == [200],
        f"{counted(len(versions), 'version')} of one answer",
    )


@judge
def shows_a_capture(stage: Live, promise: Promise) -> str:
    url = _fetched(stage)
    [version] = _captures(stage, url)
    body = stage.dashboard().get(f"{API}/pages/content?record={quote(version['record'], safe='')}")
    host, _, path = url.partition("://")[2].partition("/")
    sent = page([], f"{host.partition(':')[0]}/{path}")
    return need(body.startswith(sent.partition(b"\n")[0]), f"{len(body)} bytes, beginning as the server's")


@judge
def refuses_to_search(stage: Live, promise: Promise) -> str:
    status, answer = stage.dashboard().ask("GET", f"{API}/search?q=steady")
    return need(status == 404, f"{status}: {str(answer)[:100]}")


# -- what operators have changed ----------------------------------------------------------------------------------


@judge
def tells_settings(stage: Live, promise: Promise) -> str:
    rows = {row["name"]: row["value"] for row in _rows(stage, "/settings")}
    gaps = stage.web.gaps(since=time.time() - 5.0)
    seconds = float(rows["POLITENESS_MIN_DELAY"])
    return need(
        abs(min(gaps) - seconds) < 0.05,
        f"POLITENESS_MIN_DELAY {seconds:g}, shortest pause {min(gaps):.3f} s, {len(rows)} rows",
    )


@judge
def tells_exclusions(stage: Live, promise: Promise) -> str:
    host = promise.given["host"]
    entries = [row["entry"] for row in _rows(stage, "/exclusions")]
    silent = not stage.web.hits(host, time.time() - 2.0)
    return need(
        host in entries and silent,
        f"{entries}; requests to {host} in the last 2 s: {'none' if silent else 'some'}",
    )


@judge
def tells_changes(stage: Live, promise: Promise) -> str:
    rows = _rows(stage, "/changes?limit=100")
    text = str(rows)
    missing = [
        what for what in ("h8.steady.test", "POLITENESS_MIN_DELAY", "h6.steady.test") if what not in text
    ]
    by = {row.get("by", "").partition(" ")[0] for row in rows}
    return need(not missing and "dashboard" in by, f"{len(rows)} rows, by {sorted(by)}; not named: {missing}")


@judge
def suggests(stage: Live, promise: Promise) -> str:
    urls = [stage.site.url(fresh(stage, "suggested"), "/x") for _ in range(2)]
    public = Client(stage.dashboard(DASHBOARD_PUBLIC=True).base, "")
    statuses = [public.ask("POST", f"{API}/suggestions", {"url": url, "note": "please"})[0] for url in urls]
    stage.kept["suggested"] = urls
    time.sleep(2.0)
    refused, _ = public.ask("POST", f"{API}/urls", {"urls": urls})
    requested = sum(map(stage.web.has, urls))
    return need(
        (statuses, requested) == ([200, 200], 0) and refused in (401, 403, 404, 405),
        f"two suggestions: {statuses}, requested: {requested}; adding a URL there: {refused}",
    )


@judge
def tells_suggestions(stage: Live, promise: Promise) -> str:
    urls = stage.kept.get("suggested", [])
    urls_told = [row["url"] for row in _rows(stage, "/suggestions")]
    return need(
        urls and urls_told == urls, f"{len(urls_told)} of {len(urls)}, in their order: {urls_told == urls}"
    )


@judge
def decides(stage: Live, promise: Promise) -> str:
    rows = {row["url"]: row["id"] for row in _rows(stage, "/suggestions")}
    urls = stage.kept.get("suggested", [])
    need(len(urls) == 2 and {*urls} <= {*rows}, "the suggestions are not listed")
    for url, accept in zip(urls, (False, True), strict=True):
        stage.dashboard().change(
            "POST", f"{API}/suggestions/{quote(str(rows[url]), safe='')}", {"accept": accept}
        )
    come = until(lambda: stage.web.has(urls[1]))
    return need(
        come and not stage.web.has(urls[0]),
        f"accepted: requested {come}; rejected: requested {stage.web.has(urls[0])}",
    )


@judge
def tells_messages(stage: Live, promise: Promise) -> str:
    """The last messages are those of crawl.log, the last one first; a level leaves the lower ones out."""
    if stage.redis is not None:
        return _logs_are_elsewhere(stage, "/log")
    rows = _rows(stage, "/log?limit=20")
    text = (stage.jobdirs[0] / "crawl.log").read_text(errors="replace")
    missing = [row["message"] for row in rows if row["message"] not in text]
    times = [row["at"] for row in rows]
    above = {row["level"] for row in _rows(stage, "/log?limit=50&level=WARNING")}
    return need(
        rows and not missing and times == sorted(times, reverse=True) and not above & {"INFO", "DEBUG"},
        f"{counted(len(rows), 'row')}, {len(missing)} not in crawl.log; the last one first: "
        f"{times == sorted(times, reverse=True)}; levels from WARNING: {sorted(above)}",
    )


@judge
def tells_marks(stage: Live, promise: Promise) -> str:
    """A run began just before the first request, and changes are there in the order of time."""
    rows = _rows(stage, "/marks")
    times = [row["at"] for row in rows]
    first = stage.web.hits()[0].start
    runs = [row["at"] for row in rows if row["kind"] == "run"]
    changes = [row["text"] for row in rows if row["kind"] == "change"]
    begun = len(runs) >= len(stage.workers) and first - 60.0 < runs[0] <= first
    missing = [name for name in ("POLITENESS_MIN_DELAY", "h6.steady.test") if name not in str(changes)]
    return need(
        begun and times == sorted(times) and not missing,
        f"{counted(len(runs), 'run')}, the first {first - runs[0] if runs else 0.0:.1f} s before the first request; "
        f"{counted(len(changes), 'change')}, not named: {missing}",
    )
