"""URLs whose robots.txt says that they may not be used are refused at their turn, and inline requests too."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from tests.rows import each_row
from tests.unit.frontier.test_active_key import BLOCKED_MAX, NOW, active, policies, robots
from webcrawl.features.usage import site_files
from webcrawl.frontier.inline import InlineRequest
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.robots.rules import RulesCache

TEXT = "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /y train-ai=y\nContent-Usage: /z search=n"


def refusing(*purposes):
    rules = RulesCache(10, "webcrawl", read_usage=site_files.read)
    plain = policies()
    return replace(plain, robots=replace(plain.robots, rules=rules, usage_refused=purposes))


@each_row(
    ("purposes", "refused", "given"),
    [
        (("train-ai",), ["x"], "y"),
        (("search",), [], "x"),
        (("train-ai", "search"), ["x"], "y"),
        (("tdm",), [], "x"),
        ((), [], "x"),
    ],
)
def test_the_rule_is_usage(purposes, refused, given):
    key = active("http://a/x", "http://a/y", "http://a/z", known=[robots("http://a", TEXT)])
    taken = key.pick(NOW, refusing(*purposes), BLOCKED_MAX)
    assert [(entry.url, rule) for entry, rule in taken.refused] == [
        (f"http://a/{path}", "usage") for path in refused
    ]
    assert taken.entry.url == f"http://a/{given}"


def test_a_sitemap_has_no_use_of_its_own():
    key = active(known=[robots("http://a", TEXT)])
    key.offer(UrlEntry("http://a/x", "a", 1, kind=Kind.SITEMAP))
    assert key.pick(NOW, refusing("train-ai"), BLOCKED_MAX).entry.url == "http://a/x"


def test_an_inline_request_is_turned_away():
    async def asked():
        key = active(known=[robots("http://a", TEXT)])
        inline = [InlineRequest(UrlEntry(f"http://a/{path}", "a", 1, kind=Kind.INLINE)) for path in "xy"]
        key.inline.extend(inline)
        taken = key.pick_inline(NOW, refusing("train-ai"))
        return inline, taken

    inline, taken = asyncio.run(asked())
    assert [(entry.url, rule) for entry, rule in taken.refused] == [("http://a/x", "usage")]
    assert taken.inline is inline[1]
    assert inline[0].answer.done()
