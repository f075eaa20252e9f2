"""The rules that explain two URLs with the same page, and what each does to further URLs."""

from tests.rows import each_row
from webcrawl.features.dust.rule import DustKind, explanations, rewriting_rules
from webcrawl.features.dust.url_parts import url_parts

PAIRS = [
    ("http://a.test/x?b=1", "http://a.test/x", {"parameter"}, "http://a.test/y?b=1", "http://a.test/y"),
    ("http://a.test/x?s=0a1b2c3d4e5f6071", "http://a.test/x", {"parameter"}, "http://a.test/y?s=99aa88bb77cc", "http://a.test/y"),
    ("http://a.test/x?a=1&b=2", "http://a.test/x?b=2&a=1", {"order"}, "http://a.test/y?d&c", "http://a.test/y?c&d"),
    ("http://a.test/x?a=1;b=2", "http://a.test/x?b=2;a=1", {"order"}, "http://a.test/y?d;c", "http://a.test/y?c;d"),
    ("http://a.test/x?a=1;b=2", "http://a.test/x?b=2", {"parameter"}, "http://a.test/y?a=1;b=3", "http://a.test/y?b=3"),
    ("http://a.test/x?f=1&f=2", "http://a.test/x?f=2&f=1", {"order"}, "http://a.test/y?f=4&f=3", "http://a.test/y?f=3&f=4"),
    ("http://a.test/d/index.html", "http://a.test/d/", {"index"}, "http://a.test/e/index.html", "http://a.test/e/"),
    ("http://a.test/d/x/", "http://a.test/d/x", {"slash"}, "http://a.test/d/y/", "http://a.test/d/y"),
    ("http://a.test/D/x", "http://a.test/d/X", {"case"}, "http://a.test/Y", "http://a.test/y"),
    ("http://www.a.test/x", "http://a.test/x", {"www"}, "http://www.a.test/y", "http://a.test/y"),
    ("http://a.test/x", "https://a.test/x", {"scheme"}, "http://a.test/y", "https://a.test/y"),
    ("http://a.test/x;jsessionid=1F", "http://a.test/x;jsessionid=2F", {"matrix"}, "http://a.test/y;jsessionid=3", "http://a.test/y"),
    ("http://a.test/s-1/x-1", "http://a.test/s-2/x-1", {"segment"}, "http://a.test/s-3/x-9", "http://a.test/*/x-9"),
]  # fmt: skip


@each_row(("one", "other", "kinds", "url", "form"), PAIRS)
def test_a_difference_is_explained_and_left_out_of_other_urls(one, other, kinds, url, form):
    rules = list(explanations(url_parts(one), url_parts(other)))
    assert {rule.kind for rule in rules} == kinds
    assert {rule.kind for rule in explanations(url_parts(other), url_parts(one))} == kinds
    for rule in rules:
        assert rule.form(url_parts(url)).url == form
        assert rule.may_change(url_parts(url).shape)
        assert rule.form(url_parts(one)) == rule.form(url_parts(other))
        assert str(rule).startswith("a.test")
        assert rule.id == type(rule)(rule.site, DustKind(rule.kind), rule.place, rule.name, rule.value).id


@each_row(
    ("one", "other"),
    [
        ("http://a.test/x", "http://b.test/x"),
        ("http://a.test/x?a=1", "http://a.test/y"),
        ("http://a.test/x-1", "http://a.test/x-2"),
        ("http://a.test/1/2/x", "http://a.test/3/4/x"),
        ("http://a.test/x?a=1&b=2&c=3&d=4", "http://a.test/x"),
        ("http://a.test:81/x", "http://a.test:82/x"),
        ("http://www.a.test/x", "https://a.test/x"),
    ],
)
def test_several_differences_or_other_pages_are_not_explained(one, other):
    assert list(explanations(url_parts(one), url_parts(other))) == []


@each_row(
    "url",
    [
        "http://a.test/list?ref=home",
        "http://a.test/item-1?ref=top",
        "http://a.test/item-1?ref=home&page=2",
        "http://a.test/item-1?ref=home&ref=home",
        "http://a.test/shop/item-1?ref=home",
    ],
)
def test_a_rule_of_a_parameter_is_for_its_place_and_its_value(url):
    [rule, _] = explanations(url_parts("http://a.test/item-7?ref=home"), url_parts("http://a.test/item-7"))
    assert rule.form(url_parts("http://a.test/item-8?ref=home")).url == "http://a.test/item-8"
    assert not rule.covers(url_parts(url))


def test_the_function_of_a_script_is_a_part_of_its_place():
    [rule, _] = explanations(
        url_parts("http://a.test/i.php?action=show&id=1&x=1"),
        url_parts("http://a.test/i.php?action=show&id=1"),
    )
    assert rule.covers(url_parts("http://a.test/i.php?action=show&id=2&x=1"))
    assert not rule.covers(url_parts("http://a.test/i.php?action=list&id=2&x=1"))


@each_row(
    "url",
    [
        "http://a.test/",
        "http://a.test/?q",
        "http://a.test//",
        "http://a.test/a//b/?x=1&&y",
        "https://a.test:8/a/b/",
    ],
)
def test_a_url_is_the_same_from_its_parts(url):
    assert url_parts(url).url == url


def test_long_urls_and_other_schemes_have_no_parts():
    assert url_parts("ftp://a.test/x") is None
    assert url_parts("http://a.test/" + "x" * 500) is None


REWRITINGS = [
    ("/t/a-topic-7/7", "/t/7", "/t/<*>/<#1>", "/t/<#1>", "/t/b-8/8", "/t/8"),
    ("/t/7/1", "/t/7", "/t/<#1>/1", "/t/<#1>", "/t/8/1", "/t/8"),
    ("/t/7/25", "/t/7?page=2", "/t/<#1>?page=2", "/t/<#1>/25", "/t/8?page=2", "/t/8/25"),
    (
        "/index.php?title=Top",
        "/wiki/Top",
        "/index.php?title=<1>",
        "/wiki/<1>",
        "/index.php?title=B",
        "/wiki/B",
    ),
    ("/?t=7&a=b&v=w", "/?t=7", "/?t=<#1>&a=b&v=w", "/?t=<#1>", "/?v=w&t=8&a=b", "/?t=8"),
    ("/s/?h=aa;w=aa", "/s/?h=aa", "/<1>/?h=<2>;w=<2>", "/<1>/?h=<2>", "/s/?w=b;h=b", "/s/?h=b"),
]


@each_row(("one", "other", "source", "target", "url", "form"), REWRITINGS)
def test_a_url_that_is_made_of_the_words_of_another_one_is_rewritten(one, other, source, target, url, form):
    one, other, url = (url_parts(f"http://a.test{each}") for each in (one, other, url))
    rules = list(rewriting_rules(one, other))
    assert rules == list(rewriting_rules(other, one))
    [rule] = [rule for rule in rules if (rule.place, rule.name) == (source, target)]
    assert rule.form(url).url == f"http://a.test{form}"
    assert rule.may_change(url.shape)
    assert rule.form(one) == rule.form(other)
    assert str(rule) == f"a.test{source}: the same as {target}"


@each_row(
    ("one", "other"),
    [
        ("http://a.test/t/a-7/7", "http://b.test/t/7"),
        ("http://a.test/about", "http://a.test/contact"),
        ("http://a.test/a/b/c/d/x-1", "http://a.test/y/x-1"),
    ],
)
def test_urls_without_common_words_or_with_too_many_others_are_not_rewritten(one, other):
    assert list(rewriting_rules(url_parts(one), url_parts(other))) == []


@each_row(
    "url",
    [
        "http://a.test/t/8/8",
        "http://a.test/t/b-topic/latest",
        "http://a.test/t/b-topic/8/",
        "http://a.test/u/b-topic/8",
        "http://a.test/t/b-topic/8?page=2",
    ],
)
def test_a_template_is_for_urls_of_its_form_only(url):
    [rule] = rewriting_rules(url_parts("http://a.test/t/a-topic-7/7"), url_parts("http://a.test/t/7"))
    assert not rule.covers(url_parts(url))
