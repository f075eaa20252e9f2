"""``--nolog``, as Scrapy documents it: nothing is written to the terminal."""

from __future__ import annotations


def test_a_crawl_without_a_log_says_nothing(serve, crawl):
    web = serve(hosts=1, pages=3)
    crawled = crawl(web.seeds, options=["--nolog"], JOBDIR=None).assert_ended_well()
    assert crawled.stderr == ""
    assert len(web.hits()) == 4
