"""Listings of FTP and menus of Gopher, as servers write them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.parsing import listing, menu
from webcrawl.parsing.html import PageInput, extract
from webcrawl.parsing.mime import FTP_LISTING, GOPHER_MENU, sniffed_type, type_of_name
from webcrawl.urls.resolve import resolve_other_scheme

UNIX = """\
total 24
drwxr-xr-x   2 ftp      ftp          4096 Mar  3  2024 pub
-rw-r--r--   1 ftp      ftp         12345 Nov 23 19:59 two  spaces.txt
-rw-r--r--   1 1000 Domain Users      7 2024-03-01 12:30 iso.txt
lrwxrwxrwx   1 root     root            4 Jan  1 00:00 up -> ../..
drwxr-xr-x   3 ftp      ftp          4096 Mar  3  2024 .
drwxr-xr-x   3 ftp      ftp          4096 Mar  3  2024 ..
-rw-r--r--   1 ftp      ftp             1 Mar  3  2024 a/b
-rw-r--r--+  1 ftp      ftp             5 23 Feb 2023 day first
crw-rw----   1 root     tty        4,   1 Mar  3  2024 tty
garbage that no server writes
"""
DOS = """\
03-01-24  09:05AM       <DIR>          My Files
11-23-2024  21:05             1234 read me.txt
01-02-24  12:00PM       <JUNCTION>     link [C:\\]
"""
MLSD = """\
Type=file;Size=25;Modify=20240301123000.123; a;b.txt
type=dir;perm=el; sub
type=cdir; .
type=pdir; ..
type=OS.unix=slink:/etc; etc
type=file;size=9; ../out
type=file;size=1; caf\u00e9
"""


def of(text):
    return [
        (item.href, item.size, item.modified_at)
        for item in listing.items(text.replace("\n", "\r\n").encode())
    ]


def test_a_listing_of_unix():
    assert of(UNIX) == [
        ("pub/", None, 1709424000.0),
        ("two%20%20spaces.txt", 12345, None),
        ("iso.txt", 7, 1709296200.0),
        ("day%20first", 5, 1677110400.0),
    ]


def test_a_listing_of_dos():
    assert of(DOS) == [("My%20Files/", None, 1709283900.0), ("read%20me.txt", 1234, 1732395900.0)]


def test_facts():
    assert of(MLSD) == [
        ("a%3Bb.txt", 25, 1709296200.0),
        ("sub/", None, None),
        ("caf%C3%A9", 1, None),
    ]


def test_names_that_are_no_text_keep_their_bytes():
    (item,) = listing.items(b"type=file;size=1; caf\xe9 #1?%2F\r\n")
    assert (item.href, item.text) == ("caf%E9%20%231%3F%252F", "caf\u00e9 #1?%2F")


MENU = (
    b"iWelcome\tfake\t(NULL)\t0\r\n"
    b"0About\t/about.txt\tg.example\t70\r\n"
    b"1A folder\t/a b?\tG.example\t7070\r\n"
    b"hThe web\tURL:http://w.example/x?y\tg.example\t70\r\n"
    b"hA page\t/page.html\tg.example\t70\r\n"
    b"7Search\t/find\tg.example\t70\r\n"
    b"8Telnet\t\tg.example\t23\r\n"
    b"3An error\t\terror.host\t1\r\n"
    b"Icaf\xe9\t/caf\xe9\t2001:db8::1\t70\r\n"
    b"0no port\t/x\tg.example\tport\r\n"
    b"0no host\t/x\t\t70\r\n"
    b"0short\t/x\r\n"
    b".\r\n"
    b"0behind the end\t/x\tg.example\t70\r\n"
)


def test_a_menu():
    assert [(item.text, item.href) for item in menu.items(MENU)] == [
        ("About", "gopher://g.example/0/about.txt"),
        ("A folder", "gopher://G.example:7070/1/a%20b%3F"),
        ("The web", "http://w.example/x?y"),
        ("A page", "gopher://g.example/h/page.html"),
        ("caf\u00e9", "gopher://[2001:db8::1]/I/caf%E9"),
    ]


def test_documents_of_both_have_links_by_scheme():
    found = extract(PageInput(MENU, "gopher://g.example/", GOPHER_MENU, 100))
    assert [(link.url, link.type) for link in found.links] == [("http://w.example/x?y", "menu")]
    assert len(found.other_links) == 4
    found = extract(PageInput(UNIX.encode(), "ftp://f.example/pub/", FTP_LISTING, 2))
    assert [(url, kind) for url, kind, _, _ in found.other_links] == [
        ("ftp://f.example/pub/pub/", "listing"),
        ("ftp://f.example/pub/two%20%20spaces.txt", "listing"),
    ]
    assert found.links_dropped == 2


BASE = "ftp://f.example/a/b/"
NAMES = st.text(st.characters(codec="latin-1", exclude_characters="\r\n"), min_size=1, max_size=30)


@given(NAMES, st.sampled_from(["type=file;size=1; ", "type=dir; ", "-rw-r--r-- 1 a b 1 Mar  3  2024 "]))
def test_no_name_leads_out_of_its_directory(name, beginning):
    for item in listing.items(f"{beginning}{name}\r\n".encode("latin-1")):
        url = resolve_other_scheme(item.href, BASE)
        assert url is not None
        assert url.startswith(BASE)
        assert url.rstrip("/").count("/") == 5


@given(st.binary(max_size=400))
def test_no_bytes_break_them(body):
    for kind in (FTP_LISTING, GOPHER_MENU):
        assert extract(PageInput(body, BASE, kind, 100)).error is None


@each_row(
    "line",
    [b"-rw-r--r-- " + b"1 " * 2000, b"-rw-r--r-- " + b"1" * 4000, b"a=;" * 1300, b"01-01-24 " + b" " * 4000],
)
def test_a_hostile_line_is_read_in_linear_time(line):
    assert list(listing.items((line + b"\n") * 200)) == []


def test_types_by_name_and_by_the_first_bytes():
    assert type_of_name("a.html") == "text/html"
    assert type_of_name("a.tar.gz") == "application/gzip"
    assert type_of_name("README") is None
    assert sniffed_type(b"plain text") == "text/plain"
    assert sniffed_type(b"\x89PNG\r\n\x1a\n") == "image/png"
    assert sniffed_type(b"<!doctype html><p>") == "text/html"
    assert sniffed_type(b"a\x00b") == "application/octet-stream"
