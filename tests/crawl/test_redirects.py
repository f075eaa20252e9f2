"""Redirects go back through the frontier: scope, robots.txt, seen test and the cap on a chain hold for them."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.crawl import expectation
from tests.fakeweb import Placement
from tests.rows import each_row

START, ACROSS, OTHER, FORBIDDING, EXCLUDED = (f"h000{number}.localhost" for number in range(5))


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=5, pages=40, placements=(Placement("robots-private", hosts=(FORBIDDING,)),))


def origin(web, host):
    return f"http://{host}:{web.port}"


def goal(web, name, host=START):
    """A page of its own for each case, so that one case's fetch is not another's."""
    return f"{origin(web, host)}/x/ok?case={name}"


def chain(web, name, *, to=None, **options):
    asked = "&".join(f"{key}={value}" for key, value in options.items())
    target = quote(to or goal(web, name), safe="")
    return f"{origin(web, START)}/x/redirect-chain?{asked}&goal={target}"


@pytest.fixture(scope="module")
def cases(web):
    """Name to the URL that is seeded."""
    exhibits = ("loop", "self", "relative", "dirty", "missing", "foreign")
    return {
        "three": chain(web, "three", hops=3),
        "four": chain(web, "four", hops=4),
        "across": chain(web, "across", hops=2, across="yes"),
        **{f"with-{code}": chain(web, f"with-{code}", hops=1, status=code) for code in (301, 303, 307, 308)},
        "elsewhere": chain(web, "elsewhere", hops=1, to=goal(web, "elsewhere", OTHER)),
        "forbidden": chain(web, "forbidden", hops=1, to=f"{origin(web, FORBIDDING)}/private/page"),
        "excluded": chain(web, "excluded", hops=1, to=f"{origin(web, EXCLUDED)}/x/ok"),
        **{name: f"{origin(web, START)}/x/redirect-{name}" for name in exhibits},
    }


@pytest.fixture(scope="module")
def crawled(web, cases, crawl, folder):
    exclusions = folder / "exclusions.txt"
    exclusions.write_text(f"# not these\n{EXCLUDED}\n")
    allowed = f"/x/|/private/|//{START}:{web.port}/$"
    return crawl(list(cases.values()), arguments={"allow": allowed}, EXCLUSION_FILE=exclusions)


def test_the_crawl_ends_well(crawled):
    crawled.assert_ended_well().assert_sound()


@each_row("name", ["three", "across", "with-301", "with-303", "with-307", "with-308"])
def test_a_chain_of_three_is_followed_to_its_end(web, crawled, name):
    assert crawled.line(goal(web, name))["status"] == 200


def test_a_chain_of_four_is_cut_and_its_last_hop_is_recorded(web, crawled):
    assert goal(web, "four") not in expectation.asked(web)
    last = next(line for line in crawled.lines() if line.get("location") == goal(web, "four"))
    assert last["status"] == 302
    # The other one is the circle of three.
    assert crawled.figures().rules["redirects"] == 2


def test_a_redirect_to_another_host_asks_that_host_for_its_robots_txt_first(web, crawled):
    of_host = [hit.path for hit in web.hits() if hit.host == OTHER]
    assert of_host == ["/robots.txt", "/x/ok?case=elsewhere"]


def test_a_redirect_does_not_lead_to_what_robots_txt_forbids(web, crawled):
    assert [hit.path for hit in web.hits() if hit.host == FORBIDDING] == ["/robots.txt"]
    assert crawled.figures().rules["robots"] == 1


def test_a_redirect_does_not_lead_to_an_excluded_host(web, crawled):
    assert not [hit for hit in web.hits() if hit.host == EXCLUDED]


def test_a_loop_ends_when_it_comes_back_to_a_url_that_was_seen(web, crawled):
    asked = expectation.asked(web)

    assert sum("/x/redirect-loop" in url for url in asked) <= 4
    assert asked.count(f"{origin(web, START)}/x/redirect-self") == 1


def test_a_location_is_resolved_as_browsers_do(web, crawled):
    asked = expectation.asked(web)

    assert f"{origin(web, START)}/" in asked
    assert f"{origin(web, START)}/x/ok?q=%C3%A9%20|" in asked


@pytest.mark.parametrize("name", ["missing", "foreign"])
def test_a_redirect_to_nowhere_is_an_outcome(web, cases, crawled, name):
    assert crawled.line(cases[name])["status"] == 302


def test_the_log_tells_location_via_and_depth(web, cases, crawled):
    first, last = crawled.line(cases["with-301"]), crawled.line(goal(web, "with-301"))

    assert (first["status"], first["location"], first["via"]) == (301, goal(web, "with-301"), None)
    assert (last["via"], last["depth"]) == (cases["with-301"], 0)
    assert last["location"] is None
