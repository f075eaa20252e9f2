"""The whitelist: what a name covers, how names may be written, and that a long list is small and quick."""

import sys
import tracemalloc
from pathlib import Path

import pytest

from tests.rows import each_row
from webcrawl.scope.scope import Candidate
from webcrawl.scope.whitelist import KEPT_WRONG_LINES, Whitelist, WhitelistError, WhitelistRule


@each_row(
    ("name", "covered", "others"),
    [
        (
            "example.com",
            "example.com www.example.com a.b.example.com example.com.",
            "com example.org badexample.com",
        ),
        ("www.example.com", "example.com www.example.com blog.example.com", "example.org"),
        (
            "blog.example.com",
            "blog.example.com a.blog.example.com",
            "example.com www.example.com xblog.example.com",
        ),
        ("www.blog.example.com", "blog.example.com www.blog.example.com", "example.com"),
        ("bbc.co.uk", "www.bbc.co.uk", "co.uk itv.co.uk"),
        ("github.io", "github.io", "someone.github.io"),
        ("someone.github.io", "someone.github.io www.someone.github.io", "other.github.io github.io"),
        ("www.com", "www.com a.www.com", "example.com"),
        ("site1.test", "site1.test www.site1.test", "site2.test test"),
        ("localhost", "localhost", "h1.localhost"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.2 126.0.0.1"),
        ("[::1]", "[::1]", "[::2]"),
        ("bücher.de", "xn--bcher-kva.de www.xn--bcher-kva.de", "bcher.de"),
    ],
)
def test_a_name_covers_its_domain_or_if_it_is_longer_itself_and_below(name, covered, others):
    whitelist = Whitelist(name)
    assert [host for host in covered.split() if not whitelist.covers(host)] == []
    assert [host for host in others.split() if whitelist.covers(host)] == []


@pytest.mark.parametrize(
    "written",
    [
        "Example.COM",
        "example.com.",
        "http://example.com",
        "https://WWW.example.com/index.html?a#b",
        "example.com:80",
        "*.example.com",
        "www.example.com.",
        " example.com ",
        "1,example.com",
        "17,www.example.com",
    ],
)
def test_a_name_may_be_written_in_many_ways_in_a_file(tmp_path, written):
    file = tmp_path / "domains"
    file.write_text(f"# mine\r\n{written} # why\r\n")
    whitelist = Whitelist(str(file))
    assert whitelist.covers("blog.example.com")
    assert not whitelist.wrong


def test_names_may_be_given_in_a_list():
    whitelist = Whitelist("example.com, WWW.example.org,")
    assert len(whitelist) == 2
    assert whitelist.covers("www.example.org")
    assert list(whitelist.names()) == ["example.com", "www.example.org"]


def test_a_list_may_be_longer_than_the_name_of_a_file():
    names = [f"host{number}.example" for number in range(1000)]
    assert all(map(Whitelist(",".join(names)).covers, names))


def test_the_rule_refuses_hosts_that_are_not_covered():
    rule = WhitelistRule(Whitelist("example.com"))
    assert rule.refuses(Candidate("http://a.example.com/", "a.example.com", "example.com")) is None
    assert rule.refuses(Candidate("http://h.test/", "h.test", "h.test")) == "not one of the domains"


def test_wrong_lines_are_counted_and_the_first_are_kept(tmp_path):
    file = tmp_path / "domains"
    file.write_text("example.com\n\nnot a name\n" + "a@b.com\n" * 100)
    whitelist = Whitelist(str(file))
    assert len(whitelist) == 1
    assert whitelist.wrong_count == 101
    assert len(whitelist.wrong) == KEPT_WRONG_LINES
    assert str(whitelist.wrong[0]) == "line 3: not a domain name: not a name"


@each_row(
    "source", ["domains.txt", "no/such/file", "example.com,domains.lst", "wiki.corp", "a b", "com", "a\0b"]
)
def test_a_file_that_is_not_there_is_not_taken_for_a_name(source):
    with pytest.raises(WhitelistError, match="neither a file nor a name under a known public suffix"):
        Whitelist(source)


def test_a_name_of_ones_own_network_can_be_given_with_a_scheme():
    assert Whitelist("http://wiki.corp").covers("wiki.corp")


@pytest.mark.parametrize("source", ["", ",", " , "])
def test_an_empty_list_is_an_error(source):
    with pytest.raises(WhitelistError, match="the list of domains is empty"):
        Whitelist(source)


@pytest.mark.parametrize("content", ["", "# nothing\n", "only wrong lines\n"])
def test_a_file_without_names_is_an_error(tmp_path, content):
    file = tmp_path / "domains"
    file.write_text(content)
    with pytest.raises(WhitelistError, match="there is no domain name in"):
        Whitelist(str(file))


def test_a_directory_is_an_error(tmp_path):
    with pytest.raises(WhitelistError, match="Is a directory"):
        Whitelist(str(tmp_path))


def test_the_names_are_read_again_for_their_roots(tmp_path):
    file = tmp_path / "domains"
    file.write_text("Example.com\n2,www.example.org\nwrong line\nhttps://H.test:8443/a/b\n3,C.test:8080\n")
    whitelist = Whitelist(str(file))
    assert (
        list(whitelist.names())
        == list(whitelist.names())
        == [
            "example.com",
            "www.example.org",
            "h.test",
            "c.test",
        ]
    )
    assert list(whitelist.roots()) == [
        "http://example.com/",
        "http://www.example.org/",
        "https://h.test:8443/",
        "http://c.test:8080/",
    ]
    file.unlink()
    with pytest.raises(WhitelistError, match="No such file"):
        list(whitelist.names())


@pytest.fixture(scope="module")
def long_list(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("whitelist") / "domains"
    file.write_text("".join(f"site{number}.example{number % 7}.com\n" for number in range(100_000)))
    return file


@pytest.mark.slow
def test_a_long_list_takes_eight_bytes_a_name_and_answers_exactly(long_list):
    tracemalloc.start()
    try:
        whitelist = Whitelist(str(long_list))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(whitelist) == 100_000
    assert sys.getsizeof(whitelist._hashes) < 8.2 * 100_000
    assert kept < 12 * 100_000
    assert all(
        whitelist.covers(f"www.site{number}.example{number % 7}.com") for number in range(0, 100_000, 97)
    )
    assert not any(
        whitelist.covers(f"site{number}.example{(number + 1) % 7}.com") for number in range(0, 100_000, 97)
    )
    assert sum(1 for _ in whitelist.names()) == 100_000
