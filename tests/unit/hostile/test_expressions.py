"""No regular expression that sees bytes of the web takes more than linear time, whatever they are.

The expressions are found in the code, so that a new one is tried too. Time is the CPU time of the thread, and its
limit is twenty times that of the slowest linear expression.
"""

import re

import pytest

from tests.rows import each_row
from tests.unit.hostile.expressions import excess, expressions, hostile_texts, modules

OPERATORS = {
    "config": "settings",
    "commands": "command lines; those in `SHOWING` are tried all the same",
    "politeness.contact": "USER_AGENT and CRAWLER_CONTACT",
    "feeds": "FEEDS",
    "features.checkpoints": "names of folders",
    "web.service": "orders to the service, which have a limit of their own",
    "fetching.resolver": "DNS_NAMESERVERS",
    "reports.botpage": "pages of the operator",
    "scope.patterns": "expressions in settings, which re2 compiles",
    "scope.whitelist": "WHITELIST",
    "storage": "names of keys in Redis",
    "rotated_log": "names of files",
    "urls.lists": "files of the operator",
    "urls.seeds": "seeds",
}
"""Modules whose expressions see only what an operator wrote, and that."""

SHOWING = {"commands.cat", "commands.search"}
"""Commands whose expressions see stored heads and texts of the web."""

USED_IN = {
    "archive.cdxj": ("fullmatch", "the expressions in a tuple are only used so"),
    "features.traps.pattern": ("fullmatch", "`_is_session` gets the expression that decides"),
}
"""How expressions are used whose names do not say it."""

BOUNDED = {
    r"(.*)(?:cfid=[^&]+&cftoken=[^&]+)(?:&(.*))?": "URLLENGTH_LIMIT; it is pywb's, and 8 kB take 20 ms",
    r"""rel\s*+=\s*+["']?[^"'<>]*+\Z""": "REL_MAX bytes before a word",
}
"""Expressions that may take longer, and what limits the text that they get."""

AT_RUN_TIME = {
    "archive.cdxj": "the parameters of sessions, a tuple that is tried as such",
    "features.focus.classifiers": "the topics of FOCUS",
    "processing.visible_text": "the names of three attributes, a dictionary that is tried as such",
    "reports.logs": "the names of hosts that an operator asked for",
    "scope.url_rules": "the argument `allow`, of the operator",
    "urls.canonical": "a selection of the expressions in `_SUSPECTS`",
}
"""Modules with an expression that is made at run time, and of what."""


def is_of(module, table):
    return any(module == name or module.startswith(f"{name}.") for name in table)


def sees_the_web(module):
    return module in SHOWING or not is_of(module, OPERATORS)


@pytest.fixture(scope="module")
def web():
    """The expressions that see bytes of the web."""
    return [each for each in expressions() if sees_the_web(each.module)]


def uses(expression):
    """The functions by which an expression is used; of those that go on behind a match, one."""
    ways = USED_IN.get(expression.module, [None])[0]
    pattern = expression.pattern
    for way in [ways] if ways and len(expression.ways) > 2 else expression.ways:
        if way in ("match", "fullmatch", "search"):
            yield getattr(pattern, way)
        else:
            yield lambda text: [None for _ in pattern.finditer(text)]


@pytest.mark.slow
def test_every_expression_is_known(web):
    assert {each.module for each in web if each.pattern is None} == set(AT_RUN_TIME)
    assert {
        name for name in OPERATORS if not any(is_of(each.module, [name]) for each in expressions())
    } == set()
    patterns = {
        each.pattern.pattern
        if isinstance(each.pattern.pattern, str)
        else each.pattern.pattern.decode("latin-1")
        for each in web
        if each.pattern is not None
    }
    assert set(BOUNDED) <= patterns


@each_row("module", sorted(filter(sees_the_web, modules())))
def test_every_expression_takes_linear_time(web, module):
    slow = {}
    for expression in web:
        if expression.module != module or expression.pattern is None:
            continue
        pattern, flags = expression.pattern.pattern, expression.pattern.flags
        text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
        if text in BOUNDED:
            continue
        for use in uses(expression):
            if found := excess(use, lambda length, p=pattern, f=flags: hostile_texts(p, f, length)):
                slow[text] = found
    assert slow == {}


@pytest.mark.slow
@each_row(
    ("expression", "way", "length"),
    [
        (rb"[^\r\n ]*\bunique=[^;\r\n]+;", "match", 40_000),
        (r"\s+(?=[AaPp][Mm])", "sub", 4_000),
        (r"""([^\s=/"'<>]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>]++))""", "sub", 8_000),
        (r"<title\b[^>]*>(.*?)</title", "search", 8_000),
        (r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", "fullmatch", 2_000),
    ],
)
def test_an_expression_that_is_not_linear_is_found(expression, way, length):
    pattern = re.compile(expression)
    use = getattr(pattern, way) if way != "sub" else lambda text: [None for _ in pattern.finditer(text)]
    assert excess(use, lambda length: hostile_texts(expression, pattern.flags, length), length, sizes=())
