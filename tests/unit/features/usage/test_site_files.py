"""Which files of a site are requested after its robots.txt, and how they are stored with it."""

from __future__ import annotations

from dataclasses import replace

from tests.rows import each_row
from tests.unit.features.usage.test_formats import licensed
from tests.unit.frontier.test_active_key import policies
from webcrawl.features.usage import site_files
from webcrawl.features.usage.site_files import SiteFiles
from webcrawl.features.usage.statements import resolve
from webcrawl.frontier import robots_requests as requests
from webcrawl.frontier.robots_requests import RobotsReply
from webcrawl.robots.answer import RobotsState, unreachable
from webcrawl.robots.rules import RobotsRules
from webcrawl.robots.site_files import SiteFile, parted, with_files
from webcrawl.robots.text import FILES_MARK

ORIGIN = "http://h.test"
FILE = SiteFile("tdmrep", f"{ORIGIN}/.well-known/tdmrep.json")
LICENCE = SiteFile("licence", f"{ORIGIN}/l.xml")
LICENSED = f"User-agent: *\nAllow: /\n\nLicense: {ORIGIN}/l.xml\n"
RESERVED = b'[{"location": "/", "tdm-reservation": 1}]'
NOW = 1_000.0


def wanted(text, *, tdmrep=True, licences=True, origin=ORIGIN):
    return SiteFiles(["webcrawl"], tdmrep=tdmrep, licences=licences).wanted(
        origin, text, RobotsRules(text, "webcrawl")
    )


@each_row(
    ("text", "files"),
    [
        ("", [FILE]),
        (LICENSED, [FILE, LICENCE]),
        ("User-agent: *\nDisallow: /.well-known/", []),
        (f"User-agent: *\nDisallow: /l.xml\nLicense: {ORIGIN}/l.xml", [FILE]),
        ("License: http://other.test/l.xml", [FILE]),
        ("License: http://h.test.evil.test/l.xml", [FILE]),
        ("License: file:///etc/passwd", [FILE]),
        (
            "".join(f"License: {ORIGIN}/{name}.xml\n" for name in "llmno"),
            [
                FILE,
                LICENCE,
                SiteFile("licence-2", f"{ORIGIN}/m.xml"),
                SiteFile("licence-3", f"{ORIGIN}/n.xml"),
            ],
        ),
    ],
)
def test_the_files_of_an_origin(text, files):
    assert wanted(text) == files
    assert wanted(text, tdmrep=False) == [file for file in files if file.kind != "tdmrep"]
    assert wanted(text, licences=False) == [file for file in files if file.kind == "tdmrep"]
    assert wanted(text, origin="ftp://h.test") == []


def test_files_are_stored_behind_the_text_and_change_no_rule():
    text = "User-agent: *\nDisallow: /private/"
    bodies = {"tdmrep": (FILE.url, RESERVED + b"\n\xff#"), "licence": (LICENCE.url, licensed("<x/>"))}
    stored = with_files(text, bodies)
    assert parted(stored) == (text, bodies)
    assert parted(text) == (text, {})
    assert with_files(stored, {}) == text
    rules = RobotsRules(stored, "webcrawl")
    assert rules.allows(f"{ORIGIN}/")
    assert not rules.allows(f"{ORIGIN}/private/")
    assert len(rules) == 1


@each_row("comment", ["", "x", "[]", "{}", '{"tdmrep": 5}', '{"tdmrep": ["a", "\\u1234"]}'])
def test_a_comment_of_the_site_that_looks_the_same_is_harmless(comment):
    text = f"User-agent: *\nDisallow: /{FILES_MARK}{comment}"
    assert site_files.read(text, ["webcrawl"]) is None
    assert with_files(text, {}) == "User-agent: *\nDisallow: /"


def test_the_files_are_read_with_the_text():
    bodies = {
        "tdmrep": (FILE.url, RESERVED),
        "licence": (LICENCE.url, licensed('<permits type="usage">search</permits>')),
    }
    usage = site_files.read(with_files("", bodies), ["webcrawl"])
    assert resolve(usage.statements(f"{ORIGIN}/a")) == {
        "search": "yes",
        "ai-input": "no",
        "train-ai": "no",
        "tdm": "no",
    }
    places = [each.place for each in usage.statements(f"{ORIGIN}/a")]
    assert places == ["tdmrep.json:1", LICENCE.url]


POLICIES = policies()
POLICIES = replace(
    POLICIES, robots=replace(POLICIES.robots, site_files=SiteFiles(["webcrawl"], tdmrep=True, licences=True))
)
POLICY = POLICIES.robots


def asked(reply, *replies):
    """The record after a robots.txt and the files beside it were answered, and the URLs that were requested."""
    entry = requests.first_request(ORIGIN, "h.test", None)
    urls = [entry.url]
    record, hop = requests.answer(entry, reply, None, NOW, POLICY)
    if hop is None:
        record, hop = requests.begin_site_files(entry, "h.test", record, NOW, POLICIES)
    for number, each in enumerate(replies, 1):
        assert record.state == RobotsState.PENDING
        assert hop is not None
        assert requests.is_site_file(hop)
        assert (hop.key, hop.via) == ("h.test", urls[-1])
        urls.append(hop.url)
        record, hop = requests.answer(hop, each, None, NOW + number, POLICY)
    assert hop is None
    return record, urls


def test_the_record_is_in_force_once_all_files_are_answered():
    reply = RobotsReply(200, LICENSED.encode())
    record, urls = asked(reply, RobotsReply(200, RESERVED), RobotsReply(404, b"not found"))
    assert urls == [f"{ORIGIN}/robots.txt", FILE.url, LICENCE.url]
    assert (record.state, record.fetched_at, record.expires_at) == (RobotsState.RULES, NOW, NOW + 86_400)
    assert parted(record.text) == (LICENSED, {"tdmrep": (FILE.url, RESERVED)})


def test_an_origin_without_robots_txt_can_have_the_file():
    record, _ = asked(RobotsReply(404, b""), RobotsReply(200, RESERVED))
    assert record.state == RobotsState.ALLOWED_ALL
    assert site_files.read(record.text, ["webcrawl"]).refuses(f"{ORIGIN}/a", ["tdm"])
    # There was no robots.txt: when it is unreachable, nothing is a copy of it.
    assert unreachable(ORIGIN, record, NOW + 90_000).state == RobotsState.UNREACHABLE


@each_row(
    ("reply", "is_soon"),
    [
        (RobotsReply(0, b"", "timeout"), True),
        (RobotsReply(503, b""), True),
        (RobotsReply(429, b""), True),
        (RobotsReply(404, b""), False),
        (RobotsReply(301, b"", location=f"{ORIGIN}/x", location_key="h.test"), False),
        (RobotsReply(200, b"x" * 300_000), False),
    ],
)
def test_a_file_that_is_not_available_says_nothing_and_is_soon_requested_again_if_it_may_come(reply, is_soon):
    record, _ = asked(RobotsReply(404, b""), reply)
    assert parted(record.text) == ("", {})
    assert (record.expires_at < NOW + 1_000) == is_soon


def test_no_file_is_requested_of_an_origin_without_an_answer():
    entry = requests.first_request(ORIGIN, "h.test", None)
    record, hop = requests.answer(entry, RobotsReply(500, b""), None, NOW, POLICY)
    assert requests.begin_site_files(entry, "h.test", record, NOW, POLICIES) == (record, None)
    assert hop is None


def test_no_file_is_requested_of_a_host_that_is_skipped():
    entry = requests.first_request(ORIGIN, "h.test", None)
    reply = RobotsReply(200, b"User-agent: *\nCrawl-delay: 100000\n")
    record, _ = requests.answer(entry, reply, None, NOW, POLICY)
    assert requests.begin_site_files(entry, "h.test", record, NOW, POLICIES) == (record, None)


def test_all_licences_of_an_origin_count_together():
    prohibiting = licensed('<prohibits type="usage">ai-train</prohibits>')
    permitting = licensed('<permits type="usage">all</permits>')
    files = {"licence": (LICENCE.url, permitting), "licence-2": (f"{ORIGIN}/m.xml", prohibiting)}
    usage = site_files.read(with_files(LICENSED, files), ["webcrawl"])
    verdicts = resolve(usage.statements(f"{ORIGIN}/a"))
    assert verdicts == {"search": "yes", "ai-input": "yes", "train-ai": "no", "tdm": "yes"}
    places = [each.place for each in usage.statements(f"{ORIGIN}/a")]
    assert places == ["robots.txt:4", LICENCE.url, f"{ORIGIN}/m.xml"]
