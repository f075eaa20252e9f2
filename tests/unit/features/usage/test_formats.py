"""The examples of each format's description, and what is not in them."""

from __future__ import annotations

import json

from tests.rows import each_row
from webcrawl.features.usage import content_signal, content_usage, robots_controls, rsl, tdmrep
from webcrawl.features.usage.statements import resolve
from webcrawl.robots.rules import comparable

BIG = 100_000


@each_row(
    ("value", "meaning"),
    [
        # draft-ietf-aipref-vocab-07, sections 6 and 6.5; draft-ietf-aipref-attach-05, section 1.2
        ("train-ai=y, search=n", {"train-ai": True, "search": False}),
        ('train-ai=y, train-ai, search=n, search="n"', {}),
        ("train-ai;allow=n, train-ai=y", {"train-ai": True}),
        ('train-ai;has;parameters="?";', {}),
        ("train-ai=n", {"train-ai": False}),
        # Unknown labels and parameters, tokens and types; case; no dictionary at all
        ("bots=n, train-ai=n, tdm=y", {"train-ai": False}),
        ("train-ai=n;why=licence", {"train-ai": False}),
        ("train-ai=N", {}),
        ("train-ai=no", {}),
        ("train-ai=?0", {}),
        ("train-ai=(n)", {}),
        ("Train-AI=n", {}),
        ("train-ai=n search=n", {}),
        ("train-ai=n,", {}),
        ("", {}),
        ("train-ai=n, é=y", {}),
        ("train-ai=n, \ud800", {}),
        ("train-ai=n" + " " * BIG, {}),
    ],
)
def test_content_usage(value, meaning):
    assert dict(content_usage.parse_meaning(value)) == meaning


def test_lines_of_the_field_are_one_value():
    """RFC 9651, section 4.2: of a key in two lines the last one counts."""
    [statement] = content_usage.in_header(["train-ai=n", "train-ai=y, search=n"])
    assert dict(statement.meaning) == {"train-ai": True, "search": False}


@each_row(
    ("value", "meaning"),
    [
        ("search=yes, ai-train=no", {"search": True, "train-ai": False}),
        (
            "search=yes, ai-input=no, ai-train=no",
            {"search": True, "ai-input": False, "train-ai": False},
        ),
        ("search=yes,ai-train=no,use=reference", {"search": True, "train-ai": False}),
        ("AI-Train = No ; Search=YES", {"train-ai": False, "search": True}),
        ("ai-train=yes, ai-train=no", {"train-ai": False}),
        ("ai-train=no, ai-train=yes", {"train-ai": False}),
        ("ai-train=n, train-ai=no, ai-train, =no", {}),
        ("x," * BIG + "ai-train=no", {}),
    ],
)
def test_content_signal(value, meaning):
    assert dict(content_signal.parse_meaning(value)) == meaning


RESERVED = {"tdm": False, "train-ai": False}


@each_row(
    ("value", "meaning"),
    [("1", RESERVED), (" 1 ", RESERVED), (1, RESERVED), ("0", {"tdm": True}), (0, {"tdm": True})]
    + [(value, {}) for value in ("2", "true", "", None, True, False, [1], "01")],
)
def test_a_reservation(value, meaning):
    assert dict(tdmrep.parse_meaning(value)) == meaning


def test_the_examples_of_tdmrep_in_fields_and_elements():
    policy = "https://provider.com/policies/policy.json"
    header = tdmrep.in_header(["1"], [policy])
    assert [(each.text, dict(each.meaning)) for each in header] == [
        ("tdm-reservation: 1", RESERVED),
        (f"tdm-policy: {policy}", {}),
    ]
    metas = [("charset", "utf-8"), ("tdm-reservation", "1"), ("tdm-policy", policy)]
    assert [(each.text, dict(each.meaning)) for each in tdmrep.in_meta(metas)] == [
        ("tdm-reservation: 1", RESERVED),
        (f"tdm-policy: {policy}", {}),
    ]
    assert tdmrep.in_header([], []) == tdmrep.in_meta([("description", "1")]) == []


def test_of_two_values_in_one_place_the_reservation_counts():
    assert resolve(tdmrep.in_header(["0", "1"], [])) == {"tdm": "no", "train-ai": "no"}
    assert resolve(tdmrep.in_header(["0, 1"], [])) == {"tdm": "no", "train-ai": "no"}


GROUPS = json.dumps(
    [
        {"location": "/directory-a/", "tdm-reservation": 1},
        {
            "location": "/directory-b/html/",
            "tdm-reservation": 1,
            "tdm-policy": "https://provider.com/policies/policy.json",
        },
        {"location": "/directory-b/images/*.jpg", "tdm-reservation": 0},
    ]
)


@each_row(
    ("body", "path", "verdict"),
    [
        ('[{"location": "/", "tdm-reservation": 1}]', "/any/page?x=1", "no"),
        (GROUPS, "/directory-a/paper.pdf", "no"),
        (GROUPS, "/directory-b/html/x", "no"),
        (GROUPS, "/directory-b/images/x.jpg", "yes"),
        (GROUPS, "/directory-b/images/x.png", None),
        (GROUPS, "/", None),
        # The first match in sequence counts
        ('[{"location": "/a", "tdm-reservation": 0}, {"location": "/", "tdm-reservation": 1}]', "/ab", "yes"),
        ('[{"location": "/", "tdm-reservation": 1}, {"location": "/a", "tdm-reservation": 0}]', "/ab", "no"),
        ('[{"location": "/exactly$", "tdm-reservation": 1}]', "/exactly", "no"),
        ('[{"location": "/exactly$", "tdm-reservation": 1}]', "/exactly/not", None),
        ('[{"location": "/foo-%24", "tdm-reservation": 1}]', "/foo-$", "no"),
        ('[{"location": "/A", "tdm-reservation": 1}]', "/a", None),
        # No protocol error stops the other rules
        (
            '[1, {}, {"location": 5, "tdm-reservation": 1}, {"location": "/", "tdm-reservation": "1"}]',
            "/",
            "no",
        ),
        ('{"location": "/", "tdm-reservation": 1}', "/", None),
        ("<html>", "/", None),
        ("[" * BIG, "/", None),
        ('[{"location": "/", "tdm-reservation": 1}]' + " " * 300_000, "/", None),
    ],
)
def test_the_file_of_tdmrep(body, path, verdict):
    statements = tdmrep.in_file(tdmrep.parse_file(body), comparable(f"https://provider.com{path}"))
    assert resolve(statements).get("tdm") == verdict


def licensed(inner, url="/", attributes=""):
    return (
        f'<rsl xmlns="https://rslstandard.org/rsl"><content url="{url}" {attributes}>'
        f"<license>{inner}</license></content></rsl>"
    ).encode()


def verdicts_of(body, url="https://example.com/page"):
    return resolve(rsl.in_file(rsl.parse_file(body, "https://example.com/l.xml"), comparable(url)))


NONE = {"search": "no", "ai-input": "no", "train-ai": "no", "tdm": "no"}


@each_row(
    ("inner", "verdicts"),
    [
        ('<permits type="usage">all</permits>', dict.fromkeys(NONE, "yes")),
        ('<permits type="usage">search</permits>', NONE | {"search": "yes"}),
        ('<permits type="usage">ai-train search</permits>', NONE | {"search": "yes", "train-ai": "yes"}),
        ('<permits type="usage">ai-all</permits>', NONE | {"ai-input": "yes", "train-ai": "yes"}),
        ('<permits type="usage">ai-index</permits>', NONE),
        ('<prohibits type="usage">ai-train</prohibits>', {"train-ai": "no"}),
        ('<prohibits type="usage">ai-all</prohibits>', {"train-ai": "no", "ai-input": "no"}),
        (
            '<permits type="usage">all</permits><prohibits type="usage">ai-train</prohibits>',
            dict.fromkeys(NONE, "yes") | {"train-ai": "no"},
        ),
        # Without a payment, a report or a token there is no licence
        ('<permits type="usage">search</permits><payment type="crawl"><amount>1</amount></payment>', NONE),
        ('<permits type="usage">search</permits><payment type="free"/>', NONE | {"search": "yes"}),
        ('<permits type="usage">search</permits><payment type="attribution"/>', NONE | {"search": "yes"}),
        ('<permits type="usage">search</permits><reporting type="audit" profile="x"/>', NONE),
        # Who the user is, and where, is not known
        (
            '<permits type="usage">search</permits><permits type="user">education</permits>',
            {"ai-input": "no", "train-ai": "no", "tdm": "no"},
        ),
        (
            '<permits type="usage">search</permits><prohibits type="geo">DE FR</prohibits>',
            {"ai-input": "no", "train-ai": "no", "tdm": "no"},
        ),
        # Nobody may what is prohibited
        (
            '<prohibits type="usage">ai-train</prohibits><permits type="user">education</permits>',
            {"train-ai": "no"},
        ),
        # Two licences are two offers
        (
            '<permits type="usage">search</permits></license><license>'
            '<permits type="usage">ai-train</permits><payment type="training"/>',
            NONE | {"search": "yes"},
        ),
        ("", {}),
        ('<x:permits xmlns:x="https://example.com/" type="usage">all</x:permits>', {}),
        ('<permits type="usage">unheard-of</permits>', NONE),
    ],
)
def test_a_licence(inner, verdicts):
    assert verdicts_of(licensed(inner)) == verdicts


def test_conditions_by_user_and_country_are_recorded():
    inner = (
        '<permits type="usage">search</permits><permits type="user">education</permits>'
        '<prohibits type="geo">US</prohibits>'
    )
    [content] = rsl.parse_file(licensed(inner), "https://example.com/l.xml")
    text = content.statement.text
    assert text == "/ permits user: education; prohibits geo: US; permits usage: search"


def test_all_contents_that_match_count_together_and_the_most_restrictive_decides():
    body = (
        b'<rsl xmlns="https://rslstandard.org/rsl">'
        b'<content url="/"><license><prohibits type="usage">all</prohibits></license></content>'
        b'<content url="https://example.com/open/*"><license><permits type="usage">all</permits></license></content>'
        b"</rsl>"
    )
    assert verdicts_of(body) == NONE
    assert verdicts_of(body, "https://example.com/open/x") == NONE
    # The example of section 3.1.2
    body = (
        b'<rsl xmlns="https://rslstandard.org/rsl">'
        b'<content url="/articles/"><license><prohibits type="usage">ai-train</prohibits></license></content>'
        b'<content url="/"><license><permits type="usage">all</permits></license></content>'
        b"</rsl>"
    )
    assert verdicts_of(body) == dict.fromkeys(NONE, "yes")
    assert verdicts_of(body, "https://example.com/articles/1") == dict.fromkeys(NONE, "yes") | {
        "train-ai": "no"
    }


def test_a_licence_server_wants_a_token():
    body = licensed('<permits type="usage">all</permits>', attributes='server="https://example.com/olp"')
    assert verdicts_of(body) == NONE


@each_row(
    "body",
    [
        b"",
        b"<html><body>not found</body></html>",
        b"<rsl><content url='/'><license><prohibits type='usage'>all</prohibits></license></content></rsl>",
        b'<!DOCTYPE rsl [<!ENTITY a "b">]>' + licensed('<prohibits type="usage">all</prohibits>'),
        licensed('<prohibits type="usage">all</prohibits>')[:-3],
        licensed("<x>" * 1_000 + "</x>" * 1_000 + '<prohibits type="usage">all</prohibits>'),
        licensed('<prohibits type="usage">all</prohibits>') + b" " * 300_000,
        b'<?xml version="1.0" encoding="unheard-of"?>' + licensed('<prohibits type="usage">all</prohibits>'),
        b"<permits/>" * BIG,
    ],
)
def test_what_is_no_licence_file_says_nothing(body):
    assert rsl.parse_file(body, "https://example.com/l.xml") == ()


def test_a_long_text_is_cut():
    body = licensed('<permits type="usage">' + "search " * 10_000 + "</permits>")
    [content] = rsl.parse_file(body, "https://example.com/l.xml")
    assert len(content.statement.text) <= 200


@each_row(
    ("line", "texts"),
    [
        (
            '<https://example.com/l.xml>; rel="license"; type="application/rsl+xml"',
            ["Link: <https://example.com/l.xml>; rel=license"],
        ),
        ("<a>; rel=next, <b>; rel=license", ["Link: <b>; rel=license"]),
        ('<a>; rel="license canonical"', ["Link: <a>; rel=license"]),
        ("<a>; rel=next", []),
        ("license", []),
        ("<a>; rel=next, " * BIG, []),
    ],
)
def test_licences_in_link_fields(line, texts):
    statements = rsl.in_links([line])
    assert [each.text for each in statements] == texts
    assert resolve(statements) == {}


@each_row(
    ("lines", "newer", "agent", "verdicts"),
    [
        # draft-illyes-repext-03, section 3.1.1
        ([], ["*;nosnippet, ExampleBot;noindex"], "webcrawl", {"ai-input": "no"}),
        ([], ["*;nosnippet, ExampleBot;noindex"], "examplebot", {"search": "no", "ai-input": "no"}),
        ([], ["*;max-snippet=0"], "webcrawl", {"ai-input": "no"}),
        ([], ["*;max-snippet=50"], "webcrawl", {}),
        ([], ["noai"], "webcrawl", {"ai-input": "no", "train-ai": "no"}),
        (["noai, noarchive"], [], "webcrawl", {"ai-input": "no", "train-ai": "no"}),
        (["otherbot: noai"], [], "webcrawl", {}),
        (["webcrawl: noai"], [], "webcrawl", {"ai-input": "no", "train-ai": "no"}),
        (["noimageai"], [], "webcrawl", {}),
        (["max-snippet:0"], [], "webcrawl", {"ai-input": "no"}),
        (["max-snippet: -1, nosnippetx"], [], "webcrawl", {}),
        (["none"], [], "webcrawl", {"search": "no"}),
        (["x, " * BIG], [], "webcrawl", {"search": "no", "ai-input": "no", "train-ai": "no"}),
    ],
)
def test_robots_directives_about_use(lines, newer, agent, verdicts):
    assert resolve(robots_controls.in_header(lines, newer, [agent])) == verdicts


def test_noimageai_decides_about_images_alone():
    assert resolve(robots_controls.in_header(["noimageai"], [], [], is_image=True)) == {
        "ai-input": "no",
        "train-ai": "no",
    }
    assert [each.text for each in robots_controls.in_meta(["noimageai, noarchive, index"])] == [
        "robots: noimageai",
        "robots: noarchive",
    ]
