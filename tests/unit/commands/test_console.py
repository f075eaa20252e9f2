"""The commands to a running crawl and about it, from another shell: arguments, messages, status."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from tests.contract.samples import found, pages
from tests.unit.commands.conftest import local_crawl
from webcrawl.commands import hosts
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.features.timeseries.store import Latest, SeriesStore
from webcrawl.reports import run_log
from webcrawl.web.dashboard import host_index

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.commands import Command, Done
    from tests.contract.driven import DrivenSqlite
    from tests.contract.sample_crawl import SampleCrawl

VERBS = ("pause", "resume", "save", "stop")
URL = "https://a.test/a/rather/long/path/with/many/segments?and=parameters&of=all&kinds=of&things=too"


def refused(done: Done, name: str) -> str:
    """The only line of a command that did nothing."""
    assert (done.status, done.out) == (2, ""), done
    [line] = done.err.splitlines()
    return line.removeprefix(f"scrapy {name}: ")


@pytest.mark.parametrize("verb", [*VERBS, "errors", "cache", "hosts"])
def test_what_is_no_crawl_is_refused_in_one_line(
    verb: str, tmp_path: Path, command: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    give = command(verb)
    assert refused(give(str(tmp_path / "none")), verb) == f"{tmp_path / 'none'} is no folder"
    assert refused(give(str(tmp_path)), verb) == f"{tmp_path} is no folder of a crawl"
    assert "one argument too many" in refused(give("a", "b"), verb)
    assert "cannot be reached" in refused(give("redis://127.0.0.1:1/0"), verb)
    monkeypatch.chdir(tmp_path)
    assert refused(give(), verb).startswith("which crawl? give")


@pytest.mark.parametrize("verb", VERBS)
def test_the_folder_of_a_worker_is_not_the_crawl(
    verb: str, tmp_path: Path, command: Callable[..., Command]
) -> None:
    run_log.begin(tmp_path, run_log.Run(1.0, "broad", "w1", crawl="broad on Redis at 10.0.0.5:6379/0"))
    line = refused(command(verb)(str(tmp_path)), verb)
    assert line.endswith(
        "is the folder of one worker of broad on Redis at 10.0.0.5:6379/0; give its REDIS_URL"
    )


def test_a_stopped_crawl_is_paused_for_its_next_start(
    stopped_crawl: DrivenSqlite, command: Callable[..., Command]
) -> None:
    job = str(stopped_crawl.directory)
    assert "is paused: it is not running, and fetches nothing" in command("pause")(job).said
    assert "not running, paused" in command("status")(job).said.splitlines()[0]
    assert command("status")(job, "--json").told["paused"] is True
    assert "was paused already: it is not running" in command("pause")(job, "--no-wait").said
    told = command("resume")(job, "--json").told
    assert (told["command"], told["obeyed"]) == ("resume", True)
    assert told["messages"] == [f"the crawl in {job} will go on: it is not running; start it"]
    assert command("status")(job).said.splitlines()[0].endswith(": not running")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(
    stopped_crawl: DrivenSqlite, command: Callable[..., Command]
) -> None:
    stopped_crawl.directory.chmod(0o500)
    try:
        refused(command("pause")(str(stopped_crawl.directory)), "pause")
    finally:
        stopped_crawl.directory.chmod(0o700)


def test_a_crawl_that_runs_and_does_not_answer_is_said_to_be_of_another_version(
    stopped_crawl: DrivenSqlite, command: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webcrawl.control.operating.UNKNOWN_SECONDS", 0.0)
    jobdir = Jobdir(stopped_crawl.directory)
    jobdir.hold()
    try:
        done = command("save")(str(stopped_crawl.directory))
        assert done.status == 1
        assert done.err.endswith("knows no commands of operators. SIGTERM stops it\n")
        told = command("pause")(str(stopped_crawl.directory), "--no-wait", "--json").told
        assert (told["command"], told["obeyed"]) == ("pause", None)
    finally:
        jobdir.leave()


def test_a_crawl_on_redis_takes_them_by_either_name(
    sample: SampleCrawl, command: Callable[..., Command]
) -> None:
    url = sample.driven.url
    sample.report("w1", sample.server_now() + 30)
    assert "is asked to pause: 1 worker running (w1)" in command("pause")(url, "--no-wait").said
    assert command("frontier")("status", "--json", REDIS_URL=url).told["command"] == "pause"
    assert "was paused already" in command("frontier")("pause", REDIS_URL=url).said
    assert "is asked to go on: 1 worker running (w1)" in command("resume")(url, "--no-wait").said
    assert "there is no crawl 'other'" in refused(command("stop")(url, "--spider", "other"), "stop")
    assert "is asked to stop: 1 worker running (w1)" in command("stop")(url, "--no-wait").said
    assert command("frontier")("status", "--json", REDIS_URL=url).told["command"] == "stop"


# -- cache ---------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is piped has all columns, whatever terminal the tests are run from."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def running_crawl(runner: asyncio.Runner, tmp_path: Path) -> Iterator[DrivenSqlite]:
    """A crawl of one process whose storage is open."""
    with local_crawl(runner, tmp_path) as made:
        yield made


def publish(crawl: DrivenSqlite, **figures: float) -> None:
    """Publish these figures, as a process of the crawl does."""
    store = SeriesStore(crawl.backend.tables)
    now = time.time()
    latest = Latest("w1", now, now - 60, "box", 4711, "0.1.0", figures)
    crawl.run(store.publish(0, latest))


def test_caches_are_shown_with_limits_and_hits(
    running_crawl: DrivenSqlite, command: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(
        running_crawl,
        rss=143e6,
        cache_active_entries=1204,
        cache_active_max=20_000,
        cache_dns_entries=3,
        cache_dns_max=10_000,
        cache_dns_hits=7,
        cache_dns_misses=3,
        cache_bodies_entries=3_100_000,
        cache_bodies_max=268e6,
    )
    job = str(running_crawl.directory)
    assert command("cache")(job).said.splitlines() == [
        "w1: process 4711 on box, 143 MB of memory",
        "",
        "                    held  at most  hits  misses  hit rate",
        "active hosts       1,204   20,000",
        "host names (DNS)       3   10,000     7       3    70.0 %",
        "bodies of pages   3.1 MB   268 MB",
    ]
    monkeypatch.setenv("COLUMNS", "50")
    narrow = command("cache")(job).said.splitlines()
    assert narrow[4] == "host names (DNS)       3   10,000    70.0 %"
    assert max(map(len, narrow)) <= 50
    [process] = command("cache")(job, "--json").told["processes"]
    assert process["held"]["dns"] == {"entries": 3, "max": 10_000, "hits": 7, "misses": 3}


def test_a_crawl_that_is_not_running_holds_nothing(
    stopped_crawl: DrivenSqlite, command: Callable[..., Command]
) -> None:
    assert "is not running" in refused(command("cache")(str(stopped_crawl.directory)), "cache")


# -- hosts ---------------------------------------------------------------------------------------------------


HEAD = "host state queued pages requests delay next request failures last error"


def test_hosts_are_sorted_searched_and_cut(
    runner: asyncio.Runner, tmp_path: Path, command: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    with local_crawl(runner, tmp_path) as crawl:
        for number in range(1, 31):
            crawl.commit(found(*pages(f"host{number:02}.test", number)))
        crawl.close()
        job = str(crawl.directory)
        give = command("hosts")
        lines = give(job, "--limit", "2").said.splitlines()
        assert lines[0] == f"the crawl in {job}: 30 hosts"
        assert " ".join(lines[2].split()) == HEAD
        assert [line.split()[:3] for line in lines[3:5]] == [
            ["host30.test", "ready", "30"],
            ["host29.test", "ready", "29"],
        ]
        assert lines[5] == "and 28 more: --limit N, --offset 2"
        told = give(job, "--search", "host1", "--sort", "host", "--ascending", "--offset", "9", "--json").told
        assert (told["total"], [row["key"] for row in told["rows"]]) == (10, ["host19.test"])
        assert give(job, "--state", "parked").said == f"the crawl in {job}: 0 hosts selected\n"
        monkeypatch.setenv("COLUMNS", "50")
        narrow = give(job).said.splitlines()[2:]
        assert max(map(len, narrow)) <= 50
        assert narrow[0].split() == ["host", "state", "queued", "next", "request"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sort", "queue"), "must not be 'queue'; did you mean queued?"),
        (("--state", "asleep"), "must not be 'asleep'"),
        (("--limit", "0"), "limit is 0; allowed are 1 to 500"),
        (("--offset", "-1"), "offset is -1; allowed are 0 to"),
    ],
)
def test_wrong_options_are_refused(
    words: tuple[str, ...], said: str, stopped_crawl: DrivenSqlite, command: Callable[..., Command]
) -> None:
    assert said in refused(command("hosts")(str(stopped_crawl.directory), *words), "hosts")


def test_the_columns_and_states_are_those_of_the_dashboard() -> None:
    assert (tuple(host_index.SORTS), host_index.STATES) == (hosts.SORTS, hosts.STATES)


# -- errors --------------------------------------------------------------------------------------------------


@pytest.fixture
def failed(stopped_crawl: DrivenSqlite) -> Path:
    lines = [f"2026-03-01T12:00:{second:02}+0000 timeout {URL}{second}" for second in range(30)]
    lines.append("2026-03-01T12:01:00+0000 dns https://b.test/ (no such name)")
    (stopped_crawl.directory / "errors.log").write_text("\n".join([*lines, ""]))
    (stopped_crawl.directory / "unanticipated.log").write_text(
        "Traceback (most recent call last):\nKeyError\n"
    )
    return stopped_crawl.directory


def test_errors_are_counted_by_kind_and_host_and_the_last_ones_shown(
    failed: Path, command: Callable[..., Command]
) -> None:
    lines = command("errors")(str(failed)).said.splitlines()
    assert lines[0] == f"{failed}: 31 errors since 2026-03-01 12:00:00 UTC"
    assert lines[1] == f"1 traceback of the spider or the crawler in {failed / 'unanticipated.log'}"
    assert lines[3:6] == ["errors", "         30  timeout", "          1  dns"]
    assert lines[7:10] == ["most errors", "         30  a.test", "          1  b.test"]
    assert lines[11:14] == [
        "last errors",
        "  2026-03-01 12:01:00 UTC  dns      https://b.test/",
        f"  2026-03-01 12:00:29 UTC  timeout  {URL}29",
    ]
    assert len(lines) == 12 + 20

    told = command("errors")(str(failed), "--json", "--kind", "dns", "--limit", "5").told
    assert (told["place"], told["total"], told["kinds"]) == (str(failed), 1, {"dns": 1})
    assert told["last"] == [
        {"at": 1772366460.0, "error": "dns", "url": "https://b.test/", "detail": "(no such name)"}
    ]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_line_is_longer_than_the_terminal(
    columns: int, failed: Path, command: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = command("errors")(str(failed)).said.splitlines()[3:]
    assert max(map(len, lines)) <= columns
    assert any("a.test" in line and ("..." in line or line.endswith("29")) for line in lines)


def test_errors_of_a_crawl_on_redis_are_counted_by_worker(
    sample: SampleCrawl, command: Callable[..., Command]
) -> None:
    sample.report("w1", sample.server_now() + 30)
    told = command("errors")(sample.driven.url, "--json").told
    assert "w1" in told["workers"]
    assert command("errors")(sample.driven.url).said.endswith("of each worker: scrapy errors JOBDIR\n")


def test_a_wrong_limit_is_refused(failed: Path, command: Callable[..., Command]) -> None:
    done = command("errors")(str(failed), "--limit", "-3")
    assert done.status == 2
    assert "must be a whole number from 0 to 10,000" in done.err
