"""The API of the dashboard on a real crawl: its description, and generated requests to every endpoint."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.crawl.crawling import AT_ONCE
from tests.crawl.dashboards import serving
from tests.rows import each_row
from webcrawl.web.access import Rate
from webcrawl.web.dashboard import server
from webcrawl.web.dashboard.api import ENDPOINTS, PREFIX

EXAMPLES = 2
"""Generated requests to an endpoint."""
REFUSES = {
    *("url", "series", "pages", "page_content", "search"),
    *("set_setting", "exclude", "readmit", "set_delay"),
}
"""Endpoints that refuse texts for reasons that no schema can give, such as what is no URL."""


@pytest.fixture(scope="module")
def crawled(serve, crawl):
    web = serve(hosts=2, pages=8, zipf=0.0)
    done = crawl(web.seeds).assert_ended_well()
    done.web = web
    return done


@pytest.fixture(scope="module")
def served(crawled):
    with pytest.MonkeyPatch.context() as patched, serving(JOBDIR=crawled.path, **AT_ONCE) as dashboard:
        patched.setattr(server, "REQUESTS", Rate(1e6, 10**6))
        yield dashboard


def test_the_description_has_each_endpoint_and_is_true_of_its_base(served):
    answer = served.get("/openapi.json")
    there = {
        (method.upper(), path): operation["operationId"]
        for path, operations in answer["paths"].items()
        for method, operation in operations.items()
    }
    assert there == {(endpoint.method, f"{PREFIX}{endpoint.path}"): endpoint.name for endpoint in ENDPOINTS}
    assert answer["openapi"] == "3.1.0"
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
    answer = served.get(f"/url?url={url}")
    assert answer["conclusion"]["fate"] == "done"
    status, value = served.ask("GET", "/url?url=" + "a" * 8000)
    assert status == 400
    assert len(value["error"]) < 600


# -- changes ---------------------------------------------------------------------------------------------------


def test_a_setting_is_changed_noted_and_reset(served):
    status, value = served.ask("PUT", "/settings/POLITENESS_MIN_DELAY", {"value": 2.5})
    assert (status, value["value"], value["old"]) == (200, "2.5", "0")
    [row] = [row for row in served.get("/settings")["rows"] if row["name"] == "POLITENESS_MIN_DELAY"]
    assert (row["value"], row["started_with"], row["type"]) == ("2.5", "0", "number")
    assert row["overlay"]["by"] == "dashboard 127.0.0.1"
    latest = served.get("/changes?limit=1")["rows"][0]
    assert (latest["what"], latest["name"], latest["new"]) == ("set", "POLITENESS_MIN_DELAY", "2.5")
    assert served.ask("DELETE", "/settings/POLITENESS_MIN_DELAY")[0] == 200
    [row] = [row for row in served.get("/settings")["rows"] if row["name"] == "POLITENESS_MIN_DELAY"]
    assert (row["value"], row["overlay"]) == ("0", None)


@each_row(
    ("name", "value", "status", "sentence"),
    [
        ("POLITENESS_MIN_DELAY", "soon", 400, "must be a number"),
        ("POLITENESS_MIN_DELAY", -1, 400, "must be a number"),
        ("POLITENESS_MIN_DELAY", 10**400, 400, "value must be"),
        ("POLITENESS_MIN_DELAY", "1\u0000", 400, "value must be"),
        ("JOBDIR", "/tmp", 404, "cannot be changed"),
        ("POLITNESS_MIN_DELAY", 1, 404, "did you mean POLITENESS_MIN_DELAY?"),
        ("DENY_FILE", "/etc/passwd", 400, "on the machine of the crawl"),
        ("domains", "/etc/passwd", 400, "on the machine of the crawl"),
        ("domains", ",".join(f"h{number}.example" for number in range(100)), 200, "domains is changed"),
        ("domains", None, 200, "domains is as at the start again"),
        ("allow", "(", 400, "must be a regular expression"),
    ],
)
def test_a_change_of_a_setting_is_made_or_refused_in_a_sentence(served, name, value, status, sentence):
    status_answered, answer = served.ask("PUT", f"/settings/{name}", {"value": value})
    assert status_answered == status, answer
    assert sentence in (answer["sentence"] if status == 200 else answer["error"])


def test_added_urls_are_judged_one_by_one(served, crawled):
    [done, *_] = crawled.fetched()
    host = done.partition("://")[2].partition("/")[0]
    urls = [done, f"http://{host}/new-one", "http:///", "mailto:a@b", "x" * 8000, "http://h/\u202e<b>"]
    status, value = served.ask("POST", "/urls", {"urls": urls})
    assert status == 200
    rows = value["rows"]
    assert [row["verdict"] for row in rows[:5]] == ["known", "queued", "invalid", "invalid", "invalid"]
    assert all(row["sentence"] for row in rows)
    assert all(len(row["url"]) <= 300 for row in rows)
    assert served.ask("POST", "/urls", {"urls": ["http://h/" + "a" * (2 << 20)]})[0] == 413
    assert served.ask("POST", "/urls", {"urls": ["http://h/"] * 1001})[0] == 400
    assert served.ask("POST", "/urls", {"urls": []})[0] == 400


def test_an_added_url_does_not_reach_private_addresses(crawled):
    with serving(JOBDIR=crawled.path, **{**AT_ONCE, "FETCH_PRIVATE_ADDRESSES": 0}) as guarded:
        urls = [
            "http://127.0.0.1:6379/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://[::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://169.254.169.254/latest/meta-data/",
            "http://192.168.0.1/",
            "http://printer.localhost/",
        ]
        status, value = guarded.ask("POST", "/urls", {"urls": urls})
        assert status == 200
        assert {(row["verdict"], row["rule"]) for row in value["rows"]} == {("refused", "private-address")}


def test_exclusions_and_delays(served):
    entry = {"entry": "shop.example"}
    assert served.ask("POST", "/exclusions", entry)[1]["changed"] is True
    assert served.ask("POST", "/exclusions", entry)[1]["changed"] is False
    assert "shop.example" in [row["entry"] for row in served.get("/exclusions")["rows"]]
    assert served.ask("DELETE", "/exclusions", entry)[0] == 200
    assert served.ask("DELETE", "/exclusions", entry)[0] == 404
    assert served.ask("POST", "/exclusions", {"entry": "not a host"})[0] == 400
    status, value = served.ask("PUT", "/hosts/delay", {"key": "www.shop.example", "delay": 7})
    assert (status, value["delay"]) == (200, 7)
    assert served.ask("PUT", "/hosts/delay", {"key": "www.shop.example", "delay": None})[1]["delay"] is None
    assert served.ask("PUT", "/hosts/delay", {"key": "a b", "delay": 7})[0] == 400
    assert served.ask("PUT", "/hosts/delay", {"key": "a", "delay": 1e9})[0] == 400


def test_a_crawl_that_does_not_run_cannot_be_stopped_and_says_so(served):
    status, value = served.ask("POST", "/commands", {"command": "stop"})
    assert status == 200
    assert "nothing to stop" in value["sentence"]
    assert served.ask("POST", "/commands", {"command": "explode"})[0] == 400


def test_a_suggestion_is_held_until_an_operator_decides(served, crawled):
    with serving(JOBDIR=crawled.path, DASHBOARD_PUBLIC=True, **AT_ONCE) as public:
        suggestion = {"url": "http://suggested.example/page", "note": "<b>please</b>"}
        assert public.ask("POST", "/suggestions", suggestion, by="")[0] == 200
        assert public.ask("POST", "/suggestions", {"url": "http://"}, by="")[0] == 400
        assert public.ask("GET", "/url?url=http://suggested.example/page", by="")[1] == {"fate": "unknown"}
        assert public.ask("GET", "/suggestions", by=served.token)[0] == 405
        assert public.ask("POST", "/urls", {"urls": ["http://h/"]}, by=served.token)[0] == 404
    [row] = served.get("/suggestions")["rows"]
    assert (row["url"], row["note"], row["accepted"]) == (suggestion["url"], suggestion["note"], None)
    status, value = served.ask("POST", f"/suggestions/{row['id']}", {"accept": True})
    assert (status, value["sentence"]) == (200, "It is queued.")
    # A second operator comes too late.
    assert served.ask("POST", f"/suggestions/{row['id']}", {"accept": False})[0] == 404
    assert served.ask("POST", "/suggestions/none", {"accept": False})[0] == 404
    assert [row["accepted"] for row in served.get("/suggestions")["rows"]] == [True]


def test_every_change_needs_the_token(served):
    for endpoint in ENDPOINTS:
        if endpoint.method == "GET" or endpoint.path == "/session":
            continue
        path = endpoint.path.replace("{name}", "LOG_LEVEL").replace("{id}", "a")
        for by in ("", "wrong"):
            status, value = served.ask(endpoint.method, path, {}, by=by)
            assert status in (401, 429), (endpoint.name, value)
        status, _ = served.ask(endpoint.method, path, {}, Origin="https://evil.example")
        assert status == 403


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
    assert asked == {endpoint.name for endpoint in ENDPOINTS} - {"events"}


def undescribed(value, schema, place):
    """The members of an answer that its description does not have."""
    if isinstance(value, list) and "items" in schema:
        for item in value:
            yield from undescribed(item, schema["items"], f"{place}[]")
    if isinstance(value, dict) and "properties" in schema:
        for name, member in value.items():
            described = schema["properties"].get(name)
            if described is None:
                yield f"{place}.{name}"
            else:
                yield from undescribed(member, described, f"{place}.{name}")


def test_the_description_has_all_members_of_an_answer(served, crawled):
    [url, *_] = crawled.fetched()
    queries = {"series": "?names=pages", "pages": f"?url={url}"}
    missing, described = [], set()
    for endpoint in ENDPOINTS:
        is_read = endpoint.method == "GET" and endpoint.media_type == "application/json"
        if not is_read or "properties" not in endpoint.result or endpoint.name == "search":
            continue
        value = served.get(f"{endpoint.path}{queries.get(endpoint.name, '')}")
        missing += undescribed(value, endpoint.result, endpoint.name)
        described.add(endpoint.name)
    assert missing == []
    assert {"crawl", "hosts", "fetches", "errors", "traps", "parked", "log", "pages", "series"} <= described


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
