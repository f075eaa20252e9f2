"""``scrapy audit`` and ``scrapy complaint`` on what real crawls leave behind, in parts and on older logs too."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest

from tests.commands import ROOT, own_process
from tests.fakeweb import Placement
from webcrawl.archive import fetchlog

DELAY = 0.1
CRAWL_DELAY = 0.3
TROUBLE = (
    Placement("flaky", share=0.15),
    Placement("flaky-reset", share=0.1),
    Placement("redirect-chain", share=0.1, options={"hops": 2, "across": "yes"}),
    Placement("robots-redirect", share=0.5, options={"hops": 2, "across": "yes"}),
    Placement("robots-delay", hosts=("h0001.localhost",), options={"seconds": CRAWL_DELAY}),
)


def scrapy(command, *words):
    """A command of the project, and what is left of it."""
    return own_process(ROOT, command, *words)


def audited(*words):
    """Status and findings of an audit."""
    result = scrapy("audit", *words, "--json")
    assert result.err == ""
    return result.status, json.loads(result.out)


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=6, pages=36, zipf=0.3, seed=5, placements=TROUBLE)


@pytest.fixture(scope="module")
def crawled(web, crawl):
    done = crawl(
        web.seeds, POLITENESS_MIN_DELAY=DELAY, POLITENESS_FACTOR=3, FETCH_LOG_ROLL_BYTES=4000
    ).assert_ended_well()
    assert len(list(done.path.glob("fetch-*.jsonl.gz"))) > 2
    return done


@pytest.fixture(scope="module")
def lines(crawled):
    return list(fetchlog.read(crawled.path))


def rewritten(folder, lines):
    folder.mkdir()
    (folder / "fetch.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def early(lines, line):
    """The line as if its request had been made when half of the delay was over."""
    [before] = [
        candidate
        for candidate in lines
        if (candidate["key"], candidate["number"]) == (line["key"], line["number"] - 1)
    ]
    return {**line, "start": before["end"] + before["delay"] / 2}


def test_a_crawl_of_ours_has_no_violation(web, crawled, lines):
    status, report = audited(crawled.path)
    assert (status, report["violations"]) == (0, [])
    totals = report["totals"]
    assert totals["requests"] == len(lines) == len(web.hits())
    assert totals["workers"] == ["w0"]
    remarks = ("unproved", "missing", "without_delay", "cut_off", "not_sent", "copies", "late", "unreadable")
    assert [totals[name] for name in remarks] == [0] * len(remarks)


def test_the_log_says_after_each_request_what_was_owed(lines):
    assert all(line["delay"] >= DELAY for line in lines)
    by_key = {}
    for line in sorted(lines, key=lambda line: line["start"]):
        by_key.setdefault(line["key"], []).append(line)
    for of_key in by_key.values():
        assert [line["number"] for line in of_key] == list(range(1, len(of_key) + 1))
    slow = [line for line in by_key["h0001.localhost"] if line["kind"] == "page"]
    assert slow
    assert all(line["delay"] >= CRAWL_DELAY for line in slow)


def test_the_log_says_what_each_robots_txt_came_to(crawled, lines):
    answers = [line for line in lines if line["kind"] == "robots"]
    assert {line["robots"] for line in answers} >= {"rules", "pending"}
    assert any(not line["url"].startswith(line["origin"]) for line in answers)
    digests = {record.headers.get("WARC-Payload-Digest") for record in crawled.records()}
    texts = [line for line in answers if line["status"] == 200]
    assert texts
    assert {line["digest"] for line in texts} <= digests


def test_every_request_moved_forward_is_found(lines, tmp_path):
    wanted = [line["url"] for line in lines if line["number"] == 7]
    moved = [early(lines, line) if line["number"] == 7 else line for line in lines]
    status, report = audited(rewritten(tmp_path / "moved", moved))
    assert status == 1
    assert [violation["kind"] for violation in report["violations"]] == ["early"] * len(wanted)
    assert sorted(violation["request"]["url"] for violation in report["violations"]) == sorted(wanted)
    assert len(wanted) > 3


def test_every_page_whose_robots_txt_is_taken_out_is_found(lines, tmp_path):
    left = [line for line in lines if line.get("origin", "") != lines[0]["origin"]]
    orphans = [
        line["url"]
        for line in left
        if line["url"].startswith(lines[0]["origin"] + "/") and line["kind"] == "page"
    ]
    first = {**lines[0], "number": 1, "kind": "sitemap"}
    status, report = audited(rewritten(tmp_path / "orphans", [first, *left]))
    assert status == 1
    assert {violation["kind"] for violation in report["violations"]} == {"robots"}
    assert {violation["request"]["url"] for violation in report["violations"]} == {lines[0]["url"], *orphans}


def test_each_kind_is_found_in_compressed_parts_of_two_workers_logs(lines, tmp_path):
    after = {(line["key"], line["number"]): line for line in lines}
    early_one, overlapped, forbidden = sorted({line["key"] for line in lines} - {"h0001.localhost"})[:3]
    late = after[overlapped, 7]
    changes = {
        id(after[early_one, 8]): early(lines, after[early_one, 8]),
        id(late): {**late, "end": after[overlapped, 8]["start"] + 0.05, "delay": 0.0},
    }
    for line in lines:
        if line.get("origin", "").startswith(f"http://{forbidden}:"):
            changes[id(line)] = {**line, "robots": "unreachable"}
    planted = [changes.get(id(line), line) for line in lines]
    folders = tmp_path / "w1", tmp_path / "w2"
    for worker, folder in enumerate(folders):
        folder.mkdir()
        part = "".join(json.dumps(line) + "\n" for line in planted[worker::2])
        (folder / "fetch-20260101000000000.jsonl.gz").write_bytes(gzip.compress(part.encode()))
    status, report = audited(*folders)
    assert status == 1
    result = {
        (violation["kind"], violation["request"]["url"].split("/")[2].partition(":")[0])
        for violation in report["violations"]
    }
    assert result == {("early", early_one), ("overlap", overlapped), ("robots", forbidden)}
    pages = sum(line["kind"] == "page" and f"//{forbidden}:" in line["url"] for line in lines)
    assert report["totals"]["violations"] == {"early": 1, "overlap": 1, "robots": pages}


def test_an_older_log_is_judged_by_the_settings(lines, tmp_path):
    facts = ("delay", "number", "origin", "robots", "until", "crawl_delay", "digest")
    older = [{name: value for name, value in line.items() if name not in facts} for line in lines]
    folder = rewritten(tmp_path / "older", older)
    settings = ("-s", f"POLITENESS_MIN_DELAY={DELAY}", "-s", "POLITENESS_FACTOR=3")
    status, report = audited(folder, *settings)
    assert (status, report["totals"]["without_delay"]) == (0, len(lines))
    assert audited(folder, "-s", "POLITENESS_MIN_DELAY=5")[0] == 1


def test_people_read_what_programs_read(lines, tmp_path):
    second = {**early(lines, lines[-1]), "worker": "w1"}
    result = scrapy("audit", rewritten(tmp_path / "a", lines[:-1]), rewritten(tmp_path / "b", [second]))
    assert result.status == 1
    first_line, before, request, *_ = result.out.splitlines()
    assert first_line.startswith(f"early: {second['key']}: started 0.")
    assert "  w0  " in before
    assert request.endswith(f"  w1  page  {second.get('status', second.get('error'))}  {second['url']}")
    assert f"{len(lines)} requests of 2 workers" in result.out
    assert "1 violation: 0 overlap, 1 early, 0 robots" in result.out


def test_the_least_delay_is_held_against_the_log(crawled):
    assert audited(crawled.path, "--least", DELAY)[0] == 0
    assert audited(crawled.path, "--least", 10)[0] == 1


def test_wrong_arguments_are_told(crawled, tmp_path):
    for words, reason in (
        ((), "which crawl?"),
        ((tmp_path / "none",), "is no folder"),
        ((crawled.path, tmp_path), "holds no fetch log"),
        ((crawled.path, "-s", "POLITENESS_MIN_DELAY=x"), "POLITENESS_MIN_DELAY"),
        ((crawled.path, "--tolerance", "-1"), "must be a number of seconds"),
    ):
        result = scrapy("audit", *words)
        assert (result.status, result.out) == (2, ""), result
        assert reason in result.err
    copy = shutil.copytree(crawled.path, tmp_path / "damaged")
    part = next(copy.glob("fetch-*.jsonl.gz"))
    part.write_bytes(part.read_bytes()[:-20])
    result = scrapy("audit", copy)
    assert result.status == 2
    assert "its compressed form is damaged" in result.err


def test_a_complaint_is_answered_with_what_the_server_saw(web, crawled):
    domain = "h0002.localhost"
    hits = [hit for hit in web.hits() if hit.host == domain]
    result = scrapy("complaint", domain, crawled.path, "--json")
    assert (result.status, result.err) == (0, "")
    report = json.loads(result.out)
    seen = sorted((hit.start, f"http://{hit.host}:{web.port}{hit.path}") for hit in hits)
    assert [request["url"] for request in report["listed"]] == [url for _, url in seen]
    assert report["requests"] == len(hits)
    assert report["results"].get("200", 0) == sum(hit.status == 200 for hit in hits)
    assert report["shortest_pause_seconds"] >= DELAY
    [origin] = report["robots"]
    assert origin == f"http://{domain}:{web.port}"
    [version] = report["robots"][origin]
    assert version["digest"].startswith("sha1:")
    assert version["requests"] == sum(request["kind"] == "page" for request in report["listed"])

    letter = scrapy("complaint", domain.upper(), crawled.path)
    assert letter.status == 0
    for _, url in seen:
        assert url in letter.out
    for fact in (f"{len(hits)} requests from", version["digest"], "User-Agent: ", " at most "):
        assert fact in letter.out


def test_a_complaint_is_about_a_period(crawled):
    def requests(*words):
        result = scrapy("complaint", "localhost", crawled.path, "--json", "--list", "0", *words)
        assert result.status == 0, result.err
        return json.loads(result.out)["requests"]

    assert requests("--from", "2026-01-01", "--to", "2199-12-31") == requests() > 0
    assert requests("--to", "2020-12-31") == requests("--from", "2199-12-31") == 0
    assert "There was no request in the logs" in scrapy("complaint", "example.org", crawled.path).out


def test_wrong_arguments_of_a_complaint_are_told(crawled, tmp_path):
    for words, reason in (
        (("a b", crawled.path), "is no domain"),
        (("example.org",), "which crawl?"),
        (("example.org", tmp_path), "holds no fetch log"),
        (("example.org", crawled.path, "--from", "soon"), "must be a date"),
        (("example.org", crawled.path, "--from", "2026-02-01", "--to", "2026-01-01"), "must be later"),
    ):
        result = scrapy("complaint", *words)
        assert (result.status, result.out) == (2, ""), result
        assert reason in result.err
