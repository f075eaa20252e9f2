"""What is remembered of hosts, and by which digests their pages are compared."""

from webcrawl.features.mirrors.evidence import (
    ORIGIN_LENGTH_MAX,
    PAGES_PER_ORIGIN,
    MirrorEvidence,
    PageMark,
    Sign,
    body_digests,
    split,
)

A, B = "http://a.test", "http://b.test:8080"


def mark(origin, target, text, at=1.0):
    return PageMark(target, *body_digests(text.encode(), origin), at)


def test_urls_are_cut_behind_their_origin():
    rows = {
        "http://a.test/": ("http://a.test", "/"),
        "https://a.test:8/x?y=/z": ("https://a.test:8", "/x?y=/z"),
        "ftp://a.test/x": None,
        f"http://{'a' * ORIGIN_LENGTH_MAX}/": None,
        f"http://a.test/{'x' * 3000}": None,
    }
    assert {url: split(url) for url in rows} == rows


def test_bodies_are_equal_if_they_differ_in_the_name_of_their_own_host_in_urls_alone():
    rows = {
        ('<a href="http://a.test/x">', '<a href="http://b.test:8080/x">'): True,
        ('<a href="//a.test/x">', '<a href="//b.test:8080/x">'): True,
        ('<a href="https://a.test">', '<a href="http://b.test:8080">'): True,
        ('<a href="/x">', '<a href="http://b.test:8080/x">'): True,
        ('<a href="http://a.test/x">', '<a href="http://a.test/x">'): True,
        ('<a href="http://a.test/x">', '<a href="http://b.test:8080/y">'): False,
        ('<a href="http://a.test.evil/">', '<a href="http://b.test:8080.evil/">'): False,
        ("we are a.test", "we are b.test:8080"): False,
        ("one", "two"): False,
    }
    assert {(one, other): mark(A, "/", one).equals(mark(B, "/", other)) for one, other in rows} == rows


def test_signs_are_published_once_there_are_two_and_again_when_one_changes():
    evidence = MirrorEvidence()
    evidence.robots(A, "User-agent: *\nDisallow: /x\n")
    assert evidence.take_signs() == []
    evidence.page(A, mark(A, "/deep", "deep"), "192.0.2.1")
    [(origin, signs)] = evidence.take_signs()
    assert (origin, set(signs)) == (A, {Sign.ROBOTS, Sign.ADDRESS})
    evidence.page(A, mark(A, "/other", "other"), "192.0.2.1")
    assert evidence.take_signs() == []
    evidence.page(A, mark(A, "/", "home"), "192.0.2.1")
    [(_, signs)] = taken = evidence.take_signs()
    assert set(signs) == {Sign.ROBOTS, Sign.ADDRESS, Sign.HOME}
    evidence.give_back(taken)
    assert evidence.take_signs() == taken


def test_an_empty_robots_txt_is_no_sign():
    evidence = MirrorEvidence()
    evidence.robots(A, " \n")
    evidence.page(A, mark(A, "/x", "x"), "192.0.2.1")
    assert evidence.take_signs() == []


def test_robots_txt_that_name_their_own_host_are_equal():
    one, other = MirrorEvidence(), MirrorEvidence()
    for evidence, origin in ((one, A), (other, B)):
        evidence.robots(origin, f"Disallow:\nSitemap: {origin}/sitemap.xml\n")
        evidence.page(origin, mark(origin, "/x", "x"), "192.0.2.1")
    [(_, first)], [(_, second)] = one.take_signs(), other.take_signs()
    assert first == second


def test_the_memory_of_a_host_is_bounded():
    evidence = MirrorEvidence()
    for number in range(PAGES_PER_ORIGIN + 10):
        evidence.page(A, mark(A, f"/{number}", str(number)), None)
    pages = list(evidence.pages(A))
    assert len(pages) == PAGES_PER_ORIGIN
    assert pages[0].target == "/10"


def test_what_was_not_read_says_nothing():
    read, other = mark(A, "/", "<a href='http://a.test/x'>"), mark(B, "/", "<a href='http://b.test:8080/x'>")
    unread = PageMark("/", *body_digests(b"<a href='http://b.test:8080/x'>", B, reads_all=False), 1.0)
    assert read.equals(other)
    assert not read.equals(unread)
    assert read.may_equal(unread)
    assert other.equals(unread)
    assert not read.may_equal(mark(B, "/", "other"))
