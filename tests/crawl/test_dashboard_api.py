"""The API of the dashboard on a real crawl: its description, and generated requests to every endpoint."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.crawl.crawling import AT_ONCE
from tests.crawl.dashboards import serving
from webcrawl.features.dashboard import server
from webcrawl.features.dashboard.access import Rate
from webcrawl.features.dashboard.api import ENDPOINTS, PREFIX

EXAMPLES = 6
"""Generated requests to an endpoint."""
REFUSES = {"url", "series", "pages", "pageContent", "search"}
"""Endpoints that refuse texts for reasons that no schema can give, such as what is no URL."""


@pytest.fixture(scope="module")
def crawled(serve, crawl):
    web = serve(hosts=2, pages=8, zipf=0.0)
    done = crawl(web.seeds).assert_ended_well()
    done.web = web
    return done


@pytest.fixture(scope="module")
def served(crawled):
    with pytest.MonkeyPatch.context() as patched, serving(JOBDIR=crawled.path, **AT_ONCE) as made:
        patched.setattr(server, "REQUESTS", Rate(1e6, 10**6))
        yield made


def test_the_description_has_each_endpoint_and_is_true_of_its_base(served):
    found = served.get("/openapi.json")
    there = {
        (method.upper(), path): operation["operationId"]
        for path, operations in found["paths"].items()
        for method, operation in operations.items()
    }
    assert there == {(one.method, f"{PREFIX}{one.path}"): one.name for one in ENDPOINTS}
    assert found["openapi"] == "3.1.0"
    assert len(set(there.values())) == len(there)


def test_the_state_is_that_of_the_crawl(served, crawled):
    state = served.get("/crawl")
    totals = crawled.figures().totals
    assert {name: state["counts"][name] for name in ("queued", "done", "failed", "refused", "hosts")} == {
        name: totals[name] for name in ("queued", "done", "failed", "refused", "hosts")
    }
    assert (state["state"], state["reason"], state["spider"]) == ("ended", "finished", "broad")
    assert state["workers"] == []
    assert state["disk"]["crawl_bytes"] > 0


def test_a_url_is_explained_as_by_the_command(served, crawled):
    [url, *_] = crawled.fetched()
    found = served.get(f"/url?url={url}")
    assert found["conclusion"]["fate"] == "done"
    status, value = served.ask("GET", "/url?url=" + "a" * 8000)
    assert status == 400
    assert len(value["error"]) < 600


def test_generated_requests_are_answered_as_the_description_says(served):
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        positive_data_acceptance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [
        not_a_server_error,
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    ]
    schema = schemathesis.openapi.from_url(f"{served.base}{PREFIX}/openapi.json")
    schema.config.update(base_url=served.base)
    asked = set()

    def ask_each(operation):
        name = operation.definition.raw["operationId"]
        wanted = [*checks, *([] if name in REFUSES else [positive_data_acceptance])]

        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case):
            answer = case.call(headers={"Authorization": f"Bearer {served.token}"})
            case.validate_response(answer, checks=wanted)
            asked.add(name)

        ask()

    for found in schema.exclude(path=f"{PREFIX}/events").get_all_operations():
        ask_each(found.ok())
    assert asked == {one.name for one in ENDPOINTS} - {"events"}


@pytest.mark.soak
def test_many_generated_requests(served, tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{served.base}{PREFIX}/openapi.json"),
            *("--url", served.base, "-H", f"Authorization: Bearer {served.token}"),
            *("--max-examples", "100", "--seed", "1", "--no-color"),
            *("--exclude-checks", "positive_data_acceptance", "--exclude-path", f"{PREFIX}/events"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:]
