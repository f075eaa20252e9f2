"""Sites that refuse: named in the log, neither retried nor read, and left alone for a day after three requests."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.commands import in_process, own_process
from tests.crawl.crawling import ROOT
from tests.fakeweb import Placement
from tests.fakeweb.behaviours.refusals import RESPONSES
from tests.rows import each_row
from webcrawl.politeness.refusals import KINDS as MEANINGS

KINDS = {
    "challenge": "challenge",
    "challenge-503": "challenge",
    "challenge-200": "challenge",
    "challenge-202": "challenge",
    "challenge-429": "challenge",
    "blocked": "blocked",
    "blocked-200": "blocked",
    "signature": "signature-wanted",
    "login": "login-required",
    "license": "license-required",
    "payment": "payment-required",
    "legal": "legal",
    "protocol": "protocol-wanted",
    "version": "protocol-wanted",
    "script": "script-required",
    "consent": "consent-required",
    "parked": "parked",
}
"""The word of the fetch log for each way to refuse."""
HOSTS = {name: f"h{number:04}.localhost" for number, name in enumerate(KINDS, start=1)}
OF_HOST = [
    name
    for name, kind in KINDS.items()
    if kind not in ("login-required", "legal", "script-required", "consent-required", "parked")
]
"""Those by which the host refuses as a whole."""


@pytest.fixture(scope="module")
def web(serve):
    placements = tuple(
        Placement("refuses", hosts=(host,), options={"how": name}) for name, host in HOSTS.items()
    )
    return serve(hosts=len(HOSTS) + 1, pages=12 * (len(HOSTS) + 1), zipf=0.01, placements=placements)


@pytest.fixture(scope="module")
def seeds(web):
    """Six pages of each host; those of the first one behave."""
    found: Counter[str] = Counter()
    chosen = []
    for page in web.web.pages():
        url = web.web.url(page)
        host = url.split("/")[2]
        if found[host] < 6:
            found[host] += 1
            chosen.append(url)
    return chosen


@pytest.fixture(scope="module")
def crawled(web, seeds, crawl, folder):
    feed = folder / "pages.jsonl"
    settings = {"FEEDS": json.dumps({str(feed): {"format": "jsonlines"}}), "FRONTIER_PATIENCE_SECONDS": 1}
    return crawl(seeds, arguments={"allow": r"(?!)"}, **settings).assert_ended_well()


def asked(web, host):
    return [hit for hit in web.hits() if hit.host == host]


def test_the_cases_are_all_ways_to_refuse():
    assert RESPONSES.keys() - KINDS == {"placeholder"}


def test_the_state_is_sound(crawled):
    crawled.assert_sound()


@each_row("name", KINDS)
def test_each_is_named_in_the_fetch_log(web, crawled, name):
    lines = [line for line in crawled.lines() if HOSTS[name] in line["url"]]
    assert {line["refusal"] for line in lines} == {KINDS[name]}
    assert all(line["status"] == RESPONSES[name][0] for line in lines)


def test_the_log_has_the_price_the_authority_and_the_network(crawled):
    found = {line["refusal"]: line for line in crawled.lines() if "refusal" in line}
    assert found["payment-required"]["refusal_detail"] == "USD 0.01"
    assert found["legal"]["refusal_by"] == "https://authority.test/"
    assert found["protocol-wanted"].keys() & {"refusal_by"} == set()
    by = {line["refusal_by"] for line in crawled.lines() if line.get("refusal") == "challenge"}
    assert by == {"Cloudflare", "AWS WAF", "Vercel"}


def test_a_pause_that_a_challenge_asks_for_is_kept(web, crawled):
    assert len(asked(web, HOSTS["challenge-429"])) == 2


@each_row("name", sorted({*OF_HOST} - {"challenge-429"}))
def test_a_host_that_refuses_gets_three_requests_its_robots_txt_included(web, crawled, name):
    assert len(asked(web, HOSTS[name])) == 3


@each_row("name", KINDS)
def test_no_page_is_asked_for_twice_and_no_link_of_a_refusal_is_followed(web, crawled, name):
    paths = Counter(hit.path for hit in asked(web, HOSTS[name]))
    assert max(paths.values()) == 1
    assert not any("behind" in path for path in paths)


def test_its_queue_is_kept(crawled):
    queued = Counter(
        key for (key,) in crawled.query("SELECT key FROM queue JOIN hosts ON hosts.id = host_id")
    )
    assert queued == {HOSTS[name]: 5 if name == "challenge-429" else 4 for name in OF_HOST}


def test_a_refusal_is_no_item_and_is_archived(web, crawled, folder):
    items = [json.loads(line)["url"] for line in (folder / "pages.jsonl").read_text().splitlines()]
    assert len(items) == 6
    assert all(f"//{HOSTS['challenge']}".replace("h0001", "h0000") in url for url in items)
    archived = {record.url for record in crawled.records() if record.type == "response"}
    assert {line["url"] for line in crawled.lines()} <= archived


def test_the_operator_is_told_once_of_each_host(crawled):
    for name in {*OF_HOST} - {"challenge-429"}:
        lines = [
            line for line in crawled.stderr.splitlines() if f"{HOSTS[name]} refuses this crawler" in line
        ]
        assert len(lines) == 1


def test_the_summary_and_the_report_count_them_by_kind(crawled):
    [line] = [line for line in crawled.stderr.splitlines() if "refused by sites" in line]
    refused = [line for line in crawled.lines() if "refusal" in line]
    assert str(len(refused)) in line
    report = (crawled.path / "report.html").read_text()
    section = report.partition(">Refused by sites</h2>")[2].partition("<h2")[0]
    assert all(kind in section for kind in set(KINDS.values()))
    assert "Cloudflare" in section
    assert HOSTS["payment"] in section


def test_errors_says_what_would_help(crawled, capsys):
    told = json.loads(in_process("errors", capsys, JOBDIR=crawled.path)("--json").out)
    assert set(KINDS.values()) <= told["kinds"].keys()
    assert told["remedies"] == {kind: MEANINGS[kind].remedy for kind in set(KINDS.values())}
    text = in_process("errors", capsys, JOBDIR=crawled.path)().out
    assert "what would help" in text
    assert "sign the requests (Web Bot Auth)" in text


def test_explain_says_what_the_site_answered_and_why_its_other_urls_wait(web, seeds, crawled):
    given = {"JOBDIR": crawled.path, "FETCH_PRIVATE_ADDRESSES": 1}
    refused = next(line["url"] for line in crawled.lines() if line.get("refusal") == "payment-required")
    said = own_process(ROOT, "explain", refused, **given).out
    assert "failed: payment-required, the site asks for a payment (status 402); what would help:" in said
    assert "refused by the site: payment-required (USD 0.01)" in said
    fetched = {line["url"] for line in crawled.lines()}
    waiting = next(url for url in seeds if HOSTS["payment"] in url and url not in fetched)
    said = own_process(ROOT, "explain", waiting, **given).out
    assert "the host refuses this crawler (payment-required: the site asks for a payment" in said


def test_a_parked_domain_is_listed_with_the_traps(crawled, capsys):
    said = in_process("traps", capsys, JOBDIR=crawled.path)().out
    assert f"all URLs of {HOSTS['parked']}" in said
    assert "the domain is parked, with a page of AdSense for domains" in said
