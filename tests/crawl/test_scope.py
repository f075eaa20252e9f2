"""Which links are followed: allow, domains, depth, extensions, lengths, exclusions that change meanwhile."""

from __future__ import annotations

import re
from collections import Counter
from urllib.parse import quote

import pytest

from tests.crawl import expectation
from tests.fakeweb.geography import Page

PAGES = 60
LONGEST = 52
EXCLUDED_LATE = "h0002.localhost"


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=10, pages=PAGES, zipf=0.5, seed=3)


def asked_after(web, begin, crawl):
    """The pages that a crawl made from outside asked for; one crawl at a time."""
    before = len(web.hits())
    crawled = begin(crawl)
    hits = [hit for hit in web.hits()[before:] if not hit.is_robots]
    return crawled, Counter(expectation.address(web, hit) for hit in hits)


def test_allow_length_and_extensions_bound_what_is_followed_but_not_the_seeds(web, crawl):
    pattern = r"//h000[0-6]\.|/news/"

    def follow(url):
        return (
            re.search(pattern, url) is not None
            and len(url) <= LONGEST
            and not url.partition("?")[0].endswith(".html")
        )

    seeds = [*web.seeds, f"{web.web.origin(8)}/"]
    expected = expectation.depths(web, seeds, follow)
    crawled, asked = asked_after(
        web,
        lambda crawl: crawl(
            seeds, arguments={"allow": pattern}, URLLENGTH_LIMIT=LONGEST, EXTENSIONS_REFUSED="html"
        ),
        crawl,
    )

    crawled.assert_ended_well().assert_sound()
    assert asked == Counter(list(expected))
    assert 20 < len(expected) < PAGES
    for rule in ("allow", "extension", "length"):
        assert re.search(rf"^\s+{rule}\s+[1-9]", crawled.stderr, re.MULTILINE)


def test_what_the_operator_lists_is_not_followed_and_says_which_rule_it_was(web, crawl, folder):
    deny = folder / "deny.txt"
    deny.write_text("//h0003\\.  # not that one\n/news/.*[02468]$\n")

    def follow(url):
        return (
            "//h0003." not in url
            and re.search(r"/news/.*[02468]$", url) is None
            and url.partition("?")[0].rstrip("/").count("/") - 2 <= 2
        )

    expected = expectation.depths(web, web.seeds, follow)
    crawled, asked = asked_after(
        web, lambda crawl: crawl(web.seeds, DENY_FILE=deny, PATH_SEGMENTS_MAX=2), crawl
    )

    crawled.assert_ended_well().assert_sound()
    assert asked == Counter(list(expected))
    assert 20 < len(expected) < PAGES
    assert re.search(r"^\s+deny\s+[1-9]", crawled.stderr, re.MULTILINE)


def test_a_site_under_two_names_is_fetched_under_one_and_only_a_crawl_under_the_same_rules_goes_on(
    web, crawl, folder
):
    rules = folder / "hosts.txt"
    rules.write_text("synonym h0001.localhost h0000.localhost\n")
    seeds = [f"{web.web.origin(number)}/x/ok?same" for number in (0, 1, 2)]
    crawled, asked = asked_after(web, lambda crawl: crawl(seeds, HOST_RULES_FILE=rules, DEPTH_LIMIT=1), crawl)

    crawled.assert_ended_well().assert_sound()
    assert sum(asked[seed] for seed in seeds[:2]) == 1
    assert asked[seeds[2]] == 1
    refused = crawl(seeds, of=crawled)
    assert refused.status == 2
    assert "HOST_RULES_FILE" in refused.stderr


def test_files_of_expressions_with_wrong_lines_are_told_before_anything_starts(web, crawl, folder):
    wrong = folder / "wrong.txt"
    wrong.write_text("fine\n(never closed\n")
    crawled = crawl(web.seeds, ALLOW_FILE=wrong, DENY_FILE=wrong)

    assert crawled.status == 2
    told = [line for line in crawled.stderr.splitlines() if "line 2" in line]
    assert [name for name in ("ALLOW_FILE", "DENY_FILE") if any(name in line for line in told)] == [
        "ALLOW_FILE",
        "DENY_FILE",
    ]


def test_domains_bound_what_is_followed(web, crawl, folder):
    names = folder / "domains.txt"
    names.write_text("# these alone\nh0000.localhost\nh0003.localhost\nH0004.localhost\n\nnobody.test\n")

    def follow(url):
        return re.search(r"//h000[034]\.", url) is not None

    expected = expectation.depths(web, follow=follow)
    crawled, asked = asked_after(
        web, lambda crawl: crawl(web.seeds, arguments={"domains": str(names)}), crawl
    )

    crawled.assert_ended_well()
    assert asked == Counter(list(expected))


def test_domains_without_seeds_begin_at_their_roots(web, crawl):
    origins = [web.web.origin(number) for number in (5, 7)]
    roots = [f"{origin}/" for origin in origins]
    expected = expectation.depths(web, roots, lambda url: re.search(r"//h000[57]\.", url) is not None)

    crawled, asked = asked_after(web, lambda crawl: crawl(arguments={"domains": ",".join(origins)}), crawl)

    crawled.assert_ended_well()
    assert asked == Counter(list(expected))
    assert crawled.line(roots[0])["depth"] == 0


def test_a_depth_limit_counts_links_from_a_seed(web, crawl):
    expected = expectation.depths(web)
    crawled, asked = asked_after(web, lambda crawl: crawl(web.seeds, DEPTH_LIMIT=1), crawl)

    crawled.assert_ended_well().assert_sound()
    assert asked == Counter(url for url, depth in expected.items() if depth <= 1)
    assert {line["url"]: line["depth"] for line in crawled.lines()} == {url: expected[url] for url in asked}


def test_an_exclusion_added_while_the_crawl_runs_holds_for_what_is_queued(serve, start, folder):
    """Hosts of twenty pages, which take eight seconds; it is added when a few of each have come."""
    web = serve(hosts=4, pages=80, zipf=0.0, same_host=0.9, seed=3)
    exclusions = folder / "exclusions.txt"
    exclusions.write_text(f"h0001.localhost  # asked us by mail\n{web.web.origin(3)}/news/\n")
    crawled = start(
        expectation.roots(web),
        EXCLUSION_FILE=exclusions,
        EXCLUSION_CHECK_SECONDS=1,
        POLITENESS_MIN_DELAY=0.4,
        POLITENESS_KEY="host",
    )
    crawled.until_logged(12)
    exclusions.write_text(exclusions.read_text() + f"{EXCLUDED_LATE}\n")
    crawled.wait().assert_ended_well().assert_sound()

    hits = web.hits()
    late = [hit for hit in hits if hit.host == EXCLUDED_LATE]
    assert not [hit for hit in hits if hit.host == "h0001.localhost"]
    assert not [hit for hit in hits if hit.host == "h0003.localhost" and hit.path.startswith("/news/")]
    assert 1 < len(late) < web.web.geography.sizes[2]
    assert crawled.figures().rules["exclusion"] > 0
    assert crawled.figures().queued == 0


@pytest.mark.parametrize("site", ["domain", "host"])
def test_a_crawl_that_stays_reaches_all_of_its_seeds_sites_and_nothing_else(serve, crawl, site):
    """Over a stop and a start; h0001.localhost redirects to h0002.localhost, so that is where its crawl stays."""
    web = serve(hosts=8, pages=48, per_domain=2, zipf=0.2, seed=5)
    moved = f"{web.web.origin(2)}/x/redirect-chain?hops=1&goal={quote(web.web.origin(4) + '/', safe='')}"
    sites = [[0, 1], [4, 5]] if site == "domain" else [[0], [4]]
    expected = set()
    for hosts in sites:
        queue = [Page(hosts[0], 0)]
        while queue:
            page = queue.pop()
            if page not in expected and page.host in hosts:
                expected.add(page)
                queue += web.web.geography.targets(page)
    given = {"seeds": ",".join([*web.seeds, moved]), "stay": site}
    first = crawl(arguments=given, CLOSESPIDER_PAGECOUNT=10)
    crawl(of=first, arguments=given).assert_ended_well().assert_sound()

    asked = {url for url in expectation.asked(web) if "/x/" not in url and not url.endswith("/robots.txt")}
    assert asked == {web.web.url(page) for page in expected}


def test_a_seed_does_not_lift_the_rule_for_the_addresses_of_names_below_it(serve, crawl):
    """The name server gives each host an address of its own; s1.h0000.test is below the seed h0000.test."""
    web = serve(hosts=6, pages=24, suffix="test", per_domain=3, dns=True, own_addresses=True)
    given = {"DNS_NAMESERVERS": web.nameserver, "FETCH_PRIVATE_ADDRESSES": 0, "FRONTIER_PATIENCE_SECONDS": 0}
    crawled = crawl(web.seeds, **given).assert_ended_well()

    assert {hit.host for hit in web.hits()} == {"h0000.test"}
    refused = {
        line["url"].split("/")[2].split(":")[0] for line in crawled.log() if line.get("error") == "private"
    }
    assert "s1.h0000.test" in refused


def test_what_a_seed_resolved_to_at_first_is_kept_where_the_crawl_is(serve, crawl, redis_server):
    """In Redis for all workers, in the JOBDIR for the next start; h0000.test is at 127.1.0.1 by its name server."""
    web = serve(hosts=2, pages=6, suffix="test", dns=True, own_addresses=True)
    given = {"DNS_NAMESERVERS": web.nameserver, "FETCH_PRIVATE_ADDRESSES": 0, "FRONTIER_PATIENCE_SECONDS": 0}
    crawl(web.seeds, REDIS_URL=redis_server.url, **given).assert_ended_well()
    assert redis_server.call("HGETALL", "broad:seed_addresses") == {b"h0000.test": b"127.1.0.1"}

    # What another process wrote first counts.
    redis_server.fresh()
    redis_server.call("HSET", "broad:seed_addresses", "h0000.test", "8.8.8.8")
    before = len(web.hits())
    refused = crawl(web.seeds, REDIS_URL=redis_server.url, **given)
    assert {line["error"] for line in refused.log()} == {"private"}
    alone = crawl(web.seeds, **given).assert_ended_well()
    kept = alone.path / "seed_addresses.jsonl"
    assert kept.read_text() == '["h0000.test"]\n["h0000.test", ["127.1.0.1"]]\n'
    assert {hit.host for hit in web.hits()[before:]} == {"h0000.test"}


def test_private_addresses_are_left_alone_but_for_those_of_seeds_also_when_the_crawl_goes_on_without_seeds(
    serve, crawl
):
    """A seed's own host is always allowed, its links to other loopback hosts are not. Seeds from standard input are
    read once."""
    web = serve(hosts=2, pages=20, zipf=0.1)
    first = crawl(web.seeds, FETCH_PRIVATE_ADDRESSES=0, CLOSESPIDER_PAGECOUNT=2, CONCURRENT_REQUESTS=1)
    assert first.figures().queued > 0
    second = crawl(of=first, FETCH_PRIVATE_ADDRESSES=0).assert_ended_well()

    assert not second.figures().rules["private-address"]
    assert {url for url in expectation.asked(web) if "robots" not in url} == {
        web.web.url(page) for page in web.web.pages() if page.host == 0
    }
    assert {hit.host for hit in web.hits()} == {"h0000.localhost"}


def test_pages_do_not_lead_to_ports_of_other_services(serve, crawl):
    """Neither links nor redirects do, unless a seed or PORTS_ALLOWED names the port."""
    web = serve(hosts=1, pages=1)
    root, host = web.seeds[0], "h0000.localhost"
    linked, seeded, allowed = (f"http://{host}:{port}/" for port in (22, 25, 6667))
    crawled = crawl(
        [f"{root}x/redirect-chain?hops=1&goal={quote(to, safe='')}" for to in (linked, allowed)] + [seeded],
        PORTS_ALLOWED=f"{web.port},6667",
        RETRY_TIMES=0,
        FRONTIER_PATIENCE_SECONDS=0,
    ).assert_ended_well()

    robots = {line["url"] for line in crawled.lines("robots")}
    assert robots == {f"{site}robots.txt" for site in (root, seeded, allowed)}
    assert "bad-port" in crawled.stderr, crawled.stderr


def test_a_name_that_leads_to_a_private_address_is_not_contacted(serve, crawl):
    """The name server says 127.0.0.1 for every name below test."""
    web = serve(hosts=3, pages=12, suffix="test", dns=True)
    crawled = crawl(
        web.seeds,
        DNS_NAMESERVERS=web.nameserver,
        FETCH_PRIVATE_ADDRESSES=0,
        FRONTIER_PATIENCE_SECONDS=0,
    ).assert_ended_well()

    assert {hit.host for hit in web.hits()} == {"h0000.test"}
    words = {line.get("error") for line in crawled.lines("robots") if line["key"] != "h0000.test"}
    assert words == {"private"}
