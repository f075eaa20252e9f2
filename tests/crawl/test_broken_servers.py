"""Servers that break every rule there is, all at once: each is an outcome, none a traceback or a stall."""

from __future__ import annotations

from urllib.request import Request, urlopen

import pytest

from tests.fakeweb.behaviours import BEHAVIOURS, is_trap
from tests.rows import each_row

NAMES = sorted(name for name in BEHAVIOURS if not is_trap(f"/x/{name}"))
WEB = {"hosts": len(NAMES), "pages": 2 * len(NAMES), "zipf": 0.0}


@pytest.fixture(scope="module")
def web(serve):
    served = serve(**WEB)
    # A bomb takes the server long to make, once.
    with urlopen(
        Request(f"http://127.0.0.1:{served.port}/x/gzip-bomb", headers={"Host": served.web.hosts[0]})
    ):
        return served


@pytest.fixture(scope="module")
def urls(web):
    """Each behaviour on a host of its own."""
    return {name: f"{web.web.origin(host)}/x/{name}" for host, name in enumerate(NAMES)}


@pytest.fixture(scope="module")
def crawled(web, urls, crawl):
    goals = "|".join(f"//h{host:04d}[^/]*/(x/ok|x/redirect|$)" for host in range(len(NAMES)))
    return crawl(
        list(urls.values()),
        arguments={"allow": goals},
        DOWNLOAD_TIMEOUT=20,
        DOWNLOAD_MAXSIZE=100_000,
        DOWNLOAD_TEXT_MAXSIZE=100_000,
        RETRY_TIMES=0,
        HEALTH_PARK_SECONDS=1,
    )


def test_no_traceback_no_unanticipated_error_no_stall(crawled):
    figures = crawled.assert_ended_well().assert_sound()
    assert figures.queued == 0


@each_row("name", NAMES)
def test_the_outcome_is_the_truth(web, urls, crawled, name):
    host = NAMES.index(name)
    stage = web.web.exhibit_stage(host, f"/x/{name}")
    outcome = BEHAVIOURS[name].outcome(stage)
    first = next(line for line in crawled.lines() if line["url"] == urls[name] and "resent" not in line)
    was_resent = any(line["url"] == urls[name] and "resent" in line for line in crawled.lines())

    expected = FIRST_ANSWERS.get(name, outcome.status)
    if outcome.disputed or was_resent:
        assert "error" in first or first["status"] in (200, expected)
    elif expected is None:
        assert "error" in first
    else:
        assert first.get("status") == expected


FIRST_ANSWERS = {"flaky": 500, "flaky-reset": None, "too-many": 429, "unavailable": 503}
"""Behaviours whose truth is what they come to in the end; here there is one try."""


NO_BODY = ("chunks-malformed",)
"""Failures of which a whole head came: that is kept."""


def test_every_outcome_is_in_the_archive_or_has_a_word(urls, crawled):
    archived = {record.url for record in crawled.records() if record.type == "response"}
    answered = {line["url"] for line in crawled.log() if "status" in line}

    assert archived == answered | {urls[name] for name in NO_BODY}
    assert all(("status" in line) != ("error" in line) for line in crawled.log())


def test_what_servers_sent_cannot_steer_a_terminal(crawled):
    assert "\x1b" not in crawled.stderr
    assert "\x1b" not in (crawled.path / "errors.log").read_text()


def test_anticipated_errors_have_a_log_of_their_own(urls, crawled):
    kept = (crawled.path / "errors.log").read_text()

    for name in ("reset", "garbage", "silent", "empty-reply"):
        assert urls[name] in kept
        assert urls[name] not in crawled.stderr
