"""``scrapy serve`` with real crawls: orders over HTTP, ends, accidents, and what is there afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from contextlib import suppress
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests import forked, processes
from tests.commands import own_process
from tests.crawl.crawling import ROOT, Jobdir
from tests.fakeweb import witness
from tests.forked import Files
from webcrawl.urls.politeness_key import registrable_domain

SECONDS = 60.0
FAST = ["POLITENESS_MIN_DELAY=0", "POLITENESS_FACTOR=0"]


class Service:
    """A service in a process, and a client of its API."""

    def __init__(self, folder, **settings):
        self.folder = folder
        self.root = folder / "crawls"
        number = len(list(folder.glob("service-*.out"))) + 1
        self.out, self.err = folder / f"service-{number}.out", folder / f"service-{number}.err"
        self.out.touch()
        settings = {"SERVICE_PRIVATE_SEEDS": 1, **settings}
        words = ["serve", str(self.root), "--port", "0"]
        words += [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
        environment = {**os.environ, "SCRAPY_SETTINGS_MODULE": "webcrawl.settings", "PYTHONPATH": str(ROOT)}
        self.process = forked.scrapy(words, folder, environment, Files(Path(os.devnull), self.out, self.err))
        self.until(lambda: "The token" in self.out.read_text())
        self.port = int(self.out.read_text().partition("127.0.0.1:")[2].partition("/")[0])
        self.token = (self.root / ".service/token").read_text().strip()

    def until(self, what, seconds=SECONDS):
        deadline = time.monotonic() + seconds
        while not (found := what()):
            assert self.process.poll() is None, self.err.read_text()
            assert time.monotonic() < deadline, f"{self.err.read_text()}\n{self.get('/api/v1/crawls')[1]}"
            time.sleep(0.02)
        return found

    def ask(self, method, path, body=None, **headers):
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        text = None if method == "GET" else json.dumps(body or {})
        if text is not None:
            headers = {"Content-Type": "application/json", **headers}
        headers = {"Authorization": f"Bearer {self.token}", **headers}
        connection.request(method, path, text, headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        is_json = response.headers["Content-Type"].startswith("application/json")
        return response.status, json.loads(content) if is_json else content

    def get(self, path):
        return self.ask("GET", path)

    def order(self, name, seeds, settings=FAST, **more):
        status, found = self.ask(
            "POST", "/api/v1/crawls", {"name": name, "seeds": seeds, "settings": settings, **more}
        )
        assert status == 200, found
        return found

    def row(self, name):
        return self.get(f"/api/v1/crawls/{name}")[1]

    def until_state(self, name, *states):
        return self.until(lambda: row if (row := self.row(name))["state"] in states else None)

    def crawl(self, name):
        return Jobdir(self.root / name)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        assert self.process.wait(SECONDS) == 0, self.err.read_text()
        assert "Traceback" not in self.err.read_text()


@pytest.fixture
def serving(tmp_path):
    """Starts a service on the same folder each time."""
    services = []

    def start(**settings):
        services.append(Service(tmp_path, **settings))
        return services[-1]

    yield start
    for service in services:
        with suppress(ProcessLookupError, OSError):
            service.process.kill()
    for lock in (tmp_path / "crawls").glob("*/lock"):
        pid = lock.read_text().removeprefix("process ").strip()
        if lock.parent.name != ".service" and pid.isdigit() and "scrapy" in processes.name_of(int(pid)):
            processes.kill(int(pid))


def test_a_service_takes_an_order_and_shows_what_became_of_it(serve, serving):
    web = serve(hosts=3, pages=20, seed=4)
    service = serving()
    assert service.get("/api/v1/crawls") == (200, {"running_max": 4, "rows": []})

    wrong = {
        "name": "first",
        "spider": "brod",
        "settings": ["SEEDS_COMMAND=ls", "PLAYWRIGHT_LAUNCH_OPTIONS={}"],
    }
    status, refused = service.ask("POST", "/api/v1/crawls", wrong)
    assert (status, len(refused["problems"])) == (400, 3)
    assert "brod: is no spider; did you mean broad?" in refused["error"]
    unasked = {"name": "first", "seeds": web.seeds}
    assert service.ask("POST", "/api/v1/crawls", unasked, Authorization="Bearer wrong")[0] == 401
    assert service.ask("POST", "/api/v1/crawls", unasked, Origin="https://evil.test")[0] == 403
    assert service.ask("POST", "/api/v1/crawls", unasked, Host="evil.test")[0] == 421
    assert [path.name for path in service.root.iterdir()] == [".service"]

    service.order("first", web.seeds)
    row = service.until_state("first", "ended", "failed", "stopped")
    crawl = service.crawl("first")
    modes = {path: path.stat().st_mode & 0o777 for path in service.root.iterdir()}
    assert set(modes.values()) == {0o700}, modes
    assert {path.stat().st_mode & 0o777 for path in (service.root / ".service").glob("token")} == {0o600}
    assert (row["state"], row["reason"]) == ("ended", "finished")
    assert row["figures"]["done"] == crawl.assert_sound().totals["done"] > 0
    assert row["ordered_by"] == "dashboard 127.0.0.1"
    assert witness.most_open(web.hits()) == 1

    status, log = service.get("/api/v1/crawls/first/log?lines=50")
    assert any(line.startswith("broad finished after") for line in log["lines"])
    assert b"<title>first</title>" in service.get("/api/v1/crawls/first/report")[1]
    assert service.get("/crawls/first/api/v1/crawl")[1]["reason"] == "finished"
    assert b"<!doctype html>" in service.get("/crawls/first/")[1]
    assert service.ask("POST", "/api/v1/crawls", unasked)[1] == {"error": "there is a crawl first already"}
    assert service.get("/api/v1/crawls/other")[0] == service.get("/crawls/other/")[0] == 404

    assert service.ask("DELETE", "/api/v1/crawls/first")[0] == 200
    assert service.get("/crawls/first/api/v1/crawl")[0] == 404
    assert {path.name for path in (service.root / ".service").iterdir()} == {"clocks", "lock", "token"}
    service.end()


def test_crawls_of_a_service_share_the_clock_of_a_site(serve, serving):
    """Judged by the server's log: whoever sent them, two requests to a site never overlap, and never come closer than
    the longer of the delays of the two crawls. One crawl is killed, and its keys are hosts."""
    web = serve(hosts=2, pages=None, seed=9)
    service = serving(SERVICE_RESTARTS_MAX=0)
    delays = {"slow": 0.6, "hosts": 0.6, "fast": 0.15}
    for name, delay in delays.items():
        settings = [
            f"POLITENESS_MIN_DELAY={delay}",
            "POLITENESS_FACTOR=0",
            f"USER_AGENT={name} (+http://a.test/)",
        ]
        settings += ["POLITENESS_KEY=host"] if name == "hosts" else []
        service.order(name, web.seeds, settings=settings)

    def by(name, after=0.0):
        return [hit for hit in web.hits() if hit.user_agent.startswith(name) and hit.start_mono > after]

    service.until(lambda: all(len(by(name)) > 2 for name in delays))
    killed_at = time.monotonic()
    processes.kill(service.row("hosts")["pid"])
    service.until(lambda: all(len(by(name, killed_at)) > 2 for name in ("slow", "fast")))
    service.end()
    sites = witness.by_key(web.hits(), lambda hit: registrable_domain(hit.host))
    closest = {}
    for hits in sites.values():
        for before, after in pairwise(hits):
            names = [hit.user_agent.partition(" ")[0] for hit in (before, after)]
            owed = max(delays[name] for name in names)
            assert after.start_mono - before.end_mono >= owed - 0.005, (names, before, after)
            closest.setdefault(tuple(names), []).append(after.start_mono - before.end_mono)
    assert len(closest) > 2


def test_a_wrong_start_is_one_line_and_status_2(tmp_path):
    (tmp_path / "file").touch()
    for words, settings, line in [
        (["file"], {}, "file: is no folder"),
        (["a", "b"], {}, "b: is one argument too many; give one folder of crawls"),
        (
            [],
            {"JOBDIR": "x"},
            "JOBDIR: is the folder of one crawl; give the folder of all crawls: scrapy serve FOLDER",
        ),
        ([], {"SERVICE_CRAWLS_MAX": 0}, "SERVICE_CRAWLS_MAX: must be a whole number from 1 to 1000, not '0'"),
        (
            [],
            {"REDIS_URL": "redis://127.0.0.1:1/0"},
            "FRONTIER_BACKEND: the crawls of a service keep their state in their folders, not in redis",
        ),
        (["/proc/crawls"], {}, "/proc/crawls cannot be used for crawls: No such file or directory"),
    ]:
        done = own_process(tmp_path, "serve", *words, **settings)
        assert (done.status, done.out, done.err) == (2, "", f"scrapy serve: {line}\n")


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_crawls_go_on_after_every_kind_of_end(serve, serving):
    web = serve(hosts=8, pages=None, seed=5)
    slow = ["POLITENESS_MIN_DELAY=0.2", "POLITENESS_FACTOR=0"]
    service = serving(SERVICE_CRAWLS_MAX=2)
    for name in ("a", "b", "c"):
        service.order(name, web.seeds, slow)
    assert service.row("c")["position"] == 1
    for name in ("a", "b"):
        service.until(lambda name=name: len(service.crawl(name).lines()) > 10)
    pids = {name: service.row(name)["pid"] for name in "ab"}

    # Commands and seeds reach a crawl that runs.
    assert service.ask("POST", "/api/v1/crawls/a/commands", {"command": "pause"})[0] == 200
    service.until(lambda: service.row("a")["is_paused"])
    assert service.ask("POST", "/api/v1/crawls/a/commands", {"command": "resume"})[0] == 200
    service.until(lambda: not service.row("a")["is_paused"])
    [seed, *_] = web.seeds
    added = f"{seed}added-by-hand"
    assert service.ask("POST", "/api/v1/crawls/a/seeds", {"urls": [added]})[0] == 200
    service.until(lambda: added in service.crawl("a").fetched())

    # A second service on the folder is refused.
    done = own_process(service.folder, "serve", str(service.root), "--port", "0")
    assert done.status == 2
    assert done.err.startswith(f"scrapy serve: {service.root} has a service already, process ")
    # So is the port of another.
    done = own_process(service.folder, "serve", "others", "--port", service.port)
    assert f"cannot listen on 127.0.0.1:{service.port}: Address already in use" in done.err

    # kill -9 of the service: its crawls run on, and the next one adopts them.
    service.process.kill()
    service.process.wait(SECONDS)
    before = len(service.crawl("a").lines())
    service = serving(SERVICE_CRAWLS_MAX=2)
    assert {name: service.row(name)["pid"] for name in "ab"} == pids
    service.until(lambda: len(service.crawl("a").lines()) > before)
    assert service.row("c")["state"] == "waiting"

    # A crawl that is killed is started again.
    os.kill(pids["a"], signal.SIGKILL)
    service.until_state("a", "restarting")
    assert service.row("a")["reason"] == "its process was killed"
    service.until_state("c", "running")
    service.ask("POST", "/api/v1/crawls/b/stop")
    assert service.until_state("b", "stopped")["reason"] == ""
    before = len(service.crawl("a").lines())
    service.until(lambda: len(service.crawl("a").lines()) > before)

    # SIGTERM: all stop gracefully.
    service.until(lambda: len(service.crawl("c").lines()) > 10)
    service.end()
    for name in "abc":
        assert "\nbroad was stopped after " in (service.root / name / "output.log").read_text()
        service.crawl(name).assert_sound()
    service = serving(SERVICE_CRAWLS_MAX=2)
    for name in "ac":
        service.until_state(name, "running")
    assert service.row("b")["state"] == "stopped"

    # A reboot: everything is killed at once.
    live = [service.row(name)["pid"] for name in "ac"]
    service.until(
        lambda: all(
            (service.root / name / "lock").read_text().strip() == f"process {pid}"
            for name, pid in zip("ac", live, strict=True)
        )
    )
    service.process.kill()
    for pid in live:
        for child in processes.all_below(pid):
            processes.kill(child)
    service.process.wait(SECONDS)
    service = serving(SERVICE_CRAWLS_MAX=2)
    for name in "ac":
        before = len(service.crawl(name).lines())
        service.until_state(name, "running")
        service.until(lambda name=name, before=before: len(service.crawl(name).lines()) > before)
    assert service.row("b")["state"] == "stopped"
    service.end(signal.SIGINT)
    for name in "abc":
        service.crawl(name).assert_sound()


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_folder_that_is_removed_and_a_hundred_orders(serve, serving):
    web = serve(hosts=2, pages=None, seed=6)
    service = serving(SERVICE_CRAWLS_MAX=1)
    service.order("gone", web.seeds)
    service.until(lambda: len(service.crawl("gone").lines()) > 5)
    for number in range(100):
        service.order(f"c{number:03}", web.seeds, [*FAST, "CLOSESPIDER_PAGECOUNT=1"])
    assert sum(row["pid"] is not None for row in service.get("/api/v1/crawls")[1]["rows"]) == 1
    pid = service.row("gone")["pid"]
    os.kill(pid, signal.SIGSTOP)
    shutil.rmtree(service.root / "gone")
    os.kill(pid, signal.SIGCONT)
    os.kill(pid, signal.SIGKILL)
    assert service.until_state("gone", "failed")["reason"] == "its folder was removed"
    service.until_state("c002", "ended")
    assert service.row("c099")["position"] > 90
    service.end()


def test_a_schedule_starts_each_crawl_once_whatever_kills_the_service(serve, serving):
    """Judged by the server's log: each crawl of the schedule requests the first seed once."""
    web = serve(hosts=2, pages=6, seed=8)
    seed = urlsplit(web.seeds[0])
    service = serving()
    order = {
        "name": "news",
        "cron": "0 0 1 1 *",
        "zone": "Europe/Berlin",
        "seeds": web.seeds,
        "settings": FAST,
    }
    status, row = service.ask("POST", "/api/v1/schedules", order)
    assert (status, row["runs"]) == (200, []), row

    def crawls():
        return sorted(path.name for path in service.root.glob("news-*"))

    def requests():
        return sum((hit.host, hit.path) == (seed.hostname, seed.path) for hit in web.hits())

    def run_with(outcome, planned_at=None):
        """The last run, once it has come to this."""
        run = service.get("/api/v1/schedules/news")[1]["runs"][0]
        return run if run["outcome"] == outcome and planned_at in (None, run["planned_at"]) else None

    status, row = service.ask("POST", "/api/v1/schedules/news/run")
    assert status == 200
    run = service.until(lambda: run_with("ended"))
    assert (run["reason"], run["by"], [run["crawl"]]) == ("finished", "dashboard 127.0.0.1", crawls())
    assert requests() == 1
    service.crawl(run["crawl"]).assert_sound()

    record = service.root / ".service/schedules/news.json"
    for number in (2, 3):
        # As if its time had come a moment ago, while there was no service.
        service.process.kill()
        service.process.wait(SECONDS)
        values = json.loads(record.read_text())
        planned_at = int(time.time()) - 30 * number
        record.write_text(json.dumps(values | {"next_at": planned_at}))
        before = record.read_bytes()
        service = serving()
        if number > 2:
            # kill -9 as soon as it has decided to start.
            service.until(lambda before=before: record.read_bytes() != before)
            service.process.kill()
            service.process.wait(SECONDS)
            service = serving()
        assert service.until(lambda at=planned_at: run_with("ended", at))["by"] == ""
        assert (len(crawls()), requests()) == (number, number)

    # What is late by more than the window is missed, and said to be.
    service.process.kill()
    service.process.wait(SECONDS)
    values = json.loads(record.read_text())
    record.write_text(json.dumps(values | {"next_at": int(time.time()) - 7200}))
    service = serving()
    assert service.until(lambda: run_with("missed"))["reason"] == "the service was off, or could not start it"
    service.end()
    assert (len(crawls()), requests()) == (3, 3)
