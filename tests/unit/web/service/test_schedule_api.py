"""The API of schedules on loopback, with crawls that have no processes and a clock of the test."""

from __future__ import annotations

import asyncio
import json
import shutil

import pytest

from tests.unit.web.service.serving import SEEDS, TOKEN, run
from tests.unit.web.service.supervising import FINISHED

HOUR = 3600.0
NOON = 1_790_000_000 // 86_400 * 86_400 + 12 * HOUR
"""Of 21 September 2026 in UTC."""


class Clock:
    def __init__(self):
        self.now = NOON

    def __call__(self):
        return self.now


def schedule(name="news", **values):
    return {"name": name, "cron": "0 5 * * *", "zone": "Europe/Berlin", "seeds": SEEDS, **values}


async def until(condition):
    while not (value := await condition()):  # noqa: ASYNC110 - a thread of the service does it
        await asyncio.sleep(0.01)
    return value


def test_a_schedule_from_its_order_to_its_removal(tmp_path):
    clock = Clock()

    async def test(site):
        status, row = await site.ask(
            "POST", "/schedules", schedule(settings=["DEPTH_LIMIT=3"], arguments=["stay=host"])
        )
        assert status == 200, row
        # 05:00 in Berlin is 03:00 in UTC.
        assert row["next_at"] == row["upcoming"][0] == NOON + 15 * HOUR
        assert (row["meaning"], row["enabled"], row["going"], row["runs"]) == (
            "At 05:00 every day",
            True,
            None,
            [],
        )
        assert (row["seeds"], row["settings"], row["arguments"]) == (
            SEEDS,
            {"DEPTH_LIMIT": "3"},
            {"stay": "host"},
        )
        assert row["created_by"] == row["changed_by"] == "dashboard 127.0.0.1"
        assert {path.name for path in (tmp_path / ".service").iterdir()} == {"lock", "schedules"}
        assert (tmp_path / ".service/schedules/news.json").stat().st_mode & 0o077 == 0 or (
            (tmp_path / ".service").stat().st_mode & 0o077 == 0
        )

        clock.now = NOON + 15 * HOUR + 0.5
        name = "news-20260922T030000Z"
        await until(lambda: started(site, name))
        status, crawl = await site.ask("GET", f"/crawls/{name}")
        assert (crawl["ordered_by"], crawl["schedule"]) == ("schedule news", "news")
        assert (tmp_path / f".service/{name}.seeds").read_text().split() == SEEDS
        assert crawl["settings"] == {"DEPTH_LIMIT": "3"}
        [row] = (await site.ask("GET", "/schedules"))[1]["rows"]
        assert (row["going"], row["next_at"]) == (name, NOON + 39 * HOUR)
        [start] = row["runs"]
        assert (start["planned_at"], start["outcome"], start["crawl"]) == (NOON + 15 * HOUR, "started", name)

        status, answer = await site.ask("POST", "/schedules/news/run")
        assert (status, answer["error"]) == (409, f"news is not started: {name} was still going")
        site.machine.exits(name, FINISHED)
        await until(lambda: ended(site))
        [start] = (await site.ask("GET", "/schedules/news"))[1]["runs"]
        assert (start["state"], start["reason"]) == ("ended", "finished")

        status, row = await site.ask("POST", "/schedules/news/run", token="mias-token")
        assert status == 200
        assert row["runs"][0]["by"] == "mia, dashboard 127.0.0.1"
        crawl = (await site.ask("GET", f"/crawls/{row['going']}"))[1]
        assert crawl["ordered_by"] == "mia, dashboard 127.0.0.1"

        assert (await site.ask("DELETE", "/schedules/news"))[1] == {"removed": "news"}
        assert (await site.ask("GET", f"/crawls/{name}"))[0] == 200
        for method, path in [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/run")]:
            assert (await site.ask(method, f"/schedules/news{path}"))[0] == 404

    run(tmp_path, test, clock=clock)


async def started(site, name):
    return name in site.machine.running


async def ended(site):
    return (await site.ask("GET", "/schedules/news"))[1]["runs"][0]["outcome"] == "ended"


def test_a_change_leaves_what_it_does_not_name(tmp_path):
    clock = Clock()

    async def test(site):
        before = (await site.ask("POST", "/schedules", schedule(overlap="queue", keep=3)))[1]
        change = {"cron": "30 * * * *", "zone": "UTC", "settings": ["DEPTH_LIMIT=2"]}
        status, after = await site.ask("PATCH", "/schedules/news", change, token="mias-token")
        assert status == 200, after
        assert after["next_at"] == NOON + HOUR / 2
        assert after["changed_by"] == "mia, dashboard 127.0.0.1"
        for name in ("seeds", "overlap", "keep", "window_seconds", "created_by", "arguments", "enabled"):
            assert after[name] == before[name]
        assert after["settings"] == {"DEPTH_LIMIT": "2"}
        paused = (await site.ask("PATCH", "/schedules/news", {"enabled": False}))[1]
        assert (paused["enabled"], paused["next_at"], paused["upcoming"]) == (False, None, [])
        status, _ = await site.ask("PATCH", "/schedules/news", {"enabled": True, "keep": 0})
        assert status == 200

    run(tmp_path, test, clock=clock)


def test_a_wrong_schedule_is_refused_and_leaves_nothing(tmp_path):
    async def test(site):
        for values, error in [
            ({"name": "a/b"}, "name: must be a letter or digit, then up to 45 letters"),
            ({"name": "a" * 47}, "name: must be a letter or digit, then up to 45 letters"),
            ({"cron": "0 5 * *"}, "cron: must have five fields"),
            ({"cron": "0 25 * * *"}, "cron: has a wrong hour"),
            ({"zone": "Berlin"}, "zone: 'Berlin' is no time zone"),
            ({"spider": "brod"}, "seeds: are those of the spider broad"),
            ({"seeds": []}, "nothing to crawl"),
            ({"seeds": ["/etc/passwd"]}, "/etc/passwd"),
            ({"settings": ["ITEM_PIPELINES={}"]}, "ITEM_PIPELINES: is not among the settings"),
            ({"settings": ["DEPTH_LIMIT"]}, "settings: must be a list of NAME=VALUE"),
            ({"arguments": ["seeds=/etc/passwd"]}, "-a seeds: cannot name a file"),
            ({"overlap": "stop"}, "overlap must be one of skip, queue"),
            ({"window_seconds": 10}, "window_seconds must be a whole number at least 60"),
            ({"keep": -1}, "keep must be a whole number"),
        ]:
            status, answer = await site.ask("POST", "/schedules", schedule(**values))
            assert (status, error in answer["error"]) == (400, True), answer
        assert (await site.ask("GET", "/schedules"))[1] == {"rows": []}
        assert {path.name for path in (tmp_path / ".service").iterdir()} == {"lock"}

        assert (await site.ask("POST", "/schedules", schedule()))[0] == 200
        assert (await site.ask("POST", "/schedules", schedule()))[0] == 409
        for change in (
            {"cron": "x"},
            {"settings": ["SPIDER_MODULES=x"]},
            {"name": "b"},
            {"repetition": "resume"},
        ):
            status, answer = await site.ask("PATCH", "/schedules/news", change)
            assert status == 400, answer
        assert (await site.ask("GET", "/schedules/news"))[1]["cron"] == "0 5 * * *"

    run(tmp_path, test)


def test_a_token_that_reads_changes_no_schedule(tmp_path):
    async def test(site):
        assert (await site.ask("POST", "/schedules", schedule()))[0] == 200
        for token, status in (("guests-token", 403), ("wrong", 401), ("", 401)):
            for method, path, body in [
                ("POST", "/schedules", schedule("other")),
                ("PATCH", "/schedules/news", {"enabled": False}),
                ("DELETE", "/schedules/news", None),
                ("POST", "/schedules/news/run", None),
            ]:
                assert (await site.ask(method, path, body, token=token))[0] == status
        for path in ("/schedules", "/schedules/news"):
            assert (await site.ask("GET", path, token="guests-token"))[0] == 200
            assert (await site.ask("GET", path, token=""))[0] == 401
        [row] = (await site.ask("GET", "/schedules"))[1]["rows"]
        assert (row["enabled"], row["runs"]) == (True, [])

    run(tmp_path, test)


def test_the_name_of_a_crawl_that_a_schedule_resumes_is_the_schedules(tmp_path):
    async def test(site):
        assert (await site.order("a"))[0] == 200
        status, answer = await site.ask("POST", "/schedules", schedule("a", repetition="resume"))
        assert (status, answer["error"]) == (
            409,
            "there is a crawl a already; a schedule resumes a crawl of its own",
        )
        assert (await site.ask("POST", "/schedules", schedule("b", repetition="resume")))[0] == 200
        status, answer = await site.order("b")
        assert (status, answer["error"]) == (409, "the schedule b orders a crawl of this name")
        assert (await site.ask("POST", "/schedules/b/run"))[0] == 200
        assert (await site.ask("GET", "/crawls/b"))[1]["schedule"] == "b"

    run(tmp_path, test)


def test_schedules_are_there_after_a_restart_and_one_that_cannot_be_read_costs_itself_alone(tmp_path):
    clock = Clock()

    async def first(site):
        for name in ("a", "b", "c"):
            assert (await site.ask("POST", "/schedules", schedule(name, window_seconds=7200)))[0] == 200

    run(tmp_path, first, clock=clock)
    folder = tmp_path / ".service/schedules"
    (folder / "a.json").write_text(json.dumps({"name": "a"}))
    (folder / "d.json").write_bytes((folder / "b.json").read_bytes())
    # The service was off at 05:00 in Berlin.
    clock.now = NOON + 16 * HOUR

    async def second(site):
        assert [row["name"] for row in (await site.ask("GET", "/schedules"))[1]["rows"]] == ["b", "c"]
        await until(lambda: started(site, "b-20260922T030000Z"))
        await until(lambda: started(site, "c-20260922T030000Z"))
        assert len(site.machine.started) == 2

    run(tmp_path, second, clock=clock)


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_schedule_is_made_started_changed_and_deleted_on_the_page(tmp_path):
    async_api = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
    clock = Clock()

    async def test(site):
        async with async_api.async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = await browser.new_page()
            wrong = []
            page.on("pageerror", lambda error: wrong.append(str(error)))
            await page.goto(f"{site.base}/#token={TOKEN}")
            await page.get_by_label("Name", exact=True).fill("news")
            await page.get_by_label("Seeds, one a line").fill(SEEDS[0])
            await page.get_by_label("Pages", exact=True).fill("7")
            assert not await page.get_by_label("Cron expression").is_visible()
            await page.get_by_label("Start", exact=True).select_option("times")
            await page.get_by_label("Cron expression").fill("0 25 * * *")
            await page.get_by_role("button", name="Make the schedule").click()
            await page.get_by_text("Cron: has a wrong hour.").wait_for()
            await page.get_by_label("Cron expression").fill("0 5 * * *")
            await page.get_by_label("Time zone").select_option("Europe/Berlin")
            await page.get_by_label("A start while the last crawl").select_option("queue")
            await page.get_by_label("Latest start, in minutes").fill("30")
            await page.get_by_role("button", name="Make the schedule").click()
            await page.get_by_text("At 05:00 every day; its next start is at 2026-09-22 03:00:00.").wait_for()
            row = (await site.ask("GET", "/schedules/news"))[1]
            assert (row["cron"], row["zone"], row["overlap"]) == ("0 5 * * *", "Europe/Berlin", "queue")
            assert (row["window_seconds"], row["keep"], row["repetition"]) == (1800, 0, "new")
            assert (row["seeds"], row["settings"]) == (SEEDS, {"CLOSESPIDER_PAGECOUNT": "7"})

            await page.get_by_role("button", name="Start now the schedule news").click()
            await page.get_by_role("link", name="2026-09-21 12:00:00").wait_for()
            assert list(site.machine.running) == ["news-20260921T120000Z"]
            await page.get_by_role("button", name="Show the schedule news").click()
            await page.get_by_role("link", name="news-20260921T120000Z").first.wait_for()
            shown = page.get_by_role("region", name="Schedule news")
            await shown.get_by_label("Cron expression").fill("0 6 * * *")
            await shown.get_by_role("button", name="Change the schedule").click()
            await page.get_by_text("Changed; the next start is at 2026-09-22 04:00:00.").wait_for()
            await page.get_by_role("button", name="Pause the schedule news").click()
            await page.get_by_role("button", name="Go on the schedule news").wait_for()
            assert (await site.ask("GET", "/schedules/news"))[1]["next_at"] is None
            await page.get_by_role("button", name="Delete the schedule news").click()
            await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
            await page.get_by_text("There is no schedule.").wait_for()
            await browser.close()
        assert wrong == []
        assert (await site.ask("GET", "/schedules"))[1] == {"rows": []}

    run(tmp_path, test, clock=clock)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_the_page_offers_no_change_to_a_token_that_reads(tmp_path):
    async_api = pytest.importorskip("playwright.async_api", reason="playwright is not installed")

    async def test(site):
        assert (await site.ask("POST", "/schedules", schedule()))[0] == 200
        async with async_api.async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = await browser.new_page()
            await page.goto(f"{site.base}/#token=guests-token")
            await page.get_by_role("button", name="Show the schedule news").click()
            await page.get_by_role("heading", name="Next starts").wait_for()
            buttons = await page.get_by_role("button").all_inner_texts()
            await browser.close()
        assert [text.splitlines()[0] for text in buttons] == ["Log out guest", "Show", "Close"]

    run(tmp_path, test)
