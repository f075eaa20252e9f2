"""Judges of commands that read a crawl: what they say is compared with the server's log."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tests.fakeweb import witness
from tests.gauntlet.promises.judges.acting import counted
from tests.gauntlet.promises.table import judge, need
from tests.gauntlet.promises.web import STEADY

if TYPE_CHECKING:
    from tests.fakeweb.log import Hit
    from tests.gauntlet.promises.stages import Live, Story
    from tests.gauntlet.promises.table import Promise

LAG_SECONDS = 15.0


# -- how the crawl went ----------------------------------------------------------------------------------------------


@judge
def ends_complete(stage: Story, promise: Promise) -> str:
    """Over a save, a stop and the same command again each page is requested once, and none is left out."""
    urls = {stage.url(hit) for hit in stage.pages()}
    twice = witness.repeated([hit for hit in stage.pages() if hit.status is not None])
    missing, more = stage.wanted() - urls, urls - stage.wanted()
    overlaps = witness.violations(stage.hits(), lambda hit: 0.1, tolerance=0.002)
    return need(
        set(stage.kept["ended"]) == {0} and not missing and not more and not twice and not overlaps,
        f"exit status {stage.kept['ended']}; {len(urls)} of {len(stage.wanted())} pages, {len(missing)} missing, "
        f"{len(more)} forbidden, {len(twice)} twice, {len(overlaps)} pauses too short",
    )


@judge
def stopped_in_the_middle(stage: Story, promise: Promise) -> str:
    done, kept = stage.kept["stop"], stage.kept
    return need(
        done.status == 0 and kept["gone"] and set(kept["stopped"]) == {0} and not kept["late"],
        f"scrapy stop ended with {done.status}; the process was {'gone' if kept['gone'] else 'there'}, its status "
        f"{kept['stopped']}; {kept['late']} requests later",
    )


@judge
def copy_is_complete(stage: Story, promise: Promise) -> str:
    """A copy crawls on: what was not done when it was made is requested, and nothing else but what was open."""
    which = promise.given["which"]
    done = stage.kept[which]
    need(done.status == 0, f"scrapy {which} ended with {done.status}: {done.err[-200:]}")
    if which == "save":
        copies = sorted((stage.jobdirs[0] / "checkpoints").glob("*"))
        need(copies, "there is nothing in checkpoints/")
        path = copies[-1]
    else:
        path = stage.folder / "taken"
    requested = stage.copy_crawls_on(path, which)
    moment = stage.kept["saved at" if which == "save" else "begun again"]
    before = {stage.url(hit) for hit in stage.pages() if hit.start < moment}
    missing = stage.wanted() - before - requested
    # The checkpoint is of a moment while the command ran: only what came before it must not come again.
    begun = stage.kept["save begins"] if which == "save" else moment
    twice = {stage.url(hit) for hit in stage.pages() if hit.start < begun} & requested
    allowed = len(STEADY) if which == "save" else 0
    return need(
        requested and not missing and (len(twice) <= allowed),
        f"{len(before)} pages before it, {len(requested)} by the copy; {len(missing)} missing, {len(twice)} by both",
    )


@judge
def saves_without_checkpoint(stage: Story, promise: Promise) -> str:
    done = stage.kept["save"]
    return need(done.status == 0 and set(stage.kept["ended"]) == {0}, f"exit status {done.status}")


# -- a crawl that runs -----------------------------------------------------------------------------------------------


@judge
def status_of_a_running_crawl(stage: Live, promise: Promise) -> str:
    words = promise.given["words"]
    told = stage.ask(*words, **stage.select) if len(words) > 1 else stage.ask(*words, stage.target)
    done = _counts(told)["done"]
    now = time.time()
    least = sum(hit.end < now - LAG_SECONDS and hit.status is not None for hit in stage.web.pages())
    most = len(stage.web.pages())
    return need(least <= done <= most, f"{done} done; the server answered {least} to {most}")


def _counts(told: dict[str, Any]) -> dict[str, int]:
    """Return the numbers of URLs: on Redis the form is that of scrapy frontier status."""
    found: dict[str, int] = told.get("urls") or told.get("counts") or told
    return found


@judge
def cache_of_a_running_crawl(stage: Live, promise: Promise) -> str:
    processes = stage.ask("cache", stage.target)["processes"]
    hosts = {hit.host for hit in stage.web.hits()}
    robots = sum(process["held"]["robots"]["entries"] for process in processes)
    pids = sorted(process["process"] for process in processes)
    ours = sorted(worker.process.pid for worker in stage.workers)
    return need(
        pids == ours and len(hosts) - 3 <= robots <= 2 * len(hosts),
        f"processes {pids}, started were {ours}; {robots} robots.txt held, {len(hosts)} hosts were asked for one",
    )


# -- figures of a crawl that has ended ------------------------------------------------------------------------------


@judge
def status_of_an_ended_crawl(stage: Story, promise: Promise) -> str:
    """URLs that are done or failed are those that were requested, also over several runs."""
    told = stage.ask("status", stage.target)
    urls = _counts(told)
    requested = {stage.url(hit) for hit in stage.pages()}
    text = stage.do("status", stage.target).out
    pages = re.search(r"^pages +([\d,]+)", text, re.MULTILINE)
    answered = sum(hit.status is not None for hit in stage.pages())
    shown = int(pages[1].replace(",", "")) if pages else None
    return need(
        urls["done"] + urls["failed"] == len(requested) and urls["queued"] == 0 and shown in (None, answered),
        f"{urls['done']} done, {urls['failed']} failed, {len(requested)} were requested; pages {shown}, "
        f"{answered} were answered",
    )


@judge
def hosts_of_an_ended_crawl(stage: Story, promise: Promise) -> str:
    rows = {row["key"]: row["pages"] for row in stage.ask("hosts", stage.target)["rows"]}
    served = Counter(hit.host for hit in stage.pages() if hit.status == 200)
    wrong = {host: (rows.get(host), number) for host, number in served.items() if rows.get(host) != number}
    return need(not wrong, f"{counted(len(rows), 'host')}; pages told and served differ: {wrong}")


@judge
def explains(stage: Story, promise: Promise) -> str:
    forbidden = next(url for url, fact in stage.site.truth().items() if fact.forbidden and "/private/" in url)
    failed = next(stage.url(hit) for hit in stage.pages() if hit.status is None)
    settings = stage.select if stage.redis is None else {**stage.select, "JOBDIR": stage.jobdirs[0]}
    fates = [
        stage.ask("explain", url, **settings)["conclusion"]["fate"]
        for url in (stage.names["url"], failed, forbidden, stage.names["unseen"])
    ]
    return need(
        fates == ["done", "failed", "refused", "would_be_queued"],
        f"answered: {fates[0]}, not answered: {fates[1]}, forbidden: {fates[2]}, not linked: {fates[3]}",
    )


@judge
def errors_of_an_ended_crawl(stage: Story, promise: Promise) -> str:
    told = stage.ask("errors", stage.target if stage.redis is None else stage.jobdirs[0])
    # A request that a kept connection lost is sent again at once, and is one attempt.
    failed = len({stage.url(hit) for hit in stage.pages() if hit.status is None})
    if stage.redis is not None:
        number = sum(stage.ask("errors", stage.target)["workers"].values())
        return need(number == failed, f"{number} errors of all workers; {failed} were not answered")
    return need(told["total"] == failed, f"{told['total']} errors; the server has not answered {failed}")


@judge
def logs_of_an_ended_crawl(stage: Story, promise: Promise) -> str:
    host = "h0003.test"
    lines = stage.do("logs", *stage.jobdirs, "--host", host, "--json").out.splitlines()
    told = [json.loads(line) for line in lines]
    urls = Counter(entry["request"]["url"] for entry in told if entry.get("request"))
    served = Counter(stage.url(hit) for hit in stage.hits() if hit.host == host)
    times = [entry["at"] for entry in told]
    return need(
        urls == served and times == sorted(times),
        f"{urls.total()} requests to {host}, the server's log has {served.total()}; in order of time: "
        f"{times == sorted(times)}",
    )


@judge
def audits(stage: Story, promise: Promise) -> str:
    told = stage.ask("audit", *stage.jobdirs)
    strict = stage.run("audit", *stage.jobdirs, "--least", "1", "--json")
    number = len(stage.hits())
    pauses = [gap for hits in witness.by_key(stage.hits()).values() for gap in _pauses(hits)]
    # The server sees a pause a little longer than the crawler kept it.
    least, most = sum(gap < 0.99 for gap in pauses), sum(gap < 1.05 for gap in pauses)
    found = json.loads(strict.out)["totals"]["violations"]["early"]
    return need(
        told["totals"]["requests"] == number
        and not told["violations"]
        and strict.status == 1
        and least <= found <= most,
        f"{told['totals']['requests']} requests, {len(told['violations'])} violations; for a delay of a second "
        f"{found}: the server's log has {number} requests, {least} to {most} of them so early",
    )


def _pauses(hits: list[Hit]) -> list[float]:
    return [later.start_mono - earlier.end_mono for earlier, later in pairwise(hits)]


@judge
def reports(stage: Story, promise: Promise) -> str:
    path = stage.folder / "report.html"
    stage.do("report", *stage.jobdirs, "-o", path)
    text = path.read_text()
    answered = sum(hit.status is not None for hit in stage.pages())
    has_number = re.search(rf">\s*{answered:,}\s*<", text)
    return need(
        has_number and "<script" not in text and 'http-equiv="refresh' not in text,
        f"the page {'has' if has_number else 'lacks'} the number of pages, {answered:,}",
    )


@judge
def complains(stage: Story, promise: Promise) -> str:
    host = "h0004.test"
    listed = stage.do("complaint", host, *stage.jobdirs).out.partition("Each request")[2]
    told = Counter(re.findall(r"^ +\d{4}-.*? (http://\S+)$", listed, re.MULTILINE))
    served = Counter(stage.url(hit) for hit in stage.hits() if hit.host == host)
    return need(told == served, f"{told.total()} requests to {host}; the server's log has {served.total()}")


@judge
def crawls_are_listed(stage: Story, promise: Promise) -> str:
    rows = stage.ask("crawls", stage.jobdirs[0].parent)["crawls"]
    names = [row["name"] for row in rows]
    states = {row["name"]: (row["state"], row["reason"]) for row in rows}
    return need(
        names == [stage.jobdirs[0].name] and states[names[0]] == ("ended", "finished"),
        f"{states}, in {len(rows)} rows",
    )


@judge
def checks_the_frontier(stage: Story, promise: Promise) -> str:
    sound = stage.run("frontier", "check", **stage.select)
    if stage.redis is not None:
        return need(sound.status == 0, f"exit status {sound.status}: {sound.out[-100:]}")
    copy = stage.folder / "repaired"
    shutil.copytree(stage.names["damaged"], copy)
    damaged: dict[str, Any] = {"JOBDIR": copy}
    broken = stage.run("frontier", "check", **damaged)
    repaired = stage.run("frontier", "check", "--repair", **damaged)
    after = stage.run("frontier", "check", **damaged)
    statuses = [done.status for done in (sound, broken, repaired, after)]
    return need(
        statuses == [0, 1, 0, 0], f"sound, with a wrong total, repaired, after it: exit status {statuses}"
    )
