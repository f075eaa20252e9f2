"""What README.md says is so: each sentence names the tests that show it, and each number is that of the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import webcrawl
from tests import demo
from tests.docs_tables import OURS
from tests.gauntlet.crawlers import PEERS
from tests.rows import each_row
from webcrawl.storage.redis.server import OLDEST

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LARGEST = {"README.md": 10_000, "CHANGELOG.md": 6_000}
"""The most bytes of a page that people read first."""
BLOCK = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
NO_PROSE = re.compile(r"^(?:<!--|#|\||!\[).*$", re.MULTILINE)
TITLE = re.compile(r"^\* \*\*[^*]*\.\*\* ", re.MULTILINE)
INSTRUCTION = "instruction"
"""A sentence that tells what to do, or where to read: tests execute the block behind it and follow its links."""
NUMBER = "number"
"""A sentence whose numbers ``test_the_numbers_are_those_of_the_code`` compares."""
MEASURED = "measured"
"""A sentence about how ``make bench`` measures; docs/internals/performance.md says it too."""
CHOICE = "choice"
"""A sentence about what the project is for, and what it leaves out."""

ADDON, CLEAN_STOP = "tests/install/test_addon.py", "tests/process/test_clean_stop.py"
CONTAINER, ELASTIC = "tests/process/test_container_worker.py", "tests/process/test_shared_elastic.py"
DASHBOARD = "tests/crawl/test_dashboard_api.py"
POLITENESS, ROBOTS = "tests/crawl/test_politeness.py", "tests/crawl/test_robots.py"
SHOWN_BY = {
    "built on Scrapy": CHOICE,
    "its own queue and timer": f"{POLITENESS} a_fixed_delay_lies_between_any_two_requests_to_a_host "
    "hosts_of_one_domain_share_a_clock",
    "stop or kill a crawl at any moment": "tests/process/test_kill_and_resume.py kills_lose_nothing; "
    f"{CLEAN_STOP} the_same_command_completes_it_and_fetches_nothing_twice",
    "one site or a hundred thousand": "tests/process/test_large_crawl.py a_large_crawl_is_complete_and_polite",
    "for people who crawl sites that belong to others": CHOICE,
    "fetches robots.txt first": f"{ROBOTS} no_page_is_asked_for_before_the_robots_txt_of_its_origin; "
    "tests/crawl/test_given_settings.py robots_txt_is_asked_for_all_the_same",
    "obey the same timer": f"{POLITENESS} redirects_retries_and_robots_are_among_what_was_judged; "
    "tests/crawl/test_inline_requests.py pages_and_files_of_a_host_keep_its_clock "
    "subclasses_of_the_pipelines_and_images_work",
    "at most one request every": "tests/unit/politeness/test_delay.py "
    "the_model_sets_the_delay_between_floor_and_ceiling the_next_fetch_is_never_earlier_than_the_floor_after_the_end",
    "before it marks the URL as done": "tests/unit/frontier/test_committer.py "
    "pages_are_archived_before_their_state_is_committed_and_only_then_told; "
    "tests/process/test_archive_survives_kill.py what_was_appended_survives_ten_kills_at_random_moments",
    "After `kill -9`": "tests/process/test_kill_and_resume.py kills_lose_nothing "
    "a_kill_is_no_excuse_for_haste",
    "makes the crawls of any Scrapy project polite": f"{ADDON} the_log_of_the_server_is_polite "
    "a_stopped_crawl_goes_on the_crawl_is_kept_and_the_command_says_where",
    "Without a spider of your own": "tests/crawl/test_completeness.py every_allowed_page_is_fetched_exactly_once",
    "`scrapy explain URL`": "tests/crawl/test_explain.py "
    "every_url_is_explained_when_the_crawl_was_stopped_and_when_it_has_ended on_redis_too",
    "`scrapy audit` checks": "tests/crawl/test_audit.py a_crawl_of_ours_has_no_violation "
    "every_request_moved_forward_is_found",
    "signs each request": "tests/crawl/test_identity.py each_request_has_a_valid_signature_of_its_own "
    "each_kind_of_request_was_made without_a_key_nothing_is_signed",
    "allows search, training or mining": "tests/crawl/test_usage.py "
    "every_page_has_its_verdicts_in_log_item_and_archive "
    "no_page_that_may_not_be_used_for_training_is_in_a_feed_for_training",
    "watch and change it while it runs": "tests/crawl/test_dashboard_page.py "
    "an_operator_looks_and_acts_and_nothing_of_the_web_is_more_than_text "
    "forms_steer_the_crawl_and_pages_of_others_do_not; "
    f"{DASHBOARD} a_setting_is_changed_noted_and_reset; "
    "tests/crawl/test_steering.py a_change_is_obeyed_within_seconds",
    "Continuous crawls visit pages again": "tests/crawl/test_revisits.py the_site_is_asked_one_thing_at_a_time; "
    "tests/crawl/test_focus_on_documents.py on_real_pages_a_focused_crawl_finds_five_times_as_much; "
    "tests/crawl/test_complete_pages.py all_that_the_pages_embed_is_fetched_and_nothing_else; "
    "tests/crawl/test_replay.py all_that_pages_embed_is_replayed",
    "HTTP/2 with hosts that need it": "tests/crawl/test_http2.py a_host_that_needs_http2_is_asked_once_in_http11",
    "in a browser that you add": "tests/install/test_packages.py "
    "what_playwright_loads_is_fetched_by_the_crawl_and_archived",
    "detects duplicate pages": "tests/crawl/test_contents.py a_duplicate_is_recorded_and_not_processed",
    "is not released yet": NUMBER,
    "You need Linux or macOS": NUMBER,
    "run one of these commands": INSTRUCTION,
    "Each first installs what it needs": "tests/install/test_package.py "
    "the_first_make_says_that_it_installs_before_it_does",
    "ends with a summary": NUMBER,
    "describes the other ways": INSTRUCTION,
    "Write your seeds": INSTRUCTION,
    "start the crawl with your contact": INSTRUCTION,
    "sends in the User-Agent": "tests/crawl/test_scrapy_settings.py what_is_sent",
    "does not start": "tests/process/test_wrong_start.py the_public_web_is_not_crawled_without_a_contact",
    "to stay on these sites": "tests/crawl/test_scope.py domains_bound_what_is_followed",
    "Press Ctrl-C once": f"{CLEAN_STOP} a_signal_ends_the_crawl_with_status_0_and_says_how_to_go_on "
    "the_same_command_completes_it_and_fetches_nothing_twice",
    "The folder `crawls/first` contains": "tests/crawl/test_archive.py every_request_of_the_servers_log_has_its_line "
    "every_response_is_kept_as_it_was_received; "
    "tests/unit/reports/test_report.py a_browser_shows_every_section_in_any_width",
    "`scrapy cat`, `search`, `export` and `links`": "tests/unit/commands/test_cat.py "
    "the_last_capture_is_shown_with_its_headers_and_without_its_coding; "
    "tests/crawl/test_search.py pages_are_found_by_their_words_after_the_crawl; "
    "tests/unit/commands/test_export.py the_tree_is_that_of_all_workers_and_of_compressed_parts; "
    "tests/crawl/test_links.py out_and_in_tell_what_a_recount_does",
    "tells you what to do before": INSTRUCTION,
    "start more, on any number of machines": f"{ELASTIC} two_become_six_and_six_become_one",
    "Redis or Valkey server": NUMBER,
    "a worker of the same crawl": f"{ELASTIC} two_become_six_and_six_become_one",
    "only one contacts a site at a time": "tests/process/test_shared_crawl.py "
    "a_crawl_in_chaos_is_complete_and_polite",
    "of one command": "tests/process/test_workers.py "
    "two_workers_stop_at_a_limit_and_go_on_and_fetch_each_page_once; "
    "tests/unit/workers/test_cores.py the_least_limit_of_all_groups_counts",
    "Workers come and go": f"{CONTAINER} scaled_workers_are_one_crawl_and_one_that_is_stopped_hands_over_at_once; "
    f"{ELASTIC} a_dead_worker_s_hosts_are_taken_over_after_the_lease_time",
    "has the details": INSTRUCTION,
    "This table compares webcrawl": NUMBER,
    "the same local pages": NUMBER,
    "medians of three crawls": NUMBER,
    "plain Scrapy is one process": MEASURED,
    "a crawl of thousands of sites is not": "tests/process/test_large_crawl.py a_large_crawl_is_complete_and_polite",
    "`make bench` measures": INSTRUCTION,
    "has their ranges": INSTRUCTION,
    "has the sources": INSTRUCTION,
    "The gauntlet judges": NUMBER,
    "Report vulnerabilities": INSTRUCTION,
    "lists what each version can do": INSTRUCTION,
    "free software": "tests/install/test_package.py the_wheel_has_all_files_of_the_package_and_nothing_else",
}
"""Words of a sentence, with the files and functions of its tests."""

COMPARED = {
    "robots.txt without an option": SHOWN_BY["fetches robots.txt first"],
    "a crawl that survives a kill": SHOWN_BY["After `kill -9`"],
    "an archive": SHOWN_BY["before it marks the URL as done"],
    "one worker at a time talks to a site": SHOWN_BY["only one contacts a site at a time"],
    "a killed worker loses no request": SHOWN_BY["Workers come and go"],
    "one timer for each site over all workers": SHOWN_BY["only one contacts a site at a time"],
    "spiders in Python": SHOWN_BY["makes the crawls of any Scrapy project polite"],
    "workers that come and go": SHOWN_BY["Workers come and go"],
    "one machine, or workers and one Redis": SHOWN_BY["start more, on any number of machines"],
    "WARC files": SHOWN_BY["before it marks the URL as done"],
    "a frontier that survives a kill": SHOWN_BY["After `kill -9`"],
}
"""The reasons for webcrawl in the table of others, likewise."""


def section(heading: str) -> str:
    assert f"## {heading}\n" in README
    return README.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def sentences() -> list[str]:
    """The sentences of the prose, links as their texts, without the titles of items."""
    prose = TITLE.sub("* ", NO_PROSE.sub("", BLOCK.sub("", README)))
    prose = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", prose)
    paragraphs = [" ".join(one.split()) for one in re.split(r"\n\n+|\n(?=\* )", prose)]
    return [
        sentence
        for paragraph in filter(None, paragraphs)
        for sentence in re.split(r"(?<=[.:]) (?=[A-Z`]|webcrawl )", paragraph.lstrip("* "))
    ]


def cells(heading: str, column: int) -> list[str]:
    rows = [line for line in section(heading).splitlines() if line.startswith("| ")][2:]
    return [row.split(" | ")[column].strip("| ") for row in rows]


@pytest.mark.parametrize(("page", "largest"), LARGEST.items())
def test_it_is_short(page: str, largest: int) -> None:
    assert len((ROOT / page).read_bytes()) <= largest


def test_every_sentence_is_shown() -> None:
    told = sentences()
    assert [one for one in told if sum(words in one for words in SHOWN_BY) != 1] == []
    assert [words for words in SHOWN_BY if sum(words in one for one in told) != 1] == []


def test_every_reason_in_the_comparison_is_shown() -> None:
    reasons = {reason for cell in cells("How it compares", 2) for reason in cell.split("; ")}
    assert reasons == {*COMPARED}


@each_row("shown", sorted({*SHOWN_BY.values(), *COMPARED.values()}))
def test_the_tests_that_show_it_are_there(shown: str) -> None:
    for part in shown.split("; ") if " " in shown else ():
        file, *names = part.split()
        there = set(re.findall(r"^def (test_\w+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE))
        assert names
        assert {f"test_{name}" for name in names} <= there, file


def test_every_crawler_of_the_comparison_has_its_sources() -> None:
    page = (ROOT / "docs/start/comparison.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\[.*?\)) \|", page, re.MULTILINE)
    assert cells("How it compares", 0) == rows
    marks = {
        int(number)
        for line in page.splitlines()
        if line[:2] == "| "
        for number in re.findall(r"\[(\d)\]", line)
    }
    assert marks == {int(number) for number in re.findall(r"^(\d)\. ", page, re.MULTILINE)}


def test_the_numbers_are_those_of_the_code() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    words = {5: "five", 6: "six", 60: "a minute"}
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in README
    assert f"version {webcrawl.__version__} is not released" in README
    assert f"one request every {words[OURS['POLITENESS_MIN_DELAY'].default]} seconds" in README
    assert f"killed loses them after {words[OURS['LEASE_SECONDS'].default]}" in README
    assert f"({'.'.join(map(str, OLDEST))} or newer)" in README
    assert f"judges {words[len(PEERS) + 1]} crawlers" in README
    summary = section("Install").partition("```text\n")[2]
    assert re.search(rf"^  pages +{demo.DEMO_PAGES} ", summary, re.MULTILINE)


def test_the_figures_are_those_of_the_page_about_performance() -> None:
    page = (ROOT / "docs/internals/performance.md").read_text(encoding="utf-8")
    first = page.partition("## Pages a second")[2].partition("| 10 new links")[0]
    measured = [re.findall(r"(?<=\| )(\d[\d.]*)(?= \()", line) for line in first.splitlines()]
    written = [re.findall(r"(?<=\| )\d[\d.]*(?= \|)", line) for line in section("How fast").splitlines()]
    assert [row for row in written if row] == [row[:2] for row in measured if row]
