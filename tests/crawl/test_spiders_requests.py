"""A spider's own Requests mean what they mean in Scrapy: each spider here also runs in a project without this
crawler, and gets the same."""

from __future__ import annotations

import json

import pytest

from tests.commands import own_process
from tests.crawl import expectation

SETTINGS, PLAIN = "tests.crawl.ordinary.settings", "tests.crawl.ordinary.plain"


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=2, pages=2)


@pytest.fixture(scope="module")
def run(crawl, folder):
    """(crawl, items) of a spider, on this crawler or in plain Scrapy."""

    def one(spider, module=SETTINGS, *, arguments, **more):
        number = len(list(folder.glob("items-*")))
        path = folder / f"items-{number}.jsonl"
        if module == PLAIN:
            more["JOBDIR"] = None
        crawled = crawl(
            spider=spider, module=module, arguments=arguments, options=["-o", f"{path}:jsonlines"], **more
        )
        assert crawled.status == 0, crawled.stderr[-4000:]
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return crawled, sorted((json.loads(line) for line in lines), key=str)

    return one


def test_bodies_of_all_types_are_read_as_in_scrapy(web, run):
    arguments = {"origin": web.web.origin(0)}
    _, plain = run("bodies", PLAIN, arguments=arguments)
    crawled, ours = run("bodies", arguments=arguments)

    crawled.assert_ended_well()
    assert len(plain) == 7
    assert ours == plain
    assert crawled.figures().rules == {}


def test_links_of_pages_are_still_judged_by_extension_and_type(web, crawl):
    origin = web.web.origin(0)
    goal = f"{origin}/x/mime/linked.zip?type=application/zip"
    read, moved = f"{origin}/x/mime?type=application/json", f"{origin}/x/redirect-chain?hops=1&goal={goal}"
    crawled = crawl([read, moved])

    assert crawled.line(read)["bytes"] == 0
    assert moved in expectation.asked(web)
    assert goal not in expectation.asked(web)
    assert "extension 1" in " ".join(crawled.stderr.split())


def test_single_pages_are_shown_with_what_a_crawl_would_do(web, folder):
    url = f"{web.web.origin(0)}/x/mime/report.png?type=image/png"
    shown = own_process(folder, "fetch", "--nolog", url)

    assert f"{url}: in scope as a Request; links to it are refused (extension)" in shown.err
    assert "not for a link: image/png is not in MIME_TYPES_WANTED" in shown.err
