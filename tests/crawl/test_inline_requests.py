"""Files, images and inline requests of ordinary spiders: polite like pages, and nothing waits for ever."""

from __future__ import annotations

import json
import signal
from collections import Counter

import pytest

from tests.commands import in_process, own_process
from tests.crawl.test_ordinary_spiders import SETTINGS, items_of
from tests.fakeweb import Placement, witness

DELAY = 0.05
MEASURING_ERROR = 0.005
PAGES, FILES = 4, 2


def gather(run, folder, name, origins, pages=PAGES, files=FILES, **more):
    """A crawl of the spider ``files``, and the file of its items."""
    path = folder / f"{name}.jsonl"
    arguments = {"origins": ",".join(origins), "pages": str(pages), "files": str(files)}
    arguments |= more.pop("arguments", {})
    crawl = run(
        spider="files",
        module=SETTINGS,
        arguments=arguments,
        options=["-o", f"{path}:jsonlines"],
        FILES_STORE=folder / name,
        **{"CONCURRENT_REQUESTS": 2, "POLITENESS_MIN_DELAY": DELAY, **more},
    )
    return crawl, path


def assert_polite(web, delay=DELAY):
    hits = web.hits()
    assert witness.violations(hits, lambda hit: delay, tolerance=MEASURING_ERROR) == []
    assert witness.most_open(hits) == 1


@pytest.fixture(scope="module")
def files(serve, crawl, folder):
    """The web, the crawl and the items of pages whose files are on all hosts, with two requests at a time."""
    web = serve(hosts=2, pages=2)
    crawled, path = gather(crawl, folder, "files", [web.web.origin(number) for number in range(2)])
    return web, crawled.assert_ended_well(), items_of(path)


def test_every_item_has_all_of_its_files(files, folder):
    _, crawled, items = files
    assert len(items) == 2 * PAGES
    for item in items:
        assert [file["url"] for file in item["files"]] == item["file_urls"]
        assert {file["status"] for file in item["files"]} == {"downloaded"}
        assert all((folder / "files" / file["path"]).read_bytes()[1:4] == b"PNG" for file in item["files"])
    assert crawled.assert_sound().queued == 0
    assert "inline requests" in crawled.stderr


def test_pages_and_files_of_a_host_keep_its_clock(files):
    assert_polite(files[0])


def test_each_file_is_requested_once_and_robots_txt_once_a_host(files):
    paths = Counter((hit.host, hit.path) for hit in files[0].hits())
    assert set(paths.values()) == {1}
    assert sum(path == "/robots.txt" for _, path in paths) == 2


def test_files_are_in_log_and_archive_and_in_no_table(files):
    _, crawled, items = files
    urls = {url for item in items for url in item["file_urls"]}
    lines = crawled.lines("inline")
    assert Counter(line["url"] for line in lines) == Counter(urls)
    assert {line["via"] for line in lines} == {item["url"] for item in items}
    stored = {record.url for record in crawled.records() if record.type in ("response", "revisit")}
    assert urls <= stored
    assert crawled.figures().known == len(items)


def test_the_audit_finds_nothing(files, capsys):
    done = in_process("audit", capsys, JOBDIR=files[1].path)()
    assert done.status == 0, done.out


def test_a_host_whose_pages_all_wait_for_files_of_it_does_not_stand_still(serve, crawl, folder):
    web = serve(hosts=1, pages=1)
    crawled, path = gather(
        crawl, folder, "one", [web.web.origin(0)], pages=12, files=2, CONCURRENT_REQUESTS=64
    )
    crawled.assert_ended_well()
    assert [len(item["files"]) for item in items_of(path)] == [2] * 12
    assert_polite(web)


def test_bodies_that_use_up_the_memory_do_not_stand_still(serve, crawl, folder):
    """Pages that hold all of the pool wait for files that need some of it."""
    web = serve(hosts=2, pages=2)
    origins = [web.web.origin(number) for number in range(2)]
    long = "/x/huge-chunked?bytes=400000&n="
    crawled, path = gather(
        crawl,
        folder,
        "memory",
        origins,
        arguments={"page": long, "file": long},
        BODY_MEMORY_BYTES=1_000_000,
        DOWNLOAD_MAXSIZE=500_000,
    )
    crawled.assert_ended_well()
    assert [len(item["files"]) for item in items_of(path)] == [2 * FILES] * 2 * PAGES


def test_a_stop_ends_what_waits_and_the_resumed_crawl_gives_all(serve, start, folder):
    web = serve(hosts=1, pages=1)
    origins = [web.web.origin(0)]
    first, path = gather(
        start, folder, "stopped", origins, pages=2, POLITENESS_MIN_DELAY=2, arguments={"stop": "0.1"}
    )
    first.until(lambda: any("/x/ok" in hit.path for hit in web.hits()))
    first.signal(signal.SIGINT)
    first.wait()
    assert first.status == 0, first.stderr
    again, _ = gather(start, folder, "stopped", origins, pages=2, of=first)
    again.wait().assert_ended_well()
    complete = {item["url"] for item in items_of(path) if len(item["files"]) == FILES}
    assert complete == {f"{origins[0]}/x/ok?page{number}" for number in range(2)}


def test_a_kill_among_files_costs_none_of_them(serve, start, folder):
    web = serve(hosts=2, pages=2)
    origins = [web.web.origin(number) for number in range(2)]
    first, path = gather(start, folder, "killed", origins, pages=3, files=3)
    first.until(lambda: sum("image" in hit.path for hit in web.hits()) > 4)
    first.kill()
    again, _ = gather(start, folder, "killed", origins, pages=3, files=3, of=first)
    again.wait().assert_ended_well()
    complete = {item["url"] for item in items_of(path) if len(item["files"]) == 2 * 3}
    expected = {f"{origin}/x/ok?page{number}" for origin in origins for number in range(3)}
    # A feed may not have got the items of pages that were done when the process was killed.
    done = {line["url"] for line in first.lines()}
    assert complete | done == expected
    assert_polite(web)
    assert again.assert_sound().queued == 0


# -- inline requests -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def inline(serve, crawl, folder):
    """The web, the crawl and the items of the spider that asks within its callbacks."""
    web = serve(hosts=3, pages=3, placements=(Placement("robots-private", hosts=("h0001.localhost",)),))
    path = folder / "inline.jsonl"
    crawled = crawl(
        spider="inline",
        module=SETTINGS,
        arguments={"origin": web.web.origin(0), "other": web.web.origin(1)},
        options=["-O", f"{path}:jsonlines"],
        FILES_STORE=folder / "named",
        IMAGES_STORE=folder / "images",
        CONCURRENT_REQUESTS=2,
        POLITENESS_MIN_DELAY=DELAY,
        DOWNLOAD_MAXSIZE=100_000,
    )
    assert crawled.status == 0, crawled.stderr
    return web, crawled, items_of(path)


def of(inline, case):
    return [item for item in inline[2] if item["case"] == case]


def test_a_callback_gets_responses_of_its_own_host_and_of_others(inline):
    same, other = of(inline, "same")
    assert (same["status"], same["mine"]) == (200, True)
    assert (other["status"], other["bytes"]) == (200, 69)


def test_redirects_and_retries_are_followed_for_the_caller(inline):
    [moved], [flaky] = of(inline, "moved"), of(inline, "flaky")
    assert (moved["status"], moved["url"]) == (200, f"{inline[0].web.origin(0)}/")
    assert flaky["status"] == 200
    assert [line["status"] for line in inline[1].lines("inline") if "flaky" in line["url"]] == [500, 200]


def test_statuses_are_responses_and_failures_are_exceptions(inline):
    assert [item["status"] for item in of(inline, "status")] == [404]
    assert [item["error"] for item in of(inline, "reset")] == ["DownloadFailedError"]
    assert [item["error"] for item in of(inline, "dead")] == ["DownloadFailedError"]
    assert "robots.txt" in of(inline, "dead")[0]["why"]


def test_a_body_that_is_too_long_is_an_exception(inline):
    assert [item["error"] for item in of(inline, "huge")] == ["DownloadCancelledError"] * 2


def test_robots_txt_scope_and_ports_refuse(inline):
    web, crawled, _ = inline
    [forbidden] = of(inline, "forbidden")
    assert forbidden["error"] == "Refused"
    assert forbidden["why"].startswith("robots: ")
    assert [item["why"].partition(":")[0] for item in of(inline, "refused")] == ["offsite", "bad-port"]
    assert not any(hit.path.startswith("/private") or hit.host == "h0002.localhost" for hit in web.hits())
    for rule in ("robots", "offsite", "bad-port"):
        assert rule in crawled.stderr


def test_methods_bodies_and_headers_are_sent(inline):
    [post] = of(inline, "post")
    assert post["text"].startswith("POST /x/echo?post ")
    assert "X-Own: 1" in post["text"]


def test_the_same_request_is_sent_as_often_as_it_is_asked_for(inline):
    assert len(of(inline, "twice")) == 2
    assert sum(hit.path == "/x/echo?twice" for hit in inline[0].hits()) == 2


def test_a_middleware_may_ask_other_hosts_before_and_its_own_after(inline):
    own, other = of(inline, "before")
    assert own["why"].startswith("own-key: ")
    assert other["status"] == 200
    assert [item["status"] for item in of(inline, "after")] == [200]


def test_a_middleware_of_a_project_gets_no_robots_txt_to_ask_for_anything_before(inline):
    assert of(inline, "robots") == []


def test_a_spider_may_log_in_when_it_starts_and_a_middleware_may_refresh_its_token(inline):
    assert [item["status"] for item in of(inline, "start")] == [200]
    assert ["X-Token: 200" in item["text"] for item in of(inline, "refreshed")] == [True]
    own = [hit for hit in inline[0].hits() if hit.host == "h0000.localhost"]
    assert [hit.path for hit in own[:2]] == ["/robots.txt", "/x/ok?login"]
    assert witness.violations(inline[0].hits(), lambda hit: DELAY, tolerance=MEASURING_ERROR) == []


def test_subclasses_of_the_pipelines_and_images_work(inline, folder):
    [item] = of(inline, "documents")
    assert len(set(item["stored"])) == 1
    assert len(item["failed"]) == 1
    assert (folder / "named" / item["stored"][0]).stat().st_size > 0
    assert [image["url"] for image in item["images"]] == item["image_urls"]
    assert (folder / "images" / item["images"][0]["path"]).read_bytes()[:2] == b"\xff\xd8"


# -- two workers -----------------------------------------------------------------------------------------------


@pytest.mark.soak
def test_two_workers_share_the_clocks_of_files(serve, start, serve_redis, folder):
    """Pages of each host have files on all hosts: both workers need every key again and again."""
    web = serve(hosts=3, pages=3)
    origins = [web.web.origin(number) for number in range(3)]
    redis = serve_redis()
    crawls = [
        gather(
            start,
            folder,
            f"shared-{name}",
            origins,
            pages=6,
            POLITENESS_KEY="host",
            POLITENESS_MIN_DELAY=DELAY,
            REDIS_URL=redis.url,
            WORKER_NAME=name,
        )
        for name in ("a", "b")
    ]
    items = []
    for crawled, path in crawls:
        crawled.wait(120).assert_ended_well()
        items += items_of(path)
    complete = {item["url"] for item in items if len(item["files"]) == 3 * FILES}
    assert complete == {f"{origin}/x/ok?page{number}" for origin in origins for number in range(6)}
    assert_polite(web)
    checked = own_process(redis.folder, "frontier", "check", "--spider", "files", REDIS_URL=redis.url)
    assert checked.status == 0, checked


def pages_that_wait(crawled):
    """The pages of a worker that runs which have some of their files. Its last line may be half written."""
    log = crawled.path / "fetch.jsonl"
    whole = log.read_bytes().rpartition(b"\n")[0].splitlines() if log.exists() else []
    lines = [json.loads(line) for line in whole]
    return {line["via"] for line in lines if line["kind"] == "inline"} - {line["url"] for line in lines}


@pytest.mark.soak
def test_a_worker_that_is_killed_among_images_costs_none_of_them(serve, start, serve_redis, folder):
    """Three workers on one Redis; one is killed while its pages wait for images, and the others get these pages."""
    web = serve(hosts=3, pages=3)
    origins = [web.web.origin(number) for number in range(3)]
    redis, images, delay = serve_redis(), folder / "shared-images", 0.2
    crawls = {
        name: gather(
            start,
            folder,
            f"images-{name}",
            origins,
            pages=6,
            arguments={"field": "image_urls"},
            ITEM_PIPELINES='{"scrapy.pipelines.images.ImagesPipeline": 1}',
            IMAGES_STORE=images,
            POLITENESS_KEY="host",
            POLITENESS_MIN_DELAY=delay,
            LEASE_SECONDS=3,
            REDIS_URL=redis.url,
            WORKER_NAME=name,
        )
        for name in "abc"
    }
    pages = {f"{origin}/x/ok?page{number}" for origin in origins for number in range(6)}
    waiting = []

    def is_waiting():
        waiting.extend(name for name, (crawled, _) in crawls.items() if pages_that_wait(crawled))
        return waiting

    crawls["a"][0].until(is_waiting)
    killed, _ = crawls.pop(waiting[0])
    killed.kill()
    left = pages - {line["url"] for line in killed.lines()}
    items = []
    for crawled, path in crawls.values():
        crawled.wait(120).assert_ended_well()
        items += items_of(path)
    complete = {item["url"] for item in items if len(item["images"]) == 3 * FILES}
    assert left
    assert left <= complete
    for item in items:
        assert all((images / image["path"]).read_bytes()[:2] == b"\xff\xd8" for image in item["images"])
    assert_polite(web, delay)
    assert witness.pages_before_robots(web.hits()) == []
    checked = own_process(redis.folder, "frontier", "check", "--spider", "files", REDIS_URL=redis.url)
    assert checked.status == 0, checked
