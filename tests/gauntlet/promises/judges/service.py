"""Judges of the endpoints of scrapy serve: by the server's log, the processes and the folders of its crawls."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fakeweb import witness
from tests.gauntlet.promises.judges.acting import counted
from tests.gauntlet.promises.stages import Client
from tests.gauntlet.promises.table import judge, need
from tests.gauntlet.promises.web import until

if TYPE_CHECKING:
    from tests.fakeweb.log import Hit
    from tests.gauntlet.promises.stages import Served
    from tests.gauntlet.promises.table import Promise

CRAWLS = "/api/v1/crawls"
SESSION = "/api/v1/session"
DELAY = 0.3
LAG_SECONDS = 20.0
"""How old figures of a running crawl may be."""
WATCH_SECONDS = 2.0
"""How long the log is watched for what must not come."""


def _order(stage: Served, name: str, *hosts: str, delay: float = DELAY, **more: Any) -> dict[str, Any]:
    """Return an order of a crawl, whose requests have its name as User-Agent."""
    settings = [f"POLITENESS_MIN_DELAY={delay}", "POLITENESS_FACTOR=0", f"USER_AGENT={name}/1.0"]
    return {"name": name, "seeds": [stage.site.url(host) for host in hosts], "settings": settings, **more}


def _hits(stage: Served, name: str, since: float = 0.0) -> list[Hit]:
    """Return the requests of a crawl."""
    return [hit for hit in stage.web.hits(since=since) if hit.user_agent.startswith(f"{name}/")]


def _pages(stage: Served, name: str, since: float = 0.0) -> list[Hit]:
    return [hit for hit in _hits(stage, name, since) if not hit.is_robots]


def _is_there(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def _is_kept(stage: Served, name: str) -> bool:
    """Return whether the order of a crawl is on the disk."""
    return (stage.root / ".service" / f"{name}.json").exists()


def _pid(stage: Served, name: str) -> int:
    """Return the process that holds the folder of a crawl."""
    return int((stage.root / name / "lock").read_text().split()[-1])


def _try(stage: Served, name: str, client: Client, **headers: str) -> tuple[int, bool]:
    """Order a crawl that waits for start; return the status, and whether the order is on the disk."""
    order = _order(stage, name, stage.hosts[0], start=False)
    status, _ = client.ask("POST", CRAWLS, order, **headers)
    return status, _is_kept(stage, name)


# -- sessions --------------------------------------------------------------------------------------------------------


@judge
def service_tells_the_session(stage: Served, promise: Promise) -> str:
    own = stage.client.get(SESSION)
    _, others = Client(stage.client.base, "").ask("GET", SESSION)
    found = _try(stage, "stranger", Client(stage.client.base, ""))
    return need(
        own["write"] and not others["write"] and found[0] in (401, 403) and not found[1],
        f"with the token write is {own['write']}, without it {others['write']}; an order without it got {found[0]}, "
        f"stored: {found[1]}",
    )


@judge
def service_opens_a_session(stage: Served, promise: Promise) -> str:
    base, token = stage.client.base, stage.client.token
    client = Client(base, "")
    wrong, _ = client.ask("POST", SESSION, {"token": "wrong"})
    _, begun = client.ask("POST", SESSION, {"token": token})
    cookie = {"Cookie": client.cookie, "Origin": base}
    stage.kept["session"] = {**cookie, "X-CSRF-Token": begun["csrf"]}
    bad = _try(stage, "forged", client, **cookie)
    good = _try(stage, "by-session", client, **stage.kept["session"])
    return need(
        wrong in (401, 403) and good == (200, True) and bad[0] in (401, 403) and not bad[1],
        f"wrong token: {wrong}; an order with X-CSRF-Token: {good[0]}, stored: {good[1]}; without it: {bad[0]}, "
        f"stored: {bad[1]}",
    )


@judge
def service_ends_a_session(stage: Served, promise: Promise) -> str:
    need("session" in stage.kept, "no session was opened")
    client = Client(stage.client.base, "")
    status, _ = client.ask("DELETE", SESSION, None, **stage.kept["session"])
    headers = {**stage.kept["session"], "Cookie": client.cookie}
    after = _try(stage, "signed-out", client, **headers)
    return need(
        status == 200 and after[0] in (401, 403) and not after[1],
        f"ended with {status}; an order of this browser then: {after[0]}, stored: {after[1]}",
    )


# -- crawls ----------------------------------------------------------------------------------------------------------


@judge
def service_takes_an_order(stage: Served, promise: Promise) -> str:
    """The seeds are requested by the settings of the order; an order with a wrong setting leaves no folder."""
    wrong = _order(stage, "wrong", stage.hosts[0])
    wrong["settings"] = ["POLITNESS_MIN_DELAY=1"]
    refused, _ = stage.client.ask("POST", CRAWLS, wrong)
    stage.client.change("POST", CRAWLS, _order(stage, "first", *stage.hosts[:2]))
    need(until(lambda: len(_pages(stage, "first")) >= 8, 60.0), "no requests came")
    asked = {hit.host for hit in _hits(stage, "first")}
    gaps = stage.web.gaps(stage.hosts[:2])
    return need(
        asked == {*stage.hosts[:2]}
        and min(gaps) >= DELAY - 0.002
        and refused == 400
        and not (stage.root / "wrong").exists()
        and not _is_kept(stage, "wrong"),
        f"{counted(len(_pages(stage, 'first')), 'page')} of {counted(len(asked), 'host')}, shortest pause "
        f"{min(gaps):.3f} s, owed {DELAY:g}; a wrong setting: {refused}",
    )


@judge
def service_offers_settings(stage: Served, promise: Promise) -> str:
    """An order with every offered setting at its offered value is refused for none of the names."""
    form = stage.client.get("/api/v1/form")
    names = [row["name"] for row in form["settings"]]
    order = _order(stage, "offered", stage.hosts[0]) | {"start": False, "spider": form["spiders"][0]}
    order["settings"] = [f"{name}=\0" for name in names]
    _, refused = stage.client.ask("POST", CRAWLS, order)
    closed = str(refused).count("is not among the settings")
    return need(
        "broad" in form["spiders"]
        and "DEPTH_LIMIT" in names
        and "ITEM_PIPELINES" not in names
        and not closed,
        f"{counted(len(names), 'setting')}, {counted(len(form['spiders']), 'spider')}; {closed} refused by name",
    )


@judge
def service_tells_crawls(stage: Served, promise: Promise) -> str:
    """State, process and pages of a crawl that runs; ``one``: of the endpoint of one crawl."""
    if promise.given.get("one"):
        row = stage.client.get(f"{CRAWLS}/first")
        missing, _ = stage.client.ask("GET", f"{CRAWLS}/unheard")
        need(missing == 404, f"a crawl that is not there: {missing}")
    else:
        rows = {row["name"]: row for row in stage.client.get(CRAWLS)["rows"]}
        orders = {path.stem for path in (stage.root / ".service").glob("*.json")}
        need({*rows} == orders, f"{sorted(rows)} are told, there are orders {sorted(orders)}")
        row = rows["first"]
    now = time.time()
    answered = [hit.end for hit in _pages(stage, "first") if hit.status is not None]
    least, done = sum(end < now - LAG_SECONDS for end in answered), row["figures"].get("done", 0)
    return need(
        0 < least <= done <= len(answered)
        and row["state"] == "running"
        and row["pid"] == _pid(stage, "first"),
        f"{row['state']}, process {row['pid']}, the lock has {_pid(stage, 'first')}; {done:g} done, the server "
        f"answered {least} to {len(answered)}",
    )


@judge
def service_passes_commands(stage: Served, promise: Promise) -> str:
    """After pause no request comes, after resume they come again."""
    path = f"{CRAWLS}/first/commands"
    need(until(lambda: _pages(stage, "first", time.time() - 1.0)), "the crawl did not fetch")
    stage.client.change("POST", path, {"command": "pause"})
    until(lambda: not _hits(stage, "first", time.time() - WATCH_SECONDS))
    since = time.time() - WATCH_SECONDS
    time.sleep(WATCH_SECONDS)
    late = len(_hits(stage, "first", since))
    was_there = _is_there(_pid(stage, "first"))
    since = time.time()
    stage.client.change("POST", path, {"command": "resume"})
    come = until(lambda: _pages(stage, "first", since))
    return need(
        not late and was_there and come,
        f"{counted(late, 'request')} in {2 * WATCH_SECONDS:g} s while it was paused, the process was "
        f"{'there' if was_there else 'gone'}; resumed: {counted(len(_pages(stage, 'first', since)), 'request')}",
    )


@judge
def service_adds_seeds(stage: Served, promise: Promise) -> str:
    url = stage.site.url(stage.hosts[2], "/by-hand")
    stage.client.change("POST", f"{CRAWLS}/first/seeds", {"urls": [url]})
    come = until(lambda: stage.web.has(url))
    return need(come, f"a host that no page links to was {'' if come else 'not '}requested")


@judge
def service_shares_clocks(stage: Served, promise: Promise) -> str:
    """Two requests to a host never overlap, and are as far apart as the longer of the delays of their crawls."""
    host, delays = stage.hosts[3], {"slow": 0.8, "fast": 0.2}
    for name, delay in delays.items():
        stage.client.change("POST", CRAWLS, _order(stage, name, host, delay=delay))

    def both() -> bool:
        return all(len(_pages(stage, name)) > 4 for name in delays)

    need(until(both, 90.0), f"pages of each: {[len(_pages(stage, name)) for name in delays]}")
    hits = stage.web.hits(host)
    short, mixed = [], []
    for before, after in pairwise(hits):
        names = {hit.user_agent.partition("/")[0] for hit in (before, after)}
        gap = after.start_mono - before.end_mono
        if gap < max(delays[name] for name in names) - 0.005:
            short.append(f"{sorted(names)}: {gap:.3f} s")
        if len(names) == 2:
            mixed.append(gap)
    for name in delays:
        stage.client.change("POST", f"{CRAWLS}/{name}/stop")
    return need(
        not short and mixed,
        f"{counted(len(hits), 'request')} of two crawls with delays of 0.8 and 0.2 s; {len(mixed)} pauses between "
        f"them, the shortest {min(mixed, default=0.0):.3f} s; too short: {short[:3]}",
    )


@judge
def service_stops(stage: Served, promise: Promise) -> str:
    """The process is gone, and no request comes; a crawl that runs is not deleted before."""
    pid = _pid(stage, "first")
    refused, _ = stage.client.ask("DELETE", f"{CRAWLS}/first")
    need(_is_there(pid), "the process was not there before")
    stage.client.change("POST", f"{CRAWLS}/first/stop")
    gone = until(lambda: not _is_there(pid))
    since = time.time()
    time.sleep(WATCH_SECONDS)
    late = len(_hits(stage, "first", since))
    return need(
        gone and not late and refused == 409 and (stage.root / "first").exists(),
        f"process {pid} is {'gone' if gone else 'there'}; {counted(late, 'request')} in {WATCH_SECONDS:g} s after "
        f"it; deleted while it ran: {refused}",
    )


@judge
def service_shows_output(stage: Served, promise: Promise) -> str:
    """The last lines say that it was stopped; they are those of its file."""
    lines = stage.client.get(f"{CRAWLS}/first/log?lines=5")["lines"]
    there = (stage.root / "first" / "output.log").read_text().splitlines()
    said = any("was stopped after" in line for line in stage.client.get(f"{CRAWLS}/first/log")["lines"])
    return need(lines == there[-5:] and said, f"{len(lines)} lines as in output.log; it was stopped: {said}")


@judge
def service_shows_a_report(stage: Served, promise: Promise) -> str:
    text = stage.client.get(f"{CRAWLS}/first/report").decode()
    answered = sum(hit.status is not None for hit in _pages(stage, "first"))
    return need(
        f">{answered:,}<" in text.replace("\n", "") and "<script" not in text,
        f"{len(text)} characters; the number of pages by the server's log, {answered:,}, is "
        f"{'there' if f'>{answered:,}<' in text else 'not there'}",
    )


@judge
def service_starts(stage: Served, promise: Promise) -> str:
    """A crawl that was stopped goes on, without a page twice; one that waited for start begins."""
    since = time.time()
    stage.client.change("POST", f"{CRAWLS}/first/start")
    stage.client.change("POST", f"{CRAWLS}/by-session/start")
    come = until(lambda: len(_pages(stage, "first", since)) >= 3 and _pages(stage, "by-session", since), 60.0)
    twice = witness.repeated(_pages(stage, "first"))
    counts = [len(_pages(stage, name, since)) for name in ("first", "by-session")]
    return need(
        come and not twice and not _hits(stage, "by-session")[0].start < since,
        f"requests for pages of one that was stopped and one that waited: {counts}; {len(twice)} pages twice",
    )


@judge
def service_deletes(stage: Served, promise: Promise) -> str:
    """Its folder is gone, and with it its name; others are there."""
    name = "by-session"
    stage.client.change("POST", f"{CRAWLS}/{name}/stop")
    until(lambda: stage.client.get(f"{CRAWLS}/{name}")["state"] == "stopped")
    others = {path.name for path in stage.root.iterdir()} - {name}
    stage.client.change("DELETE", f"{CRAWLS}/{name}")
    gone = until(lambda: not (stage.root / name).exists())
    after, _ = stage.client.ask("GET", f"{CRAWLS}/{name}")
    left = {path.name for path in stage.root.iterdir()}
    return need(
        gone and after == 404 and left == others,
        f"its folder is {'gone' if gone else 'there'}, asked for it: {after}; others lost: {sorted(others - left)}",
    )


# -- schedules -------------------------------------------------------------------------------------------------------

SCHEDULES = "/api/v1/schedules"
MINUTE_SECONDS = 60.0


def _crawls_of(stage: Served, name: str) -> list[str]:
    """Return the folders of the crawls that a schedule has ordered, in their order."""
    return sorted(path.name for path in stage.root.glob(f"{name}-*Z"))


def _schedules_kept(stage: Served) -> set[str]:
    return {path.stem for path in (stage.root / ".service/schedules").glob("*.json")}


def _stop_going(stage: Served, name: str) -> None:
    """Stop the crawl of a schedule that is not over."""
    going = stage.client.get(f"{SCHEDULES}/{name}")["going"]
    if going is not None:
        stage.client.change("POST", f"{CRAWLS}/{going}/stop")
        need(until(lambda: stage.client.get(f"{SCHEDULES}/{name}")["going"] is None), f"{going} did not stop")


@judge
def service_takes_a_schedule(stage: Served, promise: Promise) -> str:
    """A crawl begins at the next full minute and not before; a wrong expression leaves nothing."""
    order = {"cron": "* * * * *", "zone": "Europe/Berlin", **_order(stage, "timed", stage.hosts[2])}
    refused, _ = stage.client.ask("POST", SCHEDULES, {**order, "name": "wrong", "cron": "0 25 * * *"})
    before = time.time()
    stage.client.change("POST", SCHEDULES, order)
    need(until(lambda: len(_pages(stage, "timed")) > 2, MINUTE_SECONDS + 60), "no requests came")
    first = _hits(stage, "timed", before)[0].start
    return need(
        refused == 400
        and _schedules_kept(stage) == {"timed"}
        and first >= (before // MINUTE_SECONDS + 1) * MINUTE_SECONDS
        and _hits(stage, "timed")[0].host == stage.hosts[2],
        f"the first request came {first % MINUTE_SECONDS:.1f} s after a full minute; a wrong expression: {refused}",
    )


@judge
def service_tells_schedules(stage: Served, promise: Promise) -> str:
    """``one``: of the endpoint of one schedule."""
    if promise.given.get("one"):
        row = stage.client.get(f"{SCHEDULES}/timed")
        missing, _ = stage.client.ask("GET", f"{SCHEDULES}/unheard")
        need(missing == 404, f"a schedule that is not there: {missing}")
        need(row["seeds"] == [stage.site.url(stage.hosts[2])], f"its seeds: {row['seeds']}")
    else:
        rows = {row["name"]: row for row in stage.client.get(SCHEDULES)["rows"]}
        need(
            {*rows} == _schedules_kept(stage),
            f"{sorted(rows)} are told, {_schedules_kept(stage)} are on the disk",
        )
        row = rows["timed"]
    crawls = sorted({run["crawl"] for run in row["runs"]} - {""})
    return need(
        crawls == _crawls_of(stage, "timed")
        and row["going"] == crawls[-1]
        and _is_there(_pid(stage, crawls[-1]))
        and row["next_at"] % MINUTE_SECONDS == 0
        and row["next_at"] > time.time() - MINUTE_SECONDS,
        f"its crawls {crawls} have folders, the last one a process",
    )


@judge
def service_changes_a_schedule(stage: Served, promise: Promise) -> str:
    """The next crawl has the changed settings; a schedule that is paused has no next start."""
    change = {"enabled": False, "settings": _order(stage, "changed")["settings"]}
    row = stage.client.change("PATCH", f"{SCHEDULES}/timed", change)
    need(row["next_at"] is None, f"paused, its next start is {row['next_at']}")
    before = _crawls_of(stage, "timed")
    _stop_going(stage, "timed")
    stage.client.change("POST", f"{SCHEDULES}/timed/run")
    come = until(lambda: _pages(stage, "changed"), 60.0)
    new = [*{*_crawls_of(stage, "timed")} - {*before}]
    return need(
        come and len(new) == 1,
        f"with another User-Agent came {counted(len(_pages(stage, 'changed')), 'request')}; new crawls: {new}",
    )


@judge
def service_runs_a_schedule(stage: Served, promise: Promise) -> str:
    """A crawl begins at once, under the name of the operator; while it is going, another start is refused."""
    refused, _ = stage.client.ask("POST", f"{SCHEDULES}/timed/run")
    _stop_going(stage, "timed")
    before, since = _crawls_of(stage, "timed"), time.time()
    need(not _hits(stage, "changed", since), "requests came after it had stopped")
    stage.client.change("POST", f"{SCHEDULES}/timed/run")
    come = until(lambda: len(_pages(stage, "changed", since)) > 2, 60.0)
    new = [*{*_crawls_of(stage, "timed")} - {*before}]
    return need(
        come and refused == 409 and len(new) == 1,
        f"{counted(len(_pages(stage, 'changed', since)), 'page')} of {new}; while one was going: {refused}",
    )


@judge
def service_deletes_a_schedule(stage: Served, promise: Promise) -> str:
    """Its record is gone; its crawls are there, and the one that runs goes on."""
    crawls = _crawls_of(stage, "timed")
    stage.client.change("DELETE", f"{SCHEDULES}/timed")
    after, _ = stage.client.ask("GET", f"{SCHEDULES}/timed")
    since = time.time()
    goes_on = until(lambda: _pages(stage, "changed", since))
    stage.client.change("POST", f"{CRAWLS}/{crawls[-1]}/stop")
    return need(
        not _schedules_kept(stage) and after == 404 and goes_on and _crawls_of(stage, "timed") == crawls,
        f"asked for it: {after}; {counted(len(crawls), 'crawl')} of it, the last one goes on",
    )


@judge
def service_runs_workers(stage: Served, promise: Promise) -> str:
    """An order of two workers beside one of a single process, on the same host; after its stop no process of it is
    left."""
    hosts, delays = stage.hosts[1:3], {"several": 0.3, "beside": 0.3}
    order = _order(stage, "several", *hosts, delay=delays["several"])
    order["settings"].append("WORKERS=2")
    stage.client.change("POST", CRAWLS, order)
    stage.client.change("POST", CRAWLS, _order(stage, "beside", hosts[0], delay=delays["beside"]))
    need(
        until(lambda: all(len(_pages(stage, name)) > 8 for name in delays), 120.0),
        f"pages of each: {[len(_pages(stage, name)) for name in delays]}",
    )
    logs = stage.root / "several" / "workers"
    fetching = sum((path / "fetch.jsonl").stat().st_size > 0 for path in logs.iterdir())
    row = stage.client.get(f"{CRAWLS}/several")
    running = len(_processes(stage, "several"))
    hits = [
        hit for host in hosts for hit in stage.web.hits(host) if hit.user_agent.partition("/")[0] in delays
    ]
    gaps = [
        after.start_mono - before.end_mono
        for before, after in pairwise(sorted(hits, key=lambda hit: (hit.host, hit.start_mono)))
        if before.host == after.host
    ]
    for name in delays:
        stage.client.change("POST", f"{CRAWLS}/{name}/stop")
    ended = until(lambda: not _processes(stage, "several"), 60.0)
    return need(
        fetching == 2 and running >= 5 and ended and row["state"] == "running" and min(gaps) >= 0.3 - 0.005,
        f"{counted(running, 'process')}, {counted(fetching, 'worker')} with requests; state {row['state']}; "
        f"{counted(len(hits), 'request')} of two crawls, shortest pause {min(gaps, default=0.0):.3f} s; left after "
        f"the stop: {len(_processes(stage, 'several'))}",
    )


def _processes(stage: Served, name: str) -> list[int]:
    """Return the processes whose command line names the folder of a crawl."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if str(stage.root / name).encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found
