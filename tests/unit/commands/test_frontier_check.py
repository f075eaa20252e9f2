"""What a check of the books found, as people and programs read it."""

from __future__ import annotations

import json

from tests.unit.commands.test_frontier_status import Crawl
from webcrawl.commands import frontier
from webcrawl.storage.inspection import MEANINGS, CheckResult, Finding, FindingKind, Findings

AGREED = "Everything agrees: every URL is in exactly one state, and every count is right."
LOST = Finding(FindingKind.UNKNOWN, "http://a.test/\udce9", where="shard 3")
WRONG = Finding(FindingKind.TOTAL, "queued", "says 5, is 4", "shard 3")


def some(*findings: Finding) -> Findings:
    made = Findings()
    for finding in findings:
        made.add(finding)
    return made


def lines(checked: CheckResult) -> list[str]:
    return frontier.check_as_text(Crawl(), checked).splitlines()


def test_what_was_looked_at_is_told_and_that_it_agrees() -> None:
    assert lines(CheckResult(urls=12_345, queued=678, hosts=9)) == [
        "broad on Redis at h:1: 12,345 URLs known, 678 queued, 9 hosts",
        AGREED,
    ]


def test_what_does_not_agree_is_named_with_its_number_and_what_to_do() -> None:
    assert lines(CheckResult(left=some(WRONG, LOST)))[1:] == [
        "2 things do not agree:",
        "      1  URL is queued, but not known",
        "           http://a.test/\udce9 (shard 3)",
        "      1  running total is wrong",
        "           queued (says 5, is 4; shard 3)",
        "scrapy frontier check --repair repairs what can be repaired, while no worker is running.",
    ]


def test_of_many_the_first_are_shown() -> None:
    many = [Finding(FindingKind.UNKNOWN, f"http://a.test/{number}") for number in range(1234)]
    found = lines(CheckResult(left=some(*many)))
    assert found[1:3] == ["1,234 things do not agree:", "  1,234  URL is queued, but not known"]
    assert found[8] == "           and 1,229 more"


def test_what_was_mended_is_told_and_what_is_left() -> None:
    repaired = lines(CheckResult(repaired=some(LOST)))
    assert repaired[1] == "1 thing did not agree and was repaired:"
    assert repaired[-1] == AGREED
    left = lines(
        CheckResult(repaired=some(LOST), left=some(Finding(FindingKind.UNREADABLE, "the record of a.test")))
    )
    assert left[-1] == "The rest cannot be repaired."
    assert "1 thing does not agree:" in left


def test_damage_is_not_promised_to_be_mended() -> None:
    assert (
        "is not repaired" in lines(CheckResult(left=some(Finding(FindingKind.DAMAGED, "row 7 missing"))))[-1]
    )


def test_what_makes_it_less_than_exact_is_told() -> None:
    found = lines(CheckResult(running_workers={"w2", "w1"}, uncompared=["shard 3"], unchecked=["states"]))
    assert found[1].startswith("w1, w2 running meanwhile: the check reports only what it found twice.")
    assert found[2].endswith("were not compared: shard 3")
    assert found[3] == "Not checked: states"


def test_programs_get_all_of_it() -> None:
    found = json.loads(
        frontier.check_as_json(Crawl(), CheckResult(urls=2, left=some(WRONG), running_workers={"w1"}))
    )
    example = {"subject": "queued", "detail": "says 5, is 4", "where": "shard 3"}
    assert found["left"] == {"total": {"count": 1, "examples": [example]}}
    assert (found["agrees"], found["urls"], found["running_workers"]) == (False, 2, ["w1"])


def test_each_kind_of_finding_has_words() -> None:
    assert set(MEANINGS) == set(FindingKind)
