"""The API of the service on loopback, with crawls that have no processes."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import string
import threading
from contextlib import contextmanager
from urllib.parse import quote, urlsplit

import ada_url
import pytest
from yarl import URL

from tests.unit.web.service.serving import SEEDS, TOKEN, run, served
from tests.unit.web.service.supervising import FINISHED
from webcrawl.config import SETTINGS
from webcrawl.web.access import Rate
from webcrawl.web.dashboard import server
from webcrawl.web.service.api import ENDPOINTS
from webcrawl.web.service.open_settings import order_settings

SETTING = {item.name: item for item in SETTINGS}
SAFE = string.ascii_letters + string.digits + "-._~:/@;&=%\\"


@pytest.mark.parametrize(
    "name", ["", "/", "a/b", "../a", ".service", ".", "a b", "a\nb", "ä", "-a", "a" * 65, "a%2Fb", "a\u202eb"]
)
def test_a_name_that_is_no_folders_is_refused(tmp_path, name):
    async def test(site):
        status, answer = await site.order(name)
        assert status == 400
        assert "name" in answer["error"]
        assert {path.name for path in tmp_path.iterdir()} == {".service"}
        assert {path.name for path in (tmp_path / ".service").iterdir()} == {"lock"}

    run(tmp_path, test)


def test_wrong_bodies_are_refused_with_a_sentence(tmp_path):
    async def test(site):
        for content, status in [
            (b"", 400),
            (b"[]", 400),
            (b"\xff", 400),
            (b'{"name": 5}', 400),
            (b'{"name": "a", "settings": {"A": "1"}}', 400),
            (b'{"name": "a", "settings": ["A"]}', 400),
            (b'{"name": "a", "more": 1}', 400),
            (b'{"name": "a", "seeds": [""]}', 400),
            (json.dumps({"name": "a", "seeds": ["http://a.test/"] * 10_001}).encode(), 400),
            (b"[" * 100_000, 400),
            (json.dumps({"name": "a", "seeds": ["http://a.test/" + "a" * (2 << 20)]}).encode(), 413),
        ]:
            answer = await site.ask("POST", "/crawls", content=content)
            assert answer[0] == status, answer
            assert answer[1]["error"]
        assert (await site.ask("POST", "/crawls", {"name": "a"}))[1]["error"] == (
            "nothing to crawl; give -a seeds=FILE, -a seeds=URL or -a domains=FILE"
        )
        status, answer = await site.order("a", arguments=["seeds=/etc/passwd"])
        assert answer["error"] == "-a seeds: cannot name a file; give the seeds themselves, in seeds"
        assert (await site.ask("GET", "/crawls"))[1]["rows"] == []

    run(tmp_path, test)


def test_orders_need_the_token_and_this_origin(tmp_path):
    async def test(site):
        body = {"name": "a", "seeds": SEEDS}
        assert (await site.ask("POST", "/crawls", body, token=""))[0] == 401
        assert (await site.ask("POST", "/crawls", body, token="wrong"))[0] == 401
        assert (await site.ask("POST", "/crawls", body, Origin="https://evil.test"))[0] == 403
        assert (await site.ask("POST", "/crawls", body, Host="evil.test"))[0] == 421
        assert (await site.ask("POST", "/crawls", body, Content_Type="text/plain"))[0] == 415
        await site.order("a")
        for method, path in [("POST", "/stop"), ("POST", "/start"), ("POST", "/seeds"), ("DELETE", "")]:
            assert (await site.ask(method, f"/crawls/a{path}", token=""))[0] in (400, 401)
        for path in ("", "/a", "/a/log", "/a/report"):
            assert (await site.ask("GET", f"/crawls{path}", token=""))[0] == 401

    run(tmp_path, test)


@pytest.mark.slow
def test_a_crawl_from_its_order_to_its_removal(tmp_path):
    async def test(site):
        status, row = await site.order("a", settings=["DEPTH_LIMIT=3"], arguments=["stay=host"], start=False)
        assert (status, row["state"], row["settings"]) == (200, "stopped", {"DEPTH_LIMIT": "3"})
        seeds = tmp_path / ".service/a.seeds"
        assert row["arguments"] == {"stay": "host", "seeds": str(seeds)}
        assert (await site.ask("POST", "/crawls/a/seeds", {"urls": ["http://127.0.0.2/"]}))[1]["added"] == 1
        assert seeds.read_text().split() == ["http://127.0.0.1/", "http://127.0.0.2/"]

        assert (await site.order("a"))[0] == 409
        assert (await site.ask("POST", "/crawls/a/start"))[0] == 200
        while "a" not in site.machine.running:  # noqa: ASYNC110 - the supervisor's thread starts it
            await asyncio.sleep(0.01)
        status, answer = await site.ask("DELETE", "/crawls/a")
        assert (status, answer["error"]) == (409, "a is running; stop it first")
        status, answer = await site.ask("POST", "/crawls/a/seeds", {"urls": ["http://127.0.0.2/"]})
        assert (status, answer["error"]) == (
            409,
            "a has not opened its frontier yet; try again in a moment",
        )
        assert (await site.ask("POST", "/crawls/a/commands", {"command": "pause"}))[0] == 409
        assert (await site.ask("POST", "/crawls/a/commands", {"command": "stop"}))[0] == 400
        assert (await site.ask("POST", "/crawls/a/stop"))[1]["state"] == "stopping"
        site.machine.exits("a", FINISHED)
        while (await site.ask("GET", "/crawls/a"))[1]["state"] != "stopped":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        status, answer = await site.ask("POST", "/crawls/a/commands", {"command": "pause"})
        assert (status, answer["error"]) == (409, "a does not run: it is stopped")
        assert (await site.ask("GET", "/crawls/a/report"))[0] == 404
        assert (await site.ask("GET", "/crawls/a/log"))[1] == {"lines": []}
        assert (await site.ask("DELETE", "/crawls/a"))[0] == 200
        assert not seeds.exists()
        for method, path in [("GET", ""), ("GET", "/log"), ("POST", "/stop"), ("DELETE", "")]:
            status, answer = await site.ask(method, f"/crawls/a{path}")
            assert (status, answer["error"]) == (404, "there is no crawl 'a'")

    run(tmp_path, test)


def test_a_full_disk_is_an_answer(tmp_path):
    class Full:
        def put(self, record):
            raise OSError(28, "No space left on device")

    async def test(site):
        status, answer = await site.order("a")
        assert status == 503
        assert answer["error"] == "the service cannot store that: No space left on device"
        assert (await site.ask("GET", "/crawls"))[1]["rows"] == []
        assert not (tmp_path / ".service/a.seeds").exists()

    run(tmp_path, test, store=Full())


def test_a_record_that_cannot_be_read_costs_its_crawl_alone(tmp_path):
    async def first(site):
        await site.order("a")
        await site.order("b")

    run(tmp_path, first)
    (tmp_path / ".service/a.json").write_text('{"order": {"name": "a"}')
    (tmp_path / ".service/c.json").write_bytes((tmp_path / ".service/b.json").read_bytes())

    async def second(site):
        return [row["name"] for row in (await site.ask("GET", "/crawls"))[1]["rows"]]

    assert run(tmp_path, second) == ["b"]


def test_the_description_has_every_endpoint(tmp_path):
    async def test(site):
        return (await site.ask("GET", "/openapi.json"))[1]["paths"]

    paths = run(tmp_path, test)
    there = {(method.upper(), path) for path, operations in paths.items() for method in operations}
    assert there == {(endpoint.method, f"/api/v1{endpoint.path}") for endpoint in ENDPOINTS}


# -- generated requests ----------------------------------------------------------------------------------------


@contextmanager
def in_a_thread(root):
    """A site whose loop runs beside the test."""
    ready, over, sites = threading.Event(), threading.Event(), []

    async def serve():
        async with served(root) as site:
            await site.order("a")
            sites.append(site)
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=asyncio.run, args=[serve()])
    thread.start()
    try:
        assert ready.wait(30)
        yield sites[0]
    finally:
        over.set()
        thread.join()


@pytest.mark.soak
def test_generated_requests_are_answered_as_the_description_says(tmp_path, monkeypatch):
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    monkeypatch.setattr(server, "REQUESTS", Rate(1e6, 10**6))
    checks = [
        not_a_server_error,
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    ]
    with in_a_thread(tmp_path) as site:
        schema = schemathesis.openapi.from_url(f"{site.base}/api/v1/openapi.json")
        schema.config.update(base_url=site.base)
        for found in schema.get_all_operations():
            operation = found.ok()

            @settings(
                max_examples=25,
                derandomize=True,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy())
            def ask(case):
                answer = case.call(headers={"Authorization": f"Bearer {TOKEN}"})
                case.validate_response(answer, checks=checks)

            ask()


def test_a_redirect_never_leaves_the_service(tmp_path):
    """As browsers resolve it: a backslash is a slash, tabs and line ends are nothing."""
    letters = "a:/\\.@?#%;&=~ \t2efhtps"
    chance = random.Random(7)
    names = ["https:evil.test", "https:%2F%2Fevil.test", "%2F%2Fevil.test", "..", "%2e%2e", "\\\\evil.test"]
    names += ["javascript:1", "a"]
    names += ["".join(chance.choices(letters, k=chance.randrange(1, 20))) for _ in range(400)]

    async def test(site):
        base, followed = urlsplit(site.base), 0
        for name in names:
            for path in (f"/crawls/{name}", f"/{name}", f"/crawls/{name}/"):
                asked = URL(
                    site.base + "".join(one if one in SAFE else quote(one) for one in path), encoded=True
                )
                headers = {"Authorization": f"Bearer {TOKEN}"}
                async with site.session.get(asked, headers=headers, allow_redirects=False) as answer:
                    if answer.status // 100 != 3:
                        continue
                    followed += 1
                    target = urlsplit(ada_url.join_url(str(asked), answer.headers["Location"]))
                    assert (target.scheme, target.netloc) == (base.scheme, base.netloc), path
        assert followed

    run(tmp_path, test)


@pytest.mark.slow
def test_a_command_needs_no_body(tmp_path):
    """As curl -X POST sends it."""

    async def test(site):
        await site.order("a", start=False)
        for command in ("start", "stop"):
            async with site.session.post(
                f"{site.base}/api/v1/crawls/a/{command}",
                headers={"Authorization": f"Bearer {TOKEN}"},
                skip_auto_headers=["Content-Type"],
            ) as answer:
                assert answer.status == 200, await answer.text()
        # Without the token in a header it is what a form of any page can send.
        async with site.session.post(f"{site.base}/api/v1/crawls/a/stop") as answer:
            assert answer.status == 415
        assert (await site.ask("POST", "/crawls", content=b""))[0] == 400

    run(tmp_path, test)


def test_the_form_offers_what_an_order_may_have_and_nothing_else(tmp_path):
    async def test(site):
        status, form = await site.ask("GET", "/form")
        assert status == 200
        assert form["spiders"] == ["broad"]
        rows = {row["name"]: row for row in form["settings"]}
        assert set(rows) == order_settings(private=True)
        assert rows["POLITENESS_MIN_DELAY"] == {
            "name": "POLITENESS_MIN_DELAY",
            "group": "politeness",
            "meaning": SETTING["POLITENESS_MIN_DELAY"].meaning,
            "unit": "seconds",
            "allowed": "a number from 0 to 86400",
            "value": "5",
        }
        assert rows["CLOSESPIDER_ITEMCOUNT"]["meaning"] == "Stop after this number of items; 0: no limit."
        # What is offered can be ordered: each value is one that the setting may have.
        given = [
            f"{name}={row['value']}"
            for name, row in rows.items()
            if row["value"] and row["group"] == "limits"
        ]
        assert (await site.order("offered", settings=given, start=False))[0] == 200

    run(tmp_path, test)


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_crawl_is_ordered_by_the_form(tmp_path):
    async_api = pytest.importorskip("playwright.async_api", reason="playwright is not installed")

    async def test(site):
        async with async_api.async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = await browser.new_page()
            wrong = []
            page.on("pageerror", lambda error: wrong.append(str(error)))
            await page.goto(f"{site.base}/#token={TOKEN}")
            await page.get_by_label("Name", exact=True).fill("by-form")
            await page.get_by_label("Seeds, one a line").fill(SEEDS[0])
            await page.get_by_label("Pages", exact=True).fill("7")
            await page.get_by_label("Links are followed").select_option("host")
            await page.get_by_label("Further setting").select_option("POLITENESS_MIN_DELAY")
            await page.get_by_text("Minimum delay between two requests").wait_for()
            await page.get_by_label("POLITENESS_MIN_DELAY").fill("9")
            await page.get_by_label("Start", exact=True).select_option("later")
            await page.get_by_role("button", name="Order the crawl").click()
            await page.get_by_text("by-form is ordered: stopped.").wait_for()
            await browser.close()
        assert wrong == []
        answer = (await site.ask("GET", "/crawls/by-form"))[1]
        assert answer["settings"] == {"CLOSESPIDER_PAGECOUNT": "7", "POLITENESS_MIN_DELAY": "9"}
        assert answer["arguments"]["stay"] == "host"

    run(tmp_path, test)
