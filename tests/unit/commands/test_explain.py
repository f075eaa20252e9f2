"""``scrapy explain``: what it says of a URL, of which crawl, and with which status it ends."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import DrivenSqlite, make
from tests.contract.sample_crawl import HELD, SHORT, SampleCrawl
from tests.contract.samples import entry, pages, robots, settled
from tests.unit.commands.conftest import local_crawl
from tests.unit.links.logged import kept, page
from webcrawl.control import inquiry
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.storage.contract import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.commands import Command, Done
    from tests.redis_server import RedisServer


HERE = {"FETCH_PRIVATE_ADDRESSES": 1, "CRAWLER_CONTACT": "https://crawler.test/"}


@pytest.fixture
def explain(command: Callable[..., Command]) -> Command:
    return command("explain", **HERE)


@pytest.fixture
def local(runner: asyncio.Runner, tmp_path: Path) -> Iterator[DrivenSqlite]:
    """A stopped crawl of one process: one URL is done, two are queued."""
    with local_crawl(runner, tmp_path) as crawl:
        urls = pages("a.test", 3)
        answer = robots("http://a.test", "User-agent: *\nDisallow: /2\n", 5e9)
        crawl.commit(
            Batch([*urls, entry("http://b.test/", via="http://a.test/0", depth=1)], [], [], [answer])
        )
        record = crawl.activate_keys(1)[0].record
        crawl.commit(settled(urls[0]))
        crawl.release_keys(record)
        crawl.close()
        yield crawl


def test_without_a_crawl_the_rules_alone_are_asked(explain: Command) -> None:
    done = explain("HTTP://A.test:80/x/../b.zip#f")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[:2] == [
        "http://a.test/b.zip",
        "  not known; refused when it is found: extension",
    ]
    answer = explain("a.org", "--json", "-a", "allow=zzz").told
    assert (answer["url"]["resolved"], answer["scope"]["decided_by"]) == ("http://a.org/", "allow")
    assert (answer["crawl"]["storage"], answer["frontier"], answer["log"]) == (None, None, None)
    assert answer["conclusion"]["fate"] == "would_be_refused"


def test_the_arguments_of_the_spider_are_rules(explain: Command, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.org/\nhttp://127.0.0.1:81/x\n")
    answer = explain("http://a.org/", "--json", "-a", "allow=zzz", "-a", "seeds=seeds.txt").told
    assert (answer["scope"]["stage"], answer["scope"]["allowed"]) == ("seed", True)
    words = ("--json", "-a", "domains=b.org,c.org")
    assert explain("http://a.org/", *words).told["scope"]["decided_by"] == "whitelist"
    assert explain("http://x.c.org/", *words).told["scope"]["allowed"]
    # The host of a seed may be a private one.
    for arguments, rule in ((("-a", "seeds=seeds.txt"), None), ((), "private-address")):
        answer = explain("http://127.0.0.1/y", "--json", *arguments, FETCH_PRIVATE_ADDRESSES=0).told
        assert answer["scope"]["decided_by"] == rule


def test_a_link_is_resolved_on_its_page_and_may_be_too_deep(explain: Command) -> None:
    answer = explain("../b?c", "--json", "--via", "http://a.test/x/y", "--depth", "3", DEPTH_LIMIT=2).told
    assert (answer["url"]["resolved"], answer["url"]["changes"]) == ("http://a.test/b?c", [])
    assert (answer["scope"]["decided_by"], answer["scope"]["depth"]) == ("depth", 3)


def test_a_crawl_in_memory_cannot_be_looked_at(explain: Command) -> None:
    done = explain("http://a.test/", FRONTIER_BACKEND="memory")
    assert done.status == 0
    assert "FRONTIER_BACKEND=memory cannot be inspected from outside" in done.out


def test_a_crawl_in_a_folder_tells_state_place_and_the_line_of_robots_txt(
    explain: Command, local: DrivenSqlite, tmp_path: Path
) -> None:
    before = sorted((path.name, path.stat().st_mtime_ns) for path in local.directory.iterdir())
    answer = {name: explain(name, "--json", JOBDIR=local.directory).told for name in urls_of_the_crawl()}
    fates = {
        name: (explanation["conclusion"]["fate"], explanation["conclusion"]["rule"])
        for name, explanation in answer.items()
    }
    assert fates == {
        "http://a.test/0": ("done", None),
        "http://a.test/1": ("waits", None),
        "http://a.test/2": ("will_be_refused", "robots"),
        "http://a.test/3": ("would_be_queued", None),
        "http://b.test/": ("waits", None),
    }
    assert answer["http://a.test/2"]["frontier"]["queued"]["before"] == 1
    assert answer["http://a.test/2"]["robots"]["rule"] == {"number": 2, "text": "Disallow: /2"}
    assert answer["http://b.test/"]["frontier"]["queued"]["via"] == "http://a.test/0"
    assert answer["http://b.test/"]["clocks"]["binding"] == "robots"
    assert answer["http://b.test/"]["crawl"]["running_workers"] == []
    left = [item for item in before if not item[0].endswith(("-wal", "-shm"))]
    after = [(path.name, path.stat().st_mtime_ns) for path in local.directory.iterdir()]
    assert set(left) <= set(after)


def urls_of_the_crawl() -> list[str]:
    return [*(f"http://a.test/{number}" for number in range(4)), "http://b.test/"]


def test_a_crawl_that_runs_is_named_and_keeps_its_lock(explain: Command, local: DrivenSqlite) -> None:
    jobdir = Jobdir(local.directory)
    jobdir.hold()
    try:
        answer = explain("http://a.test/1", "--json", JOBDIR=local.directory).told
        assert answer["crawl"]["running_workers"] == [f"process {os.getpid()}"]
        assert jobdir.holder() == f"process {os.getpid()}"
    finally:
        jobdir.leave()


def test_the_politeness_key_is_that_of_the_crawl(explain: Command, local: DrivenSqlite) -> None:
    answer = explain("http://www.a.test/", "--json", JOBDIR=local.directory, POLITENESS_KEY="domain").told
    assert answer["url"]["key"] == "www.a.test"


def test_the_logs_of_several_workers_are_read(explain: Command, tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"w{number}").mkdir()
        line = {
            "url": "http://a.test/%61",
            "end": 9.0 - number,
            "status": 200,
            "worker": f"w{number}",
            "depth": 2,
        }
        (tmp_path / f"w{number}" / "fetch.jsonl").write_text(json.dumps(line, separators=(",", ":")) + "\n")
    answer = explain("http://a.test/a", "--json", "--log", "w0", "--log", "w1").told
    assert [line["worker"] for line in answer["log"]["last"]] == ["w1", "w0"]
    assert answer["scope"]["depth"] == 2


def fetched(folder: Path, *lines: dict[str, object]) -> None:
    folder.mkdir(exist_ok=True)
    text = "".join(json.dumps({"kind": "page", **line}, separators=(",", ":")) + "\n" for line in lines)
    (folder / "fetch.jsonl").write_text(text)


def test_how_a_fetched_url_was_found_is_told_over_the_logs_of_all_workers(explain: Command) -> None:
    there, moved = "http://a.test/there", "http://b.test/moved"
    fetched(Path("w0"), {"url": moved, "status": 301, "end": 1.0, "via": "http://b.test/", "location": there})
    fetched(Path("w1"), {"url": there, "status": 200, "end": 2.0, "via": moved, "depth": 1})
    logs = ("--log", "w0", "--log", "w1")
    discovery = explain(there, "--json", *logs).told["found"]
    assert discovery["way"] == {
        "by": "redirect", "via": moved, "depth": 1, "through": [moved], "page": "http://b.test/"
    }  # fmt: skip
    assert (discovery["links"], discovery["cut"]) == (None, None)
    rows = [line.split(maxsplit=1) for line in explain(there, *logs).out.splitlines()]
    assert ["via", f"a redirect of {moved}"] in rows
    assert ["before", "http://b.test/"] in rows
    assert explain("http://b.test/other", "--json").told["found"] is None


def test_a_url_that_is_not_known_is_looked_for_among_the_links_of_the_crawl(
    explain: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_rel, by_page, by_none = (f"http://a.test/{name}" for name in ("rel", "page", "none"))
    kept(
        Path("w0"),
        [
            page("http://a.test/1", [(by_rel, "a", "more", "ugc"), "http://a.test/2"]),
            page("http://a.test/2", [by_page, (by_rel, "a", "", "nofollow")], extra={"nofollow": True}),
            page("http://a.test/3", [(by_page, "redirect", "", "")], status=301),
        ],
    )
    cut = [{"url": f"http://{host}.test/cut", "status": 200, "end": 1.0, "cut": 5} for host in "bab"]
    fetched(Path("w0"), *cut)
    answer = {url: explain(url, "--json", "--log", "w0").told for url in (by_rel, by_page, by_none)}
    links = {url: explanation["found"]["links"] for url, explanation in answer.items()}
    assert [(links[url]["number"], links[url]["withheld"]) for url in links] == [(2, 2), (2, 1), (0, 0)]
    assert [link["withheld"] for link in links[by_rel]["some"]] == ["rel", "page"]
    assert [link["withheld"] for link in links[by_page]["some"]] == [None, "page"]
    assert answer[by_none]["found"]["cut"] == {
        "number": 3, "some": ["http://a.test/cut", "http://b.test/cut"]
    }  # fmt: skip
    assert all(explanation["found"]["way"] is None for explanation in answer.values())
    assert explain(by_rel, "--log", "w0").out.splitlines()[1] == (
        "  not known; queued when it is found; the links to it are not followed, see below"
    )
    obeyed_less = explain(by_rel, "--json", "--log", "w0", NOFOLLOW_RELS="nofollow").told["found"]["links"]
    assert obeyed_less["withheld"] == 1
    monkeypatch.setattr(inquiry, "LINKS_SECONDS", 0)
    links = explain(by_rel, "--json", "--log", "w0").told["found"]["links"]
    assert (links["number"], links["whole"]) == (0, False)
    assert "as far as it was looked through" in explain(by_rel, "--log", "w0").out


EVERY_SWITCH = "escapes,empty_query,collapse_slashes,drop_index,lower_case_path,drop_host_dot,brackets"


@pytest.mark.parametrize(
    ("written", "name", "before", "after"),
    [
        ("HTTP://h.test/", "scheme", "HTTP", "http"),
        ("http://H.Test/", "host", "H.Test", "h.test"),
        ("http://h.test:80/", "port", "80", None),
        ("http://h.test/a/./b/../c", "path", "/a/./b/../c", "/a/c"),
        ("http://h.test/é", "path", "/é", "/%C3%A9"),
        ("http://h.test/%7ex%c3%a9", "escapes", "http://h.test/%7ex%c3%a9", "http://h.test/~x%C3%A9"),
        ("http://h.test/?", "empty_query", "http://h.test/?", "http://h.test/"),
        ("http://h.test/a//b", "collapse_slashes", "http://h.test/a//b", "http://h.test/a/b"),
        ("http://h.test/a/index.php", "drop_index", "http://h.test/a/index.php", "http://h.test/a/"),
        ("http://h.test/default.htm", "drop_index", "http://h.test/default.htm", "http://h.test/"),
        ("http://h.test/A", "lower_case_path", "http://h.test/A", "http://h.test/a"),
        ("http://h.test./", "drop_host_dot", "http://h.test./", "http://h.test/"),
        ("http://h.test/?a[b]", "brackets", "http://h.test/?a[b]", "http://h.test/?a%5Bb%5D"),
    ],
)
def test_each_step_of_a_url_is_told_by_its_name(
    explain: Command, written: str, name: str, before: str, after: str | None
) -> None:
    answer = explain(written, "--json", CANONICAL_RULES=EVERY_SWITCH).told["url"]
    steps = [(step["switch"], step["before"], step["after"]) for step in answer["steps"]]
    changes = [(change["part"], change["before"], change["after"]) for change in answer["changes"]]
    assert [explanation for explanation in (*changes, *steps) if explanation[1] != explanation[2]] == [
        (name, before, after)
    ]
    assert [step[0] for step in steps] == EVERY_SWITCH.split(",")
    if (name, before, after) in steps:
        shown = f"-> {after}"
    else:
        shown = f"{before!r} -> {'none' if after is None else repr(after)}"
    lines = [
        line.split(maxsplit=1) for line in explain(written, CANONICAL_RULES=EVERY_SWITCH).out.splitlines()
    ]
    assert [name, shown] in lines


def test_host_rules_are_applied_and_told_in_the_order_of_their_kinds(
    explain: Command, tmp_path: Path
) -> None:
    rules = "synonym h.example.org other.example.org\nendsWith .example.net .example.org\nstartsWith www.\n"
    (tmp_path / "hosts.txt").write_text(rules)
    answer = explain("http://www.h.example.net/", "--json", HOST_RULES_FILE="hosts.txt").told["url"]
    assert [(rule["kind"], rule["after"]) for rule in answer["host_rules"]] == [
        ("startsWith", "h.example.net"),
        ("endsWith", "h.example.org"),
        ("synonym", "other.example.org"),
    ]
    assert (answer["resolved"], answer["canonical"]) == (
        "http://www.h.example.net/",
        "http://other.example.org/",
    )


def test_host_rules_are_told_and_lines_of_the_other_names_found(explain: Command, tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("startsWith www.\nsynonym old.test new.test\n")
    (tmp_path / "log").mkdir()
    line = {"url": "http://new.test/", "end": 9.0, "status": 200}
    (tmp_path / "log" / "fetch.jsonl").write_text(json.dumps(line, separators=(",", ":")) + "\n")
    options: dict[str, object] = {"HOST_RULES_FILE": "hosts.txt"}
    answer = explain("http://www.old.test/", "--json", "--log", "log", **options).told
    assert (answer["url"]["canonical"], answer["url"]["key"]) == ("http://new.test/", "new.test")
    assert [(rule["kind"], rule["after"]) for rule in answer["url"]["host_rules"]] == [
        ("startsWith", "old.test"),
        ("synonym", "new.test"),
    ]
    assert answer["log"]["count"] == 1
    assert "old.test new.test: known as new.test" in explain("http://old.test/", **options).out


def test_by_other_rules_nothing_would_be_found_and_that_is_said(explain: Command, tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        crawl = make("sqlite", runner, tmp_path / "other")
        assert isinstance(crawl, DrivenSqlite)
        crawl.open()
        crawl.close()
        with closing(sqlite3.connect(crawl.path)) as connection, connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('CANONICAL_RULES', 'escapes')")
        done = explain("http://a.test/", JOBDIR=crawl.directory)
        assert_refused(
            done, "compares URLs by other rules than were given here; give CANONICAL_RULES=escapes"
        )
        answer = explain("http://a.test/?", "--json", JOBDIR=crawl.directory, CANONICAL_RULES="escapes").told
        assert answer["url"]["canonical"] == "http://a.test/?"
        crawl.dispose()


def test_what_a_seed_allows_is_said_by_explain(explain: Command) -> None:
    for host, rule in (
        ("h.localhost", None),
        ("www.h.localhost", None),
        ("other.localhost", "private-address"),
        ("h.test:22", None),
        ("www.h.test:22", "bad-port"),
    ):
        seeds = "seeds=http://h.localhost/,http://h.test:22/"
        answer = explain(f"http://{host}/", "-a", seeds, "--json", FETCH_PRIVATE_ADDRESSES=0).told
        assert answer["scope"]["decided_by"] == rule


@pytest.mark.parametrize(
    ("url", "via", "rule"),
    [
        ("http://www.a.org/x", "http://a.org/", None),
        ("http://b.org/x", "http://a.org/", "stay"),
        ("http://b.org/x", None, None),
    ],
)
def test_the_page_that_a_link_is_on_decides_whether_it_stays(
    explain: Command, url: str, via: str | None, rule: str | None
) -> None:
    on_page = [] if via is None else ["--via", via]
    answer = explain(url, *on_page, "-a", "stay=domain", "--json", CRAWLER_CONTACT="a@example.org").told
    assert answer["scope"]["decided_by"] == rule
    assert_refused(explain(url, "-a", "stay=site"), "-a stay must be domain or host, not 'site'")


def test_a_crawl_of_one_process_knows_the_hosts_of_its_seeds_that_it_has_contacted(
    explain: Command, local: DrivenSqlite
) -> None:
    (local.directory / "seed_addresses.jsonl").write_text('["h.localhost", ["127.0.0.1"]]\n')
    options: dict[str, object] = {"JOBDIR": local.directory, "FETCH_PRIVATE_ADDRESSES": 0}
    for host, rule in (("www.h.localhost", None), ("other.localhost", "private-address")):
        assert explain(f"http://{host}/", "--json", **options).told["scope"]["decided_by"] == rule


def test_a_crawl_on_redis_tells_the_same(
    explain: Command, runner: asyncio.Runner, redis_server: RedisServer
) -> None:
    sample = SampleCrawl(runner, redis_server.url)
    options: dict[str, object] = {"REDIS_URL": redis_server.url}
    try:
        changes = sample.client.info("persistence")["rdb_changes_since_last_save"]
        states = [
            explain(explanation.url, "--json", **options).told["frontier"]["state"]
            for explanation in sample.settled
        ]
        assert states == ["done", "done", "failed", "refused"]
        answer = explain(f"http://{SHORT}/1", "--json", **options).told
        assert (answer["frontier"]["state"], answer["frontier"]["queued"]["before"]) == ("queued", 1)
        held = explain(f"http://{HELD}/5", "--json", **options).told
        # Its holder's lease has ended since.
        assert (held["key"]["activity"], held["conclusion"]["leased"]) == ("active", False)
        assert held["key"]["held_until"] < held["now"]
        assert (
            explain(f"http://{HELD}/5", **options)
            .out.splitlines()[1]
            .startswith("  queued; no worker is running")
        )
        assert sample.client.info("persistence")["rdb_changes_since_last_save"] == changes
        sample.client.zadd("broad:seeded", {"h.localhost": 1, "h.test:22": 2})
        for host, rule in (
            ("www.h.localhost", None),
            ("other.localhost", "private-address"),
            ("h.test:22", None),
            ("other.test:22", "bad-port"),
        ):
            answer = explain(f"http://{host}/", "--json", **options, FETCH_PRIVATE_ADDRESSES=0).told
            assert answer["scope"]["decided_by"] == rule
        refused = explain(f"http://{SHORT}/1", "--spider", "other", **options)
        assert_refused(refused, "there is no crawl 'other' on Redis at")
    finally:
        sample.driven.dispose()


def assert_refused(done: Done, words: str) -> None:
    assert (done.status, done.out) == (2, ""), done
    [line] = done.err.splitlines()
    assert line.startswith("scrapy explain: ")
    assert words in line


@pytest.mark.parametrize(
    ("words", "settings", "said"),
    [
        (["nonsense"], {}, "'nonsense' is no URL: does not begin with http:// or https://"),
        (["http://a b/"], {}, "is no URL"),
        (["mailto:a@b.test"], {}, "is no URL"),
        (["a\x1b[1m", "--via", "http://a.test:99999/"], {}, "is no URL"),
        (["http://a.test/", "b"], {}, "b: is one argument too many"),
        (["http://a.test/", "-a", "allow=("], {}, "is no regular expression"),
        (["http://a.test/", "-a", "domain=b.org"], {}, "did you mean domains?"),
        (["http://a.test/", "-a", "domains=/none"], {}, "is neither a file nor a name"),
        (["http://a.test/", "-a", "seeds=/none"], {}, "cannot read the seeds"),
        (["http://a.test/", "-a", "seeds"], {}, "-a: must be NAME=VALUE"),
        (["http://a.test/", "--log", "none"], {}, "there is no folder none"),
        (["http://a.test/"], {"JOBDIR": "none"}, "JOBDIR none is no folder"),
        (["http://a.test/"], {"JOBDIR": "."}, "is no crawl with a frontier on disk"),
        (["http://a.test/"], {"REDIS_URL": "redis://127.0.0.1:1/"}, "cannot be reached"),
        (["http://a.test/"], {"EXCLUSION_FILE": "none"}, "EXCLUSION_FILE"),
        (["http://a.test/"], {"POLITENESS_KEY": "x"}, "POLITENESS_KEY"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    explain: Command, words: list[str], settings: dict[str, object], said: str
) -> None:
    assert_refused(explain(*words, **settings), said)


def test_each_wrong_line_of_a_file_has_its_own(explain: Command, tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("startsWith\nsynonym a b\nbegins x\n")
    done = explain("http://a.test/", HOST_RULES_FILE="hosts.txt")
    assert (done.status, done.out) == (2, "")
    numbers = [
        line.removeprefix("scrapy explain: hosts.txt: ").partition(":")[0] for line in done.err.splitlines()
    ]
    assert numbers == ["line 1", "line 3"]
