"""What mirrors save and lose on made hosts with truth."""

import asyncio

import pytest

from tests.fakeweb.mirrors import OWN, Mirrored
from tests.unit.features.mirrors.model import ModelCrawl
from webcrawl.features.mirrors.pair import MirrorState

SIZE = 200
SEEDS = range(3)


def crawled(seed, *names, size=SIZE):
    return asyncio.run(ModelCrawl(Mirrored(size, names=names), seed).run())


def lost(crawl):
    return crawl.site.truth() - {crawl.site.text(url) for url in crawl.urls}


@pytest.mark.parametrize("seed", SEEDS)
def test_nine_of_ten_copies_are_saved_and_no_page_is_lost(seed):
    crawl = crawled(seed, "original", "mirror", "portal", size=400)
    copies = len(crawl.urls) - 400 - OWN - 1
    print(f"seed {seed}: {copies} of 400 copies fetched, {crawl.refused} URLs withheld")
    assert lost(crawl) == set()
    assert copies <= 40
    [pair] = crawl.feature.knowledge.pairs.values()
    assert pair.state is MirrorState.CONFIRMED


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["lacking", "imitator", "older", "turning"])
def test_no_page_is_lost_of_hosts_that_only_seem_to_be_mirrors(name, seed):
    crawl = crawled(seed, "original", name)
    states = [str(pair.state) for pair in crawl.feature.knowledge.pairs.values()]
    print(f"{name}, seed {seed}: {states}, {crawl.refused} URLs withheld, {len(crawl.urls)} requests")
    assert lost(crawl) == set()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_page_of_all_hosts_together_is_lost(seed):
    assert lost(crawled(seed, size=100)) == set()


def test_hosts_that_share_nothing_but_their_address_are_no_candidates():
    crawl = crawled(0, "original", "portal")
    assert not crawl.feature.knowledge.pairs
