"""The exclusion list: what a line covers, and that a file that goes wrong never opens the gate."""

import os
from pathlib import Path

import pytest

from webcrawl.scope.exclusion import ExclusionError, ExclusionList, ExclusionRule, Refreshed
from webcrawl.scope.scope import Candidate
from webcrawl.urls.politeness_key import get_host
from webcrawl.urls.resolve import resolve


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "exclusions.txt"


def objection(exclusions: ExclusionList, url: str) -> str | None:
    resolved = resolve(url, "about:blank")
    assert resolved is not None
    host = get_host(resolved)
    return ExclusionRule(exclusions).refuses(Candidate(resolved, host, host))


@pytest.mark.parametrize(
    ("line", "covered", "others"),
    [
        (
            "example.com",
            "http://example.com/ https://example.com:8443/a http://www.example.com/ http://example.com./",
            "http://example.org/ http://badexample.com/ http://com/",
        ),
        ("WWW.Example.com.", "http://www.example.com/ http://a.www.example.com/", "http://example.com/"),
        ("*.example.com", "http://example.com/ http://www.example.com/", "http://example.org/"),
        ("bücher.example", "http://www.xn--bcher-kva.example/", "http://bcher.example/"),
        ("192.0.2.1", "http://192.0.2.1/ http://0xc0.0.2.1/", "http://192.0.2.2/"),
        ("[2001:db8::1]", "http://[2001:db8:0::1]/", "http://[2001:db8::2]/"),
        ("co.uk", "http://www.bbc.co.uk/", "http://uk/"),
        (
            "http://example.com/private",
            "http://example.com/private http://example.com/private/a https://example.com/private?b"
            " http://example.com/%70rivate http://example.com./private http://example.com/a/../privately",
            "http://example.com/ http://example.com/public http://www.example.com/private"
            " http://example.com:8080/private http://example.com/Private",
        ),
        ("https://example.com:8080", "http://example.com:8080/a", "http://example.com/"),
        ("http://example.com/a?", "http://example.com/a?b=c", "http://example.com/a http://example.com/a/"),
        (
            "http://example.com/%7euser",
            "http://example.com/~user/ http://example.com/%7Euser",
            "http://example.com/",
        ),
    ],
)
def test_a_line_covers_a_domain_with_its_subdomains_or_all_urls_that_begin_so(file, line, covered, others):
    file.write_text(line + "\n")
    exclusions = ExclusionList.load(str(file))
    assert len(exclusions) == 1
    assert [url for url in covered.split() if objection(exclusions, url) is None] == []
    assert [url for url in others.split() if objection(exclusions, url) is not None] == []


def test_the_reason_stands_behind_the_line(file):
    file.write_text(
        "# asked to stay away\nexample.com # by mail, 2024-05-01\nhttp://h.test/a\t# robots\nplain.test\n"
    )
    exclusions = ExclusionList.load(file)
    assert objection(exclusions, "http://www.example.com/") == "example.com (by mail, 2024-05-01)"
    assert objection(exclusions, "http://h.test/ab") == "http://h.test/a (robots)"
    assert objection(exclusions, "http://plain.test/") == "plain.test"


def test_a_domain_and_a_prefix_on_it_exclude_the_domain(file):
    file.write_text("http://example.com/a\nexample.com\n")
    exclusions = ExclusionList.load(file)
    assert len(exclusions) == 2
    assert objection(exclusions, "http://example.com/b") == "example.com"


def test_an_empty_file_excludes_nothing(file):
    file.write_text("# nobody yet\n")
    assert objection(ExclusionList.load(file), "http://example.com/") is None


@pytest.mark.parametrize(
    "line", ["a b.com", "mailto://example.com/", "example.com/path", "10.0.0.0/8", "a@b.com", "http://", "12"]
)
def test_every_wrong_line_is_reported_with_its_number(file, line):
    file.write_text(f"example.com\n{line}\n\nnot a host\n")
    with pytest.raises(ExclusionError) as caught:
        ExclusionList.load(str(file))
    first, second = str(caught.value).splitlines()
    assert first.startswith(f"{file}: line 2: not a ")
    assert first.endswith(line)
    assert second == f"{file}: line 4: not a domain name: not a host"


def test_a_file_that_is_not_there_is_named(file):
    with pytest.raises(ExclusionError, match=r"exclusions\.txt: No such file"):
        ExclusionList.load(file)


def write(file: Path, content: str, at: int) -> None:
    """Write a file as of a time, so that no test depends on how fine the clock of the file system is."""
    file.write_text(content)
    os.utime(file, (at, at))


def test_a_change_is_seen_when_the_interval_has_passed_and_not_before(file):
    write(file, "one.test\n", at=1)
    exclusions = ExclusionList.load(file, check_seconds=60)
    first = exclusions.version
    assert exclusions.refresh(1000) == Refreshed()
    write(file, "two.test\n", at=2)
    assert exclusions.refresh(1059) == Refreshed()
    assert objection(exclusions, "http://two.test/") is None
    assert exclusions.refresh(1060) == Refreshed(changed=True)
    assert objection(exclusions, "http://two.test/") == "two.test"
    assert objection(exclusions, "http://one.test/") is None
    assert exclusions.version != first
    assert exclusions.refresh(1120) == Refreshed()


def test_a_file_of_another_size_is_another_file_even_at_the_same_time(file):
    write(file, "one.test\n", at=1)
    exclusions = ExclusionList.load(file)
    write(file, "one.test\ntwo.test\n", at=1)
    assert exclusions.refresh(0).changed
    assert objection(exclusions, "http://two.test/")


def test_a_file_that_was_only_touched_is_no_new_list(file):
    write(file, "one.test\n", at=1)
    exclusions = ExclusionList.load(file)
    version = exclusions.version
    write(file, "one.test\n", at=2)
    assert exclusions.refresh(0) == Refreshed()
    assert exclusions.version == version


def test_a_wrong_line_leaves_the_old_list_in_force_until_it_is_mended(file):
    write(file, "one.test\n", at=1)
    exclusions = ExclusionList.load(file, check_seconds=60)
    version = exclusions.version
    write(file, "two.test\nnot a host\n", at=2)
    assert exclusions.refresh(0) == Refreshed(False, (f"{file}: line 2: not a domain name: not a host",))
    assert objection(exclusions, "http://one.test/")
    assert objection(exclusions, "http://two.test/") is None
    assert exclusions.version == version
    assert exclusions.refresh(60) == Refreshed(), "told once"
    write(file, "two.test\n", at=3)
    assert exclusions.refresh(120) == Refreshed(changed=True)
    assert objection(exclusions, "http://two.test/")


def test_a_file_that_has_gone_leaves_the_old_list_in_force(file):
    write(file, "one.test\n", at=1)
    exclusions = ExclusionList.load(file, check_seconds=60)
    file.unlink()
    result = exclusions.refresh(0)
    assert not result.changed
    assert result.problems == (f"{file}: No such file or directory; the old list stays in force",)
    assert objection(exclusions, "http://one.test/")
    write(file, "two.test\n", at=2)
    assert exclusions.refresh(60).changed


def test_the_version_is_that_of_the_content(file, tmp_path):
    other = tmp_path / "other"
    file.write_text("one.test\n")
    other.write_text("one.test\n")
    assert ExclusionList.load(file).version == ExclusionList.load(other).version
    other.write_text("two.test\n")
    assert ExclusionList.load(file).version != ExclusionList.load(other).version
