"""Seeds from wherever they come: good ones resolved, bad ones named with their line, nothing lost."""

import contextlib
import io
import os
import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.urls.seeds import BadSeed, Seed, SeedsError, read_seeds


def read(content: bytes) -> list[Seed | BadSeed]:
    return list(read_seeds("-", io.BytesIO(content)))


@each_row(
    ("line", "url"),
    [
        ("http://h.test", "http://h.test/"),
        ("  HTTPS://H.test/a b#c  ", "https://h.test/a%20b"),
        ("http://h.test/a # why", "http://h.test/a"),
        ("http://h.test/#fragment", "http://h.test/"),
        ("http:h.test", "http://h.test/"),
        ("http://user:pass@h.test/", "http://h.test/"),
        ("http://h.test/a,b", "http://h.test/a,b"),
        ("example.com", "http://example.com/"),
        ("WWW.Example.CO.UK", "http://www.example.co.uk/"),
        ("bücher.de", "http://xn--bcher-kva.de/"),
        ("example.com:8080", "http://example.com:8080/"),
        ("WWW.Example.CO.UK.:80", "http://www.example.co.uk/"),
        ("example.com:443", "https://example.com/"),
        ("localhost:8000", "http://localhost:8000/"),
        ("h.test:8080", "http://h.test:8080/"),
        ("10.0.0.5:8080", "http://10.0.0.5:8080/"),
        ("[::1]:8080", "http://[::1]:8080/"),
    ],
)
def test_a_line_gives_a_resolved_url(line, url):
    assert read(line.encode()) == [Seed(url, 1)]


@each_row(
    "line",
    [
        "h.test",
        "localhost",
        "com:80",
        "word:80",
        "example.com:99999",
        "example.com:",
        "a:b@example.com:80",
        "::1:8080",
        "javascript:80",
        "example.com/a",
        "//example.com/",
        "com",
        "/etc/x",
        "ftp://h.test/",
        "mailto:a@example.com",
        "http://",
        "http://a b/",
        "http://h:99999/",
        "http://1.2.3.999/",
        "word",
        "two words",
        "1,example.com",
        "192.0.2.1",
        "\x00\x01",
        "javascript:alert(1)",
        "<a href='http://h/'>",
    ],
)
def test_a_line_that_is_no_url_is_named_with_its_number_and_the_rest_goes_on(line):
    first, bad, last = read(f"http://a.test/\n\n{line}\nhttp://b.test/".encode())
    assert first == Seed("http://a.test/", 1)
    assert isinstance(bad, BadSeed)
    assert bad.line == 3
    assert bad.reason
    assert bad.text.isprintable()
    assert last == Seed("http://b.test/", 4)


def test_the_reason_tells_a_missing_scheme_from_a_broken_url():
    missing, broken = read(b"foo/bar\nhttp://a b/\n")
    assert missing == BadSeed("foo/bar", 1, "does not begin with http:// or https://")
    assert broken == BadSeed("http://a b/", 2, "no browser takes it for a URL")


def test_an_overlong_line_is_bad_and_shown_in_part():
    (bad,) = read(b"http://h.test/" + b"x" * 100_000)
    assert isinstance(bad, BadSeed)
    assert "longer" in bad.reason
    assert len(bad.text) == 200


@given(st.binary(min_size=1))
def test_no_bytes_make_reading_seeds_raise_anything_but_that_there_are_none(content):
    with contextlib.suppress(SeedsError):
        assert read(content)


@each_row(
    ("source", "urls"),
    [
        ("http://h.test/", ["http://h.test/"]),
        ("http://h.test/a,b", ["http://h.test/a,b"]),
        ("http://h.test/,https://o.test/a,b", ["http://h.test/", "https://o.test/a,b"]),
        ("http://h.test/, https://o.test/", ["http://h.test/", "https://o.test/"]),
        ("http://h.test/,", ["http://h.test/"]),
        ("HTTP://H.TEST", ["http://h.test/"]),
        ("http:h.test", ["http://h.test/"]),
        ("example.com", ["http://example.com/"]),
        ("example.com,example.org", ["http://example.com/", "http://example.org/"]),
        ("example.com,http://h.test/", ["http://example.com/", "http://h.test/"]),
    ],
)
def test_a_list_is_split_where_the_next_url_begins(source, urls):
    assert list(read_seeds(source)) == [Seed(url, place) for place, url in enumerate(urls, start=1)]


def test_a_bad_url_in_a_list_is_named_with_its_place():
    good, bad = read_seeds("http://h.test/,ftp://o.test/")
    assert good == Seed("http://h.test/", 1)
    assert bad == BadSeed("ftp://o.test/", 2, "does not begin with http:// or https://")


def test_seeds_are_read_from_a_file(tmp_path):
    file = tmp_path / "seeds.txt"
    file.write_bytes(b"\xef\xbb\xbf# my seeds\r\nhttp://h.test/\r\n")
    assert list(read_seeds(str(file))) == [Seed("http://h.test/", 2)]


def test_a_file_called_like_a_host_is_read_as_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example.com").write_text("http://h.test/\n")
    assert list(read_seeds("example.com")) == [Seed("http://h.test/", 1)]


def test_seeds_are_read_from_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"http://h.test/\n")))
    assert list(read_seeds("-")) == [Seed("http://h.test/", 1)]
    assert not sys.stdin.buffer.closed


@each_row("source", ["seeds.txt", "no/such/file", "notes.html,more.html", "a\0b"])
def test_a_file_that_is_not_there_is_named_at_once(source):
    with pytest.raises(SeedsError, match="cannot read the seeds in"):
        read_seeds(source)


def test_a_directory_is_no_list_of_seeds(tmp_path):
    with pytest.raises(SeedsError, match="it is a directory"):
        read_seeds(str(tmp_path))


@pytest.mark.parametrize("source", ["", "  "])
def test_no_source_is_no_seeds(source):
    with pytest.raises(SeedsError, match="no seeds were given"):
        read_seeds(source)


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    file = tmp_path / "secret"
    file.touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(SeedsError, match=r"secret.*permission denied"):
        read_seeds(str(file))


def test_a_file_that_fails_while_it_is_read_is_named(tmp_path):
    file = tmp_path / "seeds"
    file.touch()
    seeds = read_seeds(str(file))
    file.unlink()
    with pytest.raises(SeedsError, match="No such file"):
        list(seeds)


@pytest.mark.parametrize("content", [b"", b"\n\r\n", b"# only\n#comments", b"\xef\xbb\xbf"])
def test_a_file_with_nothing_in_it_is_an_error_and_a_file_of_bad_lines_is_not(tmp_path, content):
    file = tmp_path / "empty"
    file.write_bytes(content)
    with pytest.raises(SeedsError, match="there are no seeds in"):
        list(read_seeds(str(file)))
    file.write_bytes(content + b"\nbad")
    assert len(list(read_seeds(str(file)))) == 1


@pytest.mark.slow
def test_a_long_file_is_not_held_in_memory(tmp_path):
    file = tmp_path / "many"
    file.write_text("".join(f"http://h{number}.test/\n" for number in range(50_000)))
    read_seeds(str(file))
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_seeds(str(file))) == 50_000
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()
