"""What DUST rules save and lose on made sites with truth, and what hostile sites achieve."""

import random
from types import SimpleNamespace

import pytest

from tests.fakeweb.copies import SITES
from tests.rows import each_row
from tests.unit.features.dust.model import ModelCrawl
from webcrawl.features.dust import learner, withholding
from webcrawl.features.dust.knowledge import DustKnowledge
from webcrawl.features.dust.learner import DustState, PageContent
from webcrawl.processing.text_sketch import sketch

SIZE = 500
SEEDS = range(3)
HONEST, HOSTILE = ("shop", "forum", "wiki", "mail"), ("liar", "turning", "impostor")


def made_site(name):
    return SITES[name](f"http://{name}.test", SIZE)


@pytest.fixture(scope="module")
def plain():
    """Crawls without rules, by the names of the sites."""
    return {name: ModelCrawl(made_site(name), 0, learns=False).run() for name in (*HONEST, *HOSTILE, "docs")}


@each_row("seed", SEEDS)
@each_row("name", HONEST)
def test_nine_of_ten_copies_are_saved_and_no_page_is_lost(plain, name, seed):
    crawl = ModelCrawl(made_site(name), seed).run()
    print(
        f"{name}, seed {seed}: {plain[name].copies} copies without rules, {crawl.copies} with, {crawl.probes} probes"
    )
    assert plain[name].copies > SIZE
    assert crawl.copies <= plain[name].copies / 10
    assert crawl.site.truth <= set(plain[name].texts)
    assert set(plain[name].texts) - set(crawl.texts) == set()


@each_row(
    ("name", "size", "share"),
    [("repository", 500, 0.93), ("board", 500, 0.75), ("encyclopedia", 500, 0.78), ("tables", 500, 0.78)],
)
def test_most_copies_of_sites_like_real_software_are_saved_and_no_page_is_lost(name, size, share):
    site = SITES[name](f"http://{name}.test", size)
    plain, crawl = ModelCrawl(site, 0, learns=False).run(), ModelCrawl(site, 0).run()
    print(f"{name}: {plain.copies} copies without rules, {crawl.copies} with, {crawl.probes} probes")
    assert crawl.copies <= plain.copies * (1 - share)
    assert site.truth <= set(plain.texts)
    assert set(plain.texts) - set(crawl.texts) == set()


@each_row("seed", SEEDS)
@each_row("name", HOSTILE)
def test_a_site_that_lies_until_it_is_believed_loses_no_page_and_costs_few_requests(plain, name, seed):
    crawl = ModelCrawl(made_site(name), seed).run()
    print(f"{name}, seed {seed}: {len(crawl.urls)} requests, {len(plain[name].urls)} without rules")
    assert DustState.CONFIRMED in crawl.states
    assert DustState.UNDONE in crawl.states
    assert crawl.site.truth <= set(plain[name].texts)
    assert set(plain[name].texts) - set(crawl.texts) == set()
    assert len(crawl.urls) <= len(plain[name].urls) * 1.02


@each_row("seed", SEEDS)
def test_nothing_is_withheld_of_documentation_whose_versions_share_most_pages(plain, seed):
    crawl = ModelCrawl(made_site("docs"), seed).run()
    assert plain["docs"].copies > SIZE / 2
    assert set(crawl.urls) == set(plain["docs"].urls)
    assert DustState.CONFIRMED not in crawl.states


def show(knowledge, url, text, now=0.0):
    return knowledge.page(url, PageContent.of(text.encode(), [], url.split("/")[2]), now)


def refused(knowledge, url):
    return knowledge.withholding.refuse(url, url.split("/")[2]) is not None


def proved(chance=None):
    """Knowledge of a site whose parameter ``ref=a`` makes no difference."""
    knowledge = DustKnowledge(chance or random.Random(1), share=0.0)
    changed = []
    for number in range(10):
        changed += show(knowledge, f"http://a.test/item-{number}", f"item {number}")
        changed += show(knowledge, f"http://a.test/item-{number}?ref=a", f"item {number}")
    assert [tracked.state for tracked in changed] == [DustState.CONFIRMED] * 2
    assert changed[0] is changed[1]
    return knowledge, changed[0]


def withhold_many(knowledge, first=100, count=20):
    """Show pages and withhold their copies; return the samples, which are not withheld."""
    samples = []
    for number in range(first, first + count):
        show(knowledge, f"http://a.test/item-{number}", f"item {number}")
        url = f"http://a.test/item-{number}?ref=a"
        if refused(knowledge, url):
            knowledge.withholding.withheld(url, "a.test", 1, None)
        else:
            samples.append(url)
    return samples


def test_a_rule_needs_pairs_of_pages_that_differ_among_themselves():
    knowledge = DustKnowledge(random.Random(1))
    for number in range(40):
        show(knowledge, f"http://a.test/item-{number}", "Please log in")
        show(knowledge, f"http://a.test/item-{number}?ref=a", "Please log in")
    assert not knowledge.withholding.rules()
    assert not list(knowledge.learner.open_rules())


def test_one_pair_that_differs_refutes_a_rule_for_good():
    knowledge = DustKnowledge(random.Random(1))
    changed = []
    for number in range(20):
        changed += show(knowledge, f"http://a.test/item-{number}", f"item {number}")
        changed += show(
            knowledge, f"http://a.test/item-{number}?ref=a", f"item {number}" + "!" * (number == 3)
        )
    assert changed[-1].state is DustState.REFUTED
    assert "item-3 and http://a.test/item-3?ref=a differ" in changed[-1].why
    assert not knowledge.withholding.rules()


def test_a_rule_is_probed_with_urls_that_nobody_linked_to_and_a_missing_page_refutes_it():
    knowledge = DustKnowledge(random.Random(1))
    for number in range(4):
        show(knowledge, f"http://a.test/item-{number}?ref=a", f"item {number}")
    for number in range(2):
        show(knowledge, f"http://a.test/item-{number}", f"item {number}")
    for number in range(10, 14):
        show(knowledge, f"http://a.test/item-{number}?ref=a", f"item {number}")
    probes = knowledge.take_probes()
    assert 0 < len(probes) <= learner.PROBES_AT_ONCE
    assert all(probe.of == f"{probe.url}?ref=a" for probe in probes)
    [tracked] = knowledge.failed(probes[0].url, 1.0)
    assert (tracked.state, tracked.why) == (DustState.REFUTED, f"{probes[0].url} has no page")


def test_only_copies_of_pages_that_were_fetched_are_withheld():
    knowledge, tracked = proved()
    knowledge.withholding._chance = random.Random(5)
    withhold_many(knowledge)
    assert tracked.refusals > 10
    assert not refused(knowledge, "http://a.test/item-999?ref=a")
    assert not refused(knowledge, "http://a.test/item-0?ref=b")
    assert not refused(knowledge, "http://a.test/item-0?ref=a&page=2")
    assert not refused(knowledge, "http://b.test/item-0?ref=a")
    assert not refused(knowledge, "http://a.test/item-0")


def test_a_sample_that_differs_is_compared_with_the_page_as_it_is_now():
    knowledge, tracked = proved()
    samples = withhold_many(knowledge)
    changed = show(knowledge, samples[0], "today's news")
    assert (changed, tracked.state) == ([tracked], DustState.DOUBTED)
    assert not refused(knowledge, "http://a.test/item-105?ref=a")
    [probe] = knowledge.take_probes()
    assert (probe.url, probe.is_repeat) == (samples[0].removesuffix("?ref=a"), True)
    assert show(knowledge, probe.url, "today's news") == [tracked]
    assert tracked.state is DustState.CONFIRMED


def test_one_copy_in_four_is_visited_again_and_one_that_differs_by_then_is_a_doubt():
    knowledge, tracked = proved()
    knowledge.withholding._chance = SimpleNamespace(random=lambda: 1.0)
    copies = [f"http://a.test/item-{number}?ref=a" for number in range(10)]
    visited = [url for url in copies if not refused(knowledge, url)]
    assert 0 < len(visited) < 6
    assert show(knowledge, visited[0], "news of the item", 9.0) == [tracked]
    assert tracked.state is DustState.DOUBTED
    [probe] = knowledge.take_probes()
    assert show(knowledge, probe.url, "old news", 10.0) == [tracked]
    assert tracked.state is DustState.UNDONE


@pytest.mark.parametrize("answers", [True, False])
def test_a_rule_is_undone_if_the_page_differs_from_its_sample_or_does_not_come(answers):
    knowledge, tracked = proved()
    samples = withhold_many(knowledge)
    show(knowledge, samples[0], "another page", 5.0)
    [probe] = knowledge.take_probes()
    assert knowledge.expire(5.0 + withholding.DOUBT_SECONDS, 1.0) == []
    if answers:
        changed = show(knowledge, probe.url, "what it was", 6.0)
    else:
        changed = knowledge.expire(5.1 + withholding.DOUBT_SECONDS, 1.0)
    assert (changed, tracked.state) == ([tracked], DustState.UNDONE)
    assert not refused(knowledge, "http://a.test/item-105?ref=a")
    # It is not learned again.
    for number in range(200, 220):
        assert show(knowledge, f"http://a.test/item-{number}", f"item {number}") == []
        assert show(knowledge, f"http://a.test/item-{number}?ref=a", f"item {number}") == []


def test_nothing_more_is_withheld_when_no_more_can_be_queued_again(monkeypatch):
    monkeypatch.setattr(withholding, "WITHHELD_PER_SITE", 12)
    knowledge, _ = proved()
    withhold_many(knowledge, count=60)
    assert len(knowledge.withholding.take_waiting()) == 12


def test_a_site_that_changes_its_urls_every_day_costs_its_share():
    """Of memory, and of probes."""
    knowledge, chance = DustKnowledge(random.Random(1)), random.Random(2)
    probes = 0
    for number in range(4000):
        name = "".join(chance.choices("abcdefgh", k=8))
        show(knowledge, f"http://a.test/item-{number}?{name}=1", f"item {number // 2}")
        probes += len(knowledge.take_probes())
    evidence = knowledge.learner._sites["a.test"]
    assert len(evidence.pages) == learner.PAGES_PER_SITE
    assert sum(map(len, evidence.by_body.values())) <= learner.PAGES_PER_SITE
    assert len(evidence.supported) <= learner.SUPPORTED_PER_SITE
    assert len(evidence.open) <= learner.OPEN_PER_SITE
    assert probes <= learner.PROBES_AT_LEAST + 4000 * learner.PROBE_SHARE


def test_the_memory_of_many_sites_is_bounded(monkeypatch):
    monkeypatch.setattr(learner, "PAGES_IN_ALL", 200)
    monkeypatch.setattr(withholding, "MEMBERS_IN_ALL", 100)
    knowledge = DustKnowledge(random.Random(1))
    for site in range(30):
        for number in range(20):
            show(knowledge, f"http://s{site}.test/item-{number}", f"item {site} {number}")
            show(knowledge, f"http://s{site}.test/item-{number}?ref=a", f"item {site} {number}")
    assert len(knowledge.withholding) == 30
    assert sum(1 for site in range(30) for _ in knowledge.learner.pages(f"s{site}.test")) <= 200
    assert sum(len(site.members) for site in knowledge.withholding._sites.values()) <= 100


def written(words, number, of=300):
    """The text of a page, with something that differs each time it is shown."""
    chance = random.Random(number)
    return " ".join([*("".join(chance.choices("abcdefghij", k=6)) for _ in range(of)), *words])


def show_text(knowledge, url, text):
    content = PageContent.of(text.encode(), [], "a.test", sketch(text))
    return knowledge.page(url, content, 0.0)


def test_pages_with_nearly_the_same_text_are_equal_if_texts_count():
    knowledge = DustKnowledge(random.Random(1), share=0.0)
    for number in range(8):
        show_text(knowledge, f"http://a.test/item-{number}", written(["shown", "7"], number))
        show_text(knowledge, f"http://a.test/item-{number}?ref=a", written(["shown", f"{number}8"], number))
    assert [tracked.rule.value for tracked in knowledge.withholding.rules()] == ["a"]
    [tracked] = knowledge.withholding.rules()
    assert len(tracked.pairs) == 5


def test_texts_of_one_template_that_differ_are_not_equal():
    knowledge = DustKnowledge(random.Random(1), share=0.0)
    template = written([], 0, of=60)
    for number in range(40):
        show_text(knowledge, f"http://a.test/item-{number}", f"{template} {written([], number, of=10)}")
        show_text(
            knowledge, f"http://a.test/item-{number}?v=1", f"{template} {written([], 100 + number, of=10)}"
        )
    assert not knowledge.withholding.rules()
    assert not list(knowledge.learner.open_rules())
