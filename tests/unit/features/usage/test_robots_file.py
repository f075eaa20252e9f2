"""What a robots.txt says about use, and to whom."""

from __future__ import annotations

import pytest

from tests.rows import each_row
from tests.unit.robots.test_rules import CASES
from webcrawl.features.usage.robots_file import read
from webcrawl.features.usage.statements import as_record, resolve
from webcrawl.robots.rules import RobotsRules

EXAMPLE = """\
User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: train-ai=y
"""
"""Of draft-ietf-aipref-attach-05, section 3.4."""


def statements(text, path="/", agent="webcrawl", **others):
    usage = read(text, [agent], **others)
    return () if usage is None else usage.statements(f"https://example.com{path}")


def verdicts(text, path="/", agent="webcrawl", **others):
    return resolve(statements(text, path, agent, **others))


@each_row(
    ("agent", "path", "verdict", "line"),
    [
        ("webcrawl", "/test", "no", 4),
        ("webcrawl", "/ai-ok/test", "yes", 5),
        ("ExampleBot", "/test", "yes", 9),
        ("ExampleBot", "/ai-ok/test", "yes", 9),
    ],
)
def test_the_example_of_the_draft(agent, path, verdict, line):
    record = as_record(statements(EXAMPLE, path, agent))
    assert record["train-ai"] == verdict
    assert [source["place"] for source in record["sources"]] == [f"robots.txt:{line}"]
    rules = RobotsRules(EXAMPLE, "webcrawl")
    assert rules.allows("https://example.com/test")
    assert not rules.allows("https://example.com/never/test")


@each_row(
    ("text", "path", "expected"),
    [
        # The longest path, in octets and with wildcards; of equal ones the most restrictive
        (
            "User-agent: *\nContent-Usage: /a/ train-ai=n\nContent-Usage: /a/b/ train-ai=y",
            "/a/b/c",
            {"train-ai": "yes"},
        ),
        (
            "User-agent: *\nContent-Usage: /a/ train-ai=n\nContent-Usage: /a/b/ train-ai=y",
            "/a/c",
            {"train-ai": "no"},
        ),
        ("User-agent: *\nContent-Usage: /a/ train-ai=n\nContent-Usage: /a/b/ train-ai=y", "/b", {}),
        (
            "User-agent: *\nContent-Usage: /a train-ai=y\nContent-Usage: /a train-ai=n",
            "/a",
            {"train-ai": "no"},
        ),
        (
            "User-agent: *\nContent-Usage: train-ai=y\nContent-Usage: search=n",
            "/",
            {"train-ai": "yes", "search": "no"},
        ),
        ("User-agent: *\nContent-Usage: /*.pdf$ train-ai=n", "/x/y.pdf", {"train-ai": "no"}),
        ("User-agent: *\nContent-Usage: /*.pdf$ train-ai=n", "/x/y.pdf?z", {}),
        ("User-agent: *\nContent-Usage: /caf%C3%A9 train-ai=n", "/caf%c3%a9", {"train-ai": "no"}),
        # A longer path replaces a shorter one altogether
        ("User-agent: *\nContent-Usage: search=n\nContent-Usage: /a train-ai=n", "/a", {"train-ai": "no"}),
        # Spelling of the line
        ("user-agent: *\n\tCONTENT-USAGE :\t/a\t train-ai=n # no", "/a", {"train-ai": "no"}),
        ("User-agent: *\r\nContent-Usage: train-ai=n\r\n", "/", {"train-ai": "no"}),
        ("User-agent: *\rContent-Usage: train-ai=n\r", "/", {"train-ai": "no"}),
        ("User-agent: *\nContent-Usage: /", "/", {}),
        ("User-agent: *\nContent-Usage:", "/", {}),
        # The two formats are read each on its own
        (
            "User-agent: *\nContent-Signal: search=yes, ai-train=no\nContent-Usage: /a train-ai=y\nAllow: /",
            "/a",
            {"search": "yes", "train-ai": "no"},
        ),
        # A rule ends the row of User-agent lines
        ("User-agent: a\nContent-Usage: train-ai=n\nUser-agent: webcrawl\nAllow: /", "/", {}),
        ("User-agent: a\nUser-agent: webcrawl\nContent-Usage: train-ai=n", "/", {"train-ai": "no"}),
        # Our own groups alone, merged
        ("User-agent: *\nContent-Usage: train-ai=n\nUser-agent: webcrawl\nAllow: /", "/", {}),
        (
            "User-agent: webcrawl\nContent-Usage: train-ai=n\nUser-agent: x\nAllow: /\n"
            "User-agent: webcrawl\nContent-Usage: search=n",
            "/",
            {"train-ai": "no", "search": "no"},
        ),
        # Before the first group: for all
        ("Content-Signal: ai-train=no\nUser-agent: *\nAllow: /", "/", {"train-ai": "no"}),
        ("# Content-Usage: train-ai=n", "/", {}),
        ("Disallow: /content-usage", "/", {}),
    ],
)
def test_which_line_decides(text, path, expected):
    assert verdicts(text, path) == expected


@each_row(
    ("text", "urls"),
    [
        ("License: https://e.com/l.xml\nUser-agent: *\nAllow: /", ["https://e.com/l.xml"]),
        ("User-agent: *\nAllow: /\nLicense: https://e.com/l.xml", ["https://e.com/l.xml"]),
        ("User-agent: x\nDisallow: /\nLicense: https://e.com/l.xml", []),
        ("User-agent: x\nDisallow: /\n\nLicense: https://e.com/l.xml", ["https://e.com/l.xml"]),
        (
            "License: https://e.com/all\n\nUser-agent: webcrawl\nLicense: https://e.com/own",
            ["https://e.com/own"],
        ),
        ("License: https://e.com/1\nLicense: https://e.com/2", ["https://e.com/1", "https://e.com/2"]),
        ("License:", []),
    ],
)
def test_the_licences_of_a_robots_txt(text, urls):
    usage = read(text, ["webcrawl"])
    assert [line.url for line in usage.licenses] == urls if usage else urls == []


def test_of_two_names_of_the_crawler_the_more_restricted_one_counts():
    text = "User-agent: one\nContent-Usage: train-ai=y\nUser-agent: two\nContent-Usage: train-ai=n"
    assert resolve(read(text, ["one"]).statements("/")) == {"train-ai": "yes"}
    assert resolve(read(text, ["one", "two"]).statements("/")) == {"train-ai": "no"}


TOKENS = "User-agent: *\nAllow: /\nUser-agent: GPTBot\nUser-agent: Google-Extended\nDisallow: /a"


@each_row(
    ("token", "path", "expected"),
    [
        ("GPTBot", "/a", {"train-ai": "no"}),
        ("gptbot", "/a", {"train-ai": "no"}),
        ("GPTBot", "/b", {}),
        ("Google-Extended", "/a", {"train-ai": "no", "ai-input": "no"}),
        ("CCBot", "/a", {}),
    ],
)
def test_the_verdict_for_other_crawlers_is_a_proxy(token, path, expected):
    assert verdicts(TOKENS, path, tokens=[token]) == expected
    assert verdicts(TOKENS, path) == {}


def test_a_token_names_the_line_that_forbids():
    [statement] = statements(TOKENS, "/a", tokens=["GPTBot"])
    assert (statement.place, statement.text) == ("robots.txt:5", "GPTBot: Disallow: /a")


def test_one_file_for_all_paths_is_resolved_once():
    usage = read("User-agent: *\nContent-Usage: train-ai=n", ["webcrawl"])
    assert usage.statements("https://a/") is usage.statements("https://a/b")


@pytest.mark.parametrize("text", ["", "User-agent: *\nDisallow: /a", "<html>" * 1_000])
def test_a_file_without_such_lines_costs_nothing(text):
    assert read(text, ["webcrawl"]) is None


@each_row(
    "text",
    [
        "Content-Usage: /" + "*a" * 50_000 + " train-ai=n",
        "Content-Usage: /x" + "\t" * 100_000 + "y",
        "User-agent: *\n" + "Content-Usage: /*a*b*c train-ai=n\n" * 5_000,
        "License: " + "x" * 100_000,
        "content-usage" * 10_000,
        "License:" + "\n License: a" * 10_000,
    ],
)
def test_hostile_files_are_read_within_limits(text):
    usage = read(text, ["webcrawl"])
    stated = usage.statements("https://example.com/" + "a" * 5_000) if usage else ()
    assert usage is None or (sum(map(len, usage.rules)) <= 500 and len(usage.licenses) <= 10)
    assert all(len(each.text) <= 200 for each in stated)


@each_row("case", CASES, ids=[case.get("name", str(n)) for n, case in enumerate(CASES)])
def test_lines_about_use_change_no_verdict_of_allow_and_disallow(case):
    """Between any two lines of a file."""
    plain = RobotsRules(case["robots"], case.get("agent", "webcrawl"))
    for line in ("Content-Usage: /a train-ai=n", "Content-Signal: ai-train=no", "License: https://e.com/l"):
        written = RobotsRules(
            "\n".join(f"{each}\n{line}" for each in case["robots"].split("\n")),
            case.get("agent", "webcrawl"),
        )
        for url in (*case.get("allowed", []), *case.get("refused", [])):
            assert written.allows(url) == plain.allows(url)
