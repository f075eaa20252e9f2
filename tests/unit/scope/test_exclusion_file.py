"""Adding to an exclusion file: what may be added, that nothing else changes, and that nobody reads half a file."""

from __future__ import annotations

import stat
import threading
from typing import TYPE_CHECKING

import pytest

from tests.rows import each_row
from webcrawl.scope.exclusion import ExclusionError, ExclusionList
from webcrawl.scope.exclusion_file import Exclusion, ExclusionFile

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "exclusions.txt"


def add(path: Path, text: str, reason: str = "asked") -> ExclusionList:
    entry = Exclusion.read(text)
    return ExclusionFile(path).append(entry, entry.line(reason, "2026-03-02"))


@each_row(
    "text",
    [
        "",
        "  ",
        "# example.org",
        "example.org # asked",
        "example.org\nexample.net",
        "example.org\rexample.net",
        "example.com/path",
        "mailto:a@example.com/",
        "http://",
        "a b.com",
        "a@b.com",
        "12",
        "10.0.0.0/8",
        "-\x00",
        "ex\udce4mple.org",
        "http://example.org/" + "a" * 70_000,
    ],
)
def test_what_is_neither_a_domain_nor_a_prefix_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(
        ExclusionError, match=r"^must be a domain such as example\.org, or a URL prefix"
    ) as error:
        Exclusion.read(text)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def test_a_new_file_is_made_with_the_line_and_its_reason(path: Path) -> None:
    exclusions = add(path, "example.org", "  asked by\nmail\t\x1b[31m ")
    assert path.read_text() == "example.org  # 2026-03-02 asked by mail \ufffd[31m\n"
    assert exclusions.version == ExclusionList.load(path).version
    assert exclusions.objection("http://www.example.org/", "www.example.org") is not None


def test_without_a_reason_the_date_stands_alone(path: Path) -> None:
    add(path, "https://example.org/a/", "")
    assert path.read_text() == "https://example.org/a/  # 2026-03-02\n"


@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"a.test\n",
        b"a.test",
        b"\xef\xbb\xbfa.test # \xff\xfe\r\n\r\n",
        b"# only words\r",
        b"a.test # no line end",
    ],
)
def test_what_stood_there_stays_byte_by_byte(path: Path, before: bytes) -> None:
    path.write_bytes(before)
    add(path, "example.org")
    after = path.read_bytes()
    assert after.startswith(before)
    assert after[len(before) :] in (
        b"example.org  # 2026-03-02 asked\n",
        b"\nexample.org  # 2026-03-02 asked\n",
    )
    assert ExclusionList.load(path).domain_objection("example.org") == "example.org (2026-03-02 asked)"


def test_mode_and_link_stay_and_nothing_is_left_over(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "real" / "list"
    real.parent.mkdir()
    real.write_text("a.test\n")
    real.chmod(0o640)
    path.symlink_to(real)
    add(path, "example.org")
    assert path.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.read_text().count("\n") == 2
    assert [left.name for left in real.parent.iterdir()] == ["list"]


@pytest.mark.parametrize(
    ("there", "text", "by"),
    [
        ("example.org # mail", "example.org", "example.org (mail)"),
        ("example.org", "www.example.org", "example.org"),
        ("example.org", "*.example.org", "example.org"),
        ("example.org", "https://www.example.org/a", "example.org"),
        ("http://example.org/", "https://example.org/a/b", "http://example.org/"),
        ("http://example.org/a", "https://example.org/ab", "http://example.org/a"),
        ("www.example.org", "example.org", None),
        ("http://example.org/", "example.org", None),
        ("http://example.org/ab", "http://example.org/a", None),
        ("http://example.org/a", "http://www.example.org/a", None),
    ],
)
def test_what_is_covered_is_not_added_again(path: Path, there: str, text: str, by: str | None) -> None:
    path.write_text(f"{there}\n")
    assert Exclusion.read(text).covered_by(ExclusionFile(path).read()) == by
    add(path, text)
    assert path.read_text().count("\n") == (2 if by is None else 1)


def test_a_file_with_a_wrong_line_is_not_added_to(path: Path) -> None:
    path.write_text("a.test\nnot a host\n")
    with pytest.raises(ExclusionError, match=r"exclusions\.txt: line 2: not a domain name: not a host"):
        add(path, "example.org")
    assert path.read_text() == "a.test\nnot a host\n"


def test_a_file_that_cannot_be_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExclusionError, match="no/such: No such file or directory"):
        add(tmp_path / "no" / "such", "example.org")
    with pytest.raises(ExclusionError, match="Is a directory"):
        add(tmp_path, "example.org")


def test_many_at_once_lose_nothing_and_readers_see_whole_files(path: Path) -> None:
    path.write_text("# began\n")
    names = [f"n{number}.test" for number in range(24)]
    threads = [threading.Thread(target=add, args=(path, name)) for name in names]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert path.read_bytes().endswith(b"\n")
        ExclusionList.load(path)
    assert sorted(line.split()[0] for line in path.read_text().splitlines()[1:]) == sorted(names)


@each_row(
    ("text", "keys", "others"),
    [
        (
            "example.org",
            ["example.org", "www.example.org", "example.org."],
            ["org2", "badexample.org", "a.test"],
        ),
        ("www.example.org", ["example.org", "www.example.org", "a.www.example.org"], ["m.example.org"]),
        ("http://www.example.org/a", ["example.org", "www.example.org"], ["m.example.org", "ftp:"]),
        ("192.0.2.1", ["192.0.2.1"], ["192.0.2.11", "2.1"]),
    ],
)
def test_only_keys_that_may_have_such_urls_are_looked_at(
    text: str, keys: list[str], others: list[str]
) -> None:
    entry = Exclusion.read(text)
    assert [key for key in keys if not entry.may_be_on(key)] == []
    # A key above the host is looked at, since it may be its registrable domain.
    assert [key for key in others if entry.may_be_on(key)] == (["2.1"] if "2.1" in others else [])
