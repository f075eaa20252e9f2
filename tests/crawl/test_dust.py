"""Sites that have their pages under several URLs: what DUST rules save and lose, by the server's log."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.commands import own_process
from tests.crawl import expectation

HONEST = ("shop", "forum", "wiki", "mail")
PLAIN = {"CONCURRENT_REQUESTS": 16, "COMMIT_INTERVAL_SECONDS": 0, "TRAPS_QUARANTINE": 0}
"""Without the other feature that withholds URLs."""
SETTINGS = {**PLAIN, "DUST_LEARN": 1, "POLITENESS_MIN_DELAY": 0.03}
"""With a delay in which a page is processed before the next request to its site begins."""
SIZE = 100


@pytest.fixture(scope="module")
def web(serve):
    return serve(kind="copies", pages=SIZE)


def shown(web):
    """The texts of the pages of each site, in the order in which they were fetched."""
    texts = [web.site.text(url) for url in expectation.asked(web)]
    return [text for text in texts if text is not None]


def copies(texts, name):
    mine = [text for text in texts if text.startswith(f"{name}: ")]
    return len(mine) - len(set(mine))


@pytest.fixture(scope="module")
def plain(serve, crawl):
    """What a crawl without rules fetches."""
    web = serve(kind="copies", pages=SIZE)
    crawl(web.seeds, **PLAIN).assert_ended_well()
    return shown(web)


@pytest.fixture(scope="module")
def ended(web, crawl):
    return crawl(web.seeds, **SETTINGS).assert_ended_well()


def test_no_page_of_honest_sites_is_lost_and_copies_are_withheld(serve, crawl):
    """How many depends on how fast pages are processed: ``make soak`` has the shares, on sites that are larger."""
    web = serve(kind="copies", pages=24, sections=HONEST)
    ended = crawl(web.seeds, **SETTINGS).assert_ended_well()
    ended.assert_sound()
    texts = set(shown(web))
    for name in HONEST:
        assert web.site.truth(name) - texts == set()
    assert ended.figures().rules["dust"] > 0


@pytest.mark.soak
def test_no_page_is_lost_of_honest_and_of_hostile_sites(web, ended, plain):
    ended.assert_sound()
    texts = set(shown(web))
    for name in web.site.sites:
        assert web.site.truth(name) <= set(plain)
    assert set(plain) - texts == set()


@pytest.mark.soak
def test_most_copies_are_not_fetched(web, ended, plain):
    texts = shown(web)
    counts = {name: (copies(plain, name), copies(texts, name)) for name in web.site.sites}
    print(counts, ended.figures().rules)
    for name in HONEST:
        before, after = counts[name]
        assert before > SIZE
        # On sites as small as these, the pairs that prove the rules and the samples weigh much.
        assert after < before * 0.6
    assert counts["docs"][0] == counts["docs"][1]
    assert ended.figures().rules["dust"] > SIZE
    assert max(Counter(expectation.asked(web)).values()) <= 2


def dust(crawl, *words):
    """What ``scrapy dust`` says of a crawl in its JOBDIR."""
    return own_process(crawl.path.parent, "dust", crawl.path, *words, "--json").told["rules"]


@pytest.mark.soak
def test_rules_are_listed_explained_undone_by_hand_and_their_urls_requested(serve, crawl):
    web = serve(kind="copies", pages=60, sections=("forum",))
    ended = crawl(web.seeds, **SETTINGS).assert_ended_well()
    rules = [rule for rule in dust(ended) if rule["state"] == "confirmed"]
    rule = max(rules, key=lambda rule: rule["withheld"])
    assert rule["withheld"] > 10
    assert all(len({web.site.text(url) for url in each["pair"]}) == 1 for each in rules)
    asked = expectation.asked(web)
    url = next(url for url in rule["pair"] if f"{rule['name']}=" in url)
    url = re.sub(r"(?<=[?&]t=)[0-9]+", "5", url)
    told = own_process(ended.path.parent, "explain", url, "--json", JOBDIR=ended.path, DUST_LEARN=1).told
    [word] = [word for word in told["scope"]["rules"] if word["rule"] == "dust"]
    assert f"scrapy dust --undo {rule['id']}" in word["objection"]
    [undone] = dust(ended, "--undo", rule["id"])
    assert (undone["id"], undone["why"]) == (rule["id"], "undone by an operator")
    crawl(web.seeds, of=ended, **SETTINGS).assert_ended_well()
    new = Counter(expectation.asked(web)) - Counter(asked)
    assert len([url for url in new if f"{rule['name']}=" in url]) >= rule["withheld"] / 4
    assert {each["state"] for each in dust(ended) if each["id"] == rule["id"]} == {"undone"}
    ended.assert_sound()


@pytest.mark.soak
def test_a_crawl_that_is_killed_in_the_midst_of_its_proofs_goes_on_and_loses_nothing(serve, start, plain):
    web = serve(kind="copies", pages=SIZE, sections=("forum", "turning"))
    crawl = start(web.seeds, **SETTINGS)
    for lines in (40, 120, 300):
        crawl.until_logged(lines)
        crawl.kill()
        crawl = start(web.seeds, of=crawl, **SETTINGS)
    crawl.wait().assert_ended_well()
    crawl.assert_sound()
    texts = shown(web)
    for name in web.site.sites:
        assert web.site.truth(name) - set(texts) == set()
    assert copies(texts, "forum") < copies(plain, "forum") * 0.8
