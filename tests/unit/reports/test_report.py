"""The report's figures equal a slow recount of the same logs, whatever is in them, and a browser can show it."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from lxml import html

from tests.unit.export.logs import HOSTILE, T0, log
from tests.unit.reports.recount import Recount
from webcrawl.reports import page, progress_log
from webcrawl.reports.figures import Digest, Gaps, digest
from webcrawl.reports.progress_log import Course, read_course
from webcrawl.reports.sections.crawl import Prices

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.reports.counting import HeavyHitters

LOGS = [log(21, 500, "w1"), log(22, 400, "w2"), log(23, 3, "w3")]
LINES = [line for lines in LOGS for line in lines]
for number, line in enumerate(LINES):
    if number % 17 == 0 and line.get("status") == 200:
        line |= {"duplicate_of": "http://a.test/a/b", "changed": bool(number % 2)}
    if number % 3 == 0 and line["kind"] == "page" and "status" in line:
        line["relevance"] = number * 7 % 101 / 100
        line |= {"relevant": True} if line["relevance"] >= 0.8 else {}


@pytest.fixture(scope="module")
def figures() -> Digest:
    return digest(*LOGS)


@pytest.fixture(scope="module")
def recount() -> Recount:
    return Recount(LINES)


def counted(counts: HeavyHitters[str]) -> dict[str, int]:
    assert counts.forgotten_most == 0
    return dict(counts.most(len(counts)))


def test_totals_and_outcomes(figures: Digest, recount: Recount) -> None:
    assert figures.requests == len(LINES)
    assert figures.pages == len(recount.pages)
    assert figures.failed == len(recount.failed)
    assert figures.bytes == sum(line["bytes"] for line in LINES)
    assert figures.page_bytes == sum(line["bytes"] for line in recount.pages)
    assert figures.truncated == sum("truncated" in line for line in LINES)
    assert figures.started_at == min(line["start"] for line in LINES)
    assert figures.ended_at == max(line["end"] for line in LINES)
    assert counted(figures.kinds) == recount.counts("kind", LINES)
    assert counted(figures.workers) == {"w1": 500, "w2": 400, "w3": 3}
    assert counted(figures.statuses) == recount.counts("status")
    assert counted(figures.errors) == recount.counts("error", LINES)
    mimes = recount.counts("mime", recount.good)
    assert counted(figures.mimes) == {
        ("none given" if name == "None" else name): n for name, n in mimes.items()
    }


def test_pages_by_domain_depth_language_and_duplicates(figures: Digest, recount: Recount) -> None:
    assert counted(figures.domains) == recount.top_level()
    assert counted(figures.depths) == recount.counts("depth")
    assert counted(figures.languages) == recount.counts("language")
    same = [line for line in recount.pages if "duplicate_of" in line]
    assert (figures.duplicates, figures.duplicate_bytes) == (len(same), sum(line["bytes"] for line in same))
    assert sum(counted(figures.refetched).values()) == len(same) > 9


def test_what_ended_when(figures: Digest, recount: Recount) -> None:
    line = figures.time_line
    expected = [[0, 0, 0] for _ in line.bins()]
    for one in LINES:
        place = expected[int((one["end"] - line.starts_at) // line.step_seconds)]
        place[0] += one["kind"] == "page" and "status" in one
        place[1] += one["bytes"]
        place[2] += "status" not in one
    assert [list(part) for part in line.bins()] == expected


def test_what_was_looked_for(figures: Digest, recount: Recount) -> None:
    scored, found = recount.scored(), recount.scored(0.8)
    harvest = figures.harvest
    assert len(scored) > len(found) > 20
    assert (harvest.scored, harvest.relevant) == (len(scored), len(found))
    assert harvest.rate == pytest.approx(len(found) / len(scored))
    assert harvest.total == pytest.approx(sum(line["relevance"] for line in scored))
    assert harvest.tenths == recount.bins(
        (line["relevance"] + 1e-9 for line in scored), [n / 10 for n in range(10)]
    )
    assert counted(harvest.hosts) == recount.hosts_of(found)
    line = harvest.time_line
    assert line.bins() == recount.steps(scored, "relevant", line.starts_at, line.step_seconds)


def test_the_harvest_is_shown_where_something_was_looked_for(figures: Digest, recount: Recount) -> None:
    shown = rows_of(page.page(figures, "x"), "Harvest")
    scored, found = len(recount.scored()), len(recount.scored(0.8))
    assert shown["pages scored"] == str(scored)
    assert shown["relevant pages"] == str(found)
    assert shown["harvest rate: relevant pages of all scored"] == f"{100 * found / scored:.2f} %"
    assert ">Harvest</h2>" not in page.page(digest(log(24, 50, "w1")), "x")


def test_sizes(figures: Digest, recount: Recount) -> None:
    sizes = [line["bytes"] for line in recount.good]
    assert figures.sizes.counts == recount.bins(sizes, figures.sizes.edges)
    low, high = figures.sizes.part_below(0.5)
    assert low <= sorted(sizes)[(len(sizes) - 1) // 2] < high


def test_hosts_by_rank(figures: Digest, recount: Recount) -> None:
    ranks, hosts = figures.hosts.ranked(3), recount.hosts()
    assert ranks.hosts == len(hosts)
    assert (
        ranks.most_pages == sorted(((p, h) for h, (p, _) in hosts.items()), key=lambda x: (-x[0], x[1]))[:3]
    )
    assert (
        ranks.most_bytes == sorted(((b, h) for h, (_, b) in hosts.items()), key=lambda x: (-x[0], x[1]))[:3]
    )
    by_pages = sorted((pages for pages, _ in hosts.values() if pages), reverse=True)
    assert all(by_pages[rank - 1] == value for rank, value in ranks.curve_of_pages())
    assert ranks.curve_of_pages()[-1][0] == len(by_pages)
    by_bytes = sorted((size for _, size in hosts.values() if size), reverse=True)
    assert all(value == pytest.approx(by_bytes[rank - 1], rel=0.02) for rank, value in ranks.curve_of_bytes())


def test_failing_hosts_and_robots(figures: Digest, recount: Recount) -> None:
    failing = [(one.number, one.key, dict(one.errors)) for one in figures.hosts.failing(99)]
    assert sorted(failing, key=str) == sorted(recount.failing(), key=str)
    assert [one[0] for one in failing] == sorted((one[0] for one in failing), reverse=True)
    states = [state for _, (_, state) in figures.origins]
    assert {state: states.count(state) for state in states} == recount.robots()


def test_gaps_against_what_was_owed(figures: Digest, recount: Recount) -> None:
    gaps, expected = figures.gaps, recount.gaps()
    unused = [max(gap - owed, 0.0) for owed, gap in expected]
    assert (gaps.measured, gaps.forgotten) == (len(expected), 0)
    assert gaps.unknown > 0
    assert gaps.short == sum(gap < owed - 0.01 for owed, gap in expected) > 0
    assert gaps.owed_seconds == pytest.approx(math.fsum(owed for owed, _ in expected))
    assert gaps.waited_seconds == pytest.approx(math.fsum(max(gap, 0.0) for _, gap in expected))
    assert gaps.unused_seconds == pytest.approx(math.fsum(unused))
    lengths = recount.bins((gap for _, gap in expected), gaps.unused.edges)
    for number, count in enumerate(lengths):
        assert sum(found for (_, gap), found in gaps.grid.items() if gap == number) == count
    assert gaps.unused.counts == recount.bins(unused, gaps.unused.edges)
    assert sum(gaps.grid.values()) == len(expected)


def test_what_is_forgotten_is_said(recount: Recount) -> None:
    gaps = digest(*LOGS, gaps=Gaps(keys_max=3)).gaps
    missing = len(recount.gaps()) - gaps.measured
    assert 0 < missing <= gaps.forgotten
    assert "for lack of memory, at most" in page.page(digest(*LOGS, gaps=Gaps(keys_max=3)), "x")


def test_a_copy_of_a_log_changes_no_gap(figures: Digest) -> None:
    twice = digest(LOGS[0], LOGS[0]).gaps
    assert twice.measured == digest(LOGS[0]).gaps.measured


def rows_of(text: str, heading: str) -> dict[str, str]:
    """The first table of a section: names and their figures."""
    rows = html.fromstring(text).xpath(f"(//section[h2='{heading}']//table)[1]//tr[td]")
    return {row.xpath("string(th)"): row.xpath("string(td[1])") for row in rows}


def test_the_page_shows_these_figures(figures: Digest, recount: Recount) -> None:
    text = page.page(figures, "a crawl", prices=Prices(gigabyte=2.0))
    shown = {name: int(number.replace(",", "")) for name, number in rows_of(text, "Status of pages").items()}
    assert shown == recount.counts("status")
    assert rows_of(text, "robots.txt") == {name: str(number) for name, number in recount.robots().items()}
    assert rows_of(text, "Depth") == recount.counts("depth") | {
        n: str(c) for n, c in recount.counts("depth").items()
    }
    money = rows_of(text, "Cost")
    assert money["total"] == f"{figures.bytes / 1e9 * 2:,.2f}"
    assert money["requests per page"] == f"{len(LINES) / len(recount.pages):.2f}"
    for one in html.fromstring(text).xpath("//svg"):
        assert one.get("role") == "img"
        assert one.get("aria-label") == one.xpath("string(title)") != ""
        assert one.xpath("ancestor::figure/following-sibling::details[1]//tbody/tr")
    assert all(
        html.fromstring(text).xpath(f"//*[@id='{a[1:]}']")
        for a in html.fromstring(text).xpath("//nav/a/@href")
    )


PROGRESS = [
    {"at": T0 + at, "worker": worker, "run": T0 + run, "pages": pages, "bytes": 9, "cpu_seconds": cpu, "queued": at,
     "hosts": 5 + at, "active": 2, "ready": 1, "open": 0}
    for at, worker, run, pages, cpu in [
        (60, "w1", 0, 10, 1.0), (61, "w2", 0, 4, 0.5), (120, "w1", 0, 20, 2.5), (500, "w1", 400, 5, 0.5)
    ]
]  # fmt: skip


def test_what_all_runs_took_is_added_up() -> None:
    course = read_course(
        [*PROGRESS, {"at": 5}, {**PROGRESS[0], "pages": "many"}, {**PROGRESS[0], "at": math.nan}]
    )
    assert (course.pages, course.cpu_seconds) == (20 + 4 + 5, 2.5 + 0.5 + 0.5)
    assert [(point.at - T0, point.queued) for point in course.points()] == [
        (60, 60),
        (61, 61),
        (120, 120),
        (500, 500),
    ]


def test_a_long_course_keeps_the_last_of_each_stretch() -> None:
    course = read_course({**PROGRESS[0], "at": T0 + 60 * n, "queued": n} for n in range(5000))
    points = course.points()
    assert 200 <= len(points) <= progress_log.POINTS
    assert points[-1].queued == 4999
    assert all(point.at == T0 + 60 * point.queued for point in points)


def test_lines_that_a_crash_cut_off_cost_no_others(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    progress_log.append(path, PROGRESS[0])
    path.write_bytes(path.read_bytes() + b'{"at": 17')
    for one in PROGRESS[1:]:
        progress_log.append(path, one)
    assert list(progress_log.read(tmp_path)) == PROGRESS
    assert list(progress_log.read(tmp_path / "nowhere")) == []


def test_cpu_time_has_its_price(figures: Digest, recount: Recount) -> None:
    text = page.page(
        figures, "a crawl", course=read_course(PROGRESS), prices=Prices(core_hour=0.5, gigabyte=0.01)
    )
    money = rows_of(text, "Cost")
    each = 3.5 / 29
    assert money["CPU time per page"] == f"{1000 * each:.2f} ms"
    total = each * len(recount.pages) / 3600 * 0.5 + figures.bytes / 1e9 * 0.01
    assert money["per million pages"] == f"{total / len(recount.pages) * 1e6:,.2f}"
    assert "Growth of the frontier" in text
    assert "was not recorded" in page.page(figures, "a crawl", course=Course())


@pytest.mark.parametrize("lines", [HOSTILE, [*LINES, *HOSTILE], *([one] for one in HOSTILE)])
def test_nothing_that_servers_sent_breaks_the_page(lines: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "fetch.jsonl").write_text(
        "".join(f"{json.dumps(line)}\n" for line in lines)
        + '{"bytes": Infinity, "end": NaN, "delay": 1e999}\n',
        "ascii",
    )
    written = page.write(tmp_path, "<i>\x1b[31m\ud800", "\u202e&").read_text("utf-8")
    assert all(character.isprintable() or character == "\n" for character in written)
    tags = {element.tag for element in html.fromstring(written).iter() if isinstance(element.tag, str)}
    assert tags.isdisjoint({"script", "b", "i", "img", "u"})
    assert re.findall(r"[ \"'](?:src|href|on\w+)=[\"'](?!#)", written) == []


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on the PATH")
def test_a_browser_shows_every_section_in_any_width(figures: Digest, tmp_path: Path) -> None:
    """A script beside the page measures it: nothing sticks out, and each plot has its size."""
    text = page.page(figures, "a crawl", course=read_course(PROGRESS))
    probe = (
        "<script>addEventListener('load',()=>{let wide=[];const d=document.body;for(const w of [360,1000]){"
        "d.style.width=w+'px';wide.push([d.scrollWidth<=w+1,[...document.querySelectorAll('svg')].every(s=>"
        "s.getBoundingClientRect().height>80&&s.getBoundingClientRect().right<=d.getBoundingClientRect().right+1),"
        "document.querySelectorAll('section').length])}document.title=JSON.stringify(wide)})</script>"
    )
    path = tmp_path / "probed.html"
    path.write_text(
        re.sub(r'<meta http-equiv="Content-Security[^>]*>', "", text).replace("</body>", probe), "utf-8"
    )
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         "--virtual-time-budget=2000", "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    title = html.fromstring(done.stdout).xpath("string(//head/title)")
    sections = text.count("<section")
    assert sections >= 14
    assert json.loads(title) == [[True, True, sections]] * 2, done.stderr
