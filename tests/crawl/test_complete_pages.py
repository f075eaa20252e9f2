"""A crawl of complete pages: what pages in scope embed is fetched wherever it is, and nothing else of other sites."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from tests.commands import in_process


@pytest.fixture(scope="module")
def web(serve):
    return serve(kind="gallery")


@pytest.fixture(scope="module")
def crawled(web, crawl):
    done = crawl(
        web.seeds,
        arguments={"domains": web.site.origin("pages")},
        options=("-o", "pages.jsonl"),
        ARCHIVE_COMPLETE_PAGES=True,
        RETRY_TIMES=0,
    )
    return done.assert_ended_well()


def test_all_that_the_pages_embed_is_fetched_and_nothing_else(web, crawled):
    found = {line["url"]: line for line in crawled.lines()}
    assert {url: found[url]["embed"] for url in web.site.embeds()} == web.site.embeds()
    assert found.keys() == web.site.embeds().keys() | set(web.site.pages)
    assert not any("embed" in found[url] for url in web.site.pages)
    asked = {hit.path for hit in web.hits()}
    assert not [path for path in asked if "no-" in path]


def test_the_archive_has_the_bytes_of_all(web, crawled, capsys):
    archived = {
        record.url: record.content for record in crawled.records() if record.type in ("response", "revisit")
    }
    for url in (*web.site.pages, *web.site.embeds()):
        if urlsplit(url).path != "/moved.svg":
            assert archived[url].endswith(web.site.body(url)), url
    done = in_process("archive", capsys)("check", str(crawled.path))
    assert done.said.splitlines()[-1] == "Nothing is wrong."


def test_items_are_the_pages_in_scope_alone(web, crawled):
    lines = (crawled.path.parent / "pages.jsonl").read_text().splitlines()
    assert sorted(line.split('"url": "', 1)[1].split('"', 1)[0] for line in lines) == sorted(web.site.pages)


def test_explain_names_the_rule_that_admitted_an_embed(web, crawled, capsys):
    rules = {"ARCHIVE_COMPLETE_PAGES": True, "FETCH_PRIVATE_ADDRESSES": True}
    explain = in_process("explain", capsys, JOBDIR=crawled.path, **rules)
    domains = f"domains={web.site.origin('pages')}"
    said = explain(f"{web.site.origin('cdn')}/font.woff2", "-a", domains).said
    assert "in scope, by EMBED_HOPS_MAX: an embed, 3 hops from a page" in said
    assert "does not apply to an embed (otherwise: not one of the domains)" in said
    assert f"embedded by {web.site.origin('cdn')}/more.css" in said
    told = explain(f"{web.site.origin('cdn')}/no-link.html", "-a", domains, "--json").told
    assert told["conclusion"]["rule"] == "whitelist"
    told = explain(f"{web.site.origin('cdn')}/no-robots/x.svg", "-a", domains, "--json").told
    assert (told["conclusion"]["fate"], told["conclusion"]["rule"]) == ("refused", "robots")


def test_cat_shows_what_is_stored_and_says_why_not(web, crawled, capsys):
    cat = in_process("cat", capsys, JOBDIR=crawled.path)
    url = f"{web.site.origin('cdn')}/style.css"
    assert cat(url, "--body").said.encode() == web.site.body(url)
    assert (
        cat(f"{web.site.origin('cdn')}/moved.svg", "--headers")
        .said.splitlines()[2]
        .startswith("HTTP/1.1 302")
    )
    done = cat(f"{web.site.origin('cdn')}/no-robots/x.svg")
    assert (done.status, "refused: robots" in done.err) == (1, True)


def test_without_the_setting_embeds_are_links_like_others(web, crawl):
    done = crawl(web.seeds, arguments={"domains": web.site.origin("pages")}).assert_ended_well()
    assert done.statuses().keys() == set(web.site.pages)


def test_the_users_own_settings_come_before_the_preset(web, crawl):
    done = crawl(
        web.seeds,
        arguments={"domains": web.site.origin("pages")},
        ARCHIVE_COMPLETE_PAGES=True,
        EMBED_HOPS_MAX=1,
    ).assert_ended_well()
    found = {line["url"] for line in done.lines()}
    assert found == {url for url, hops in web.site.embeds().items() if hops == 1} | set(web.site.pages)
