"""The page of the dashboard in a browser, during a crawl of a site whose texts are hostile."""

from __future__ import annotations

import html
import shutil
import signal
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import pytest

from tests import processes
from tests.crawl.test_dashboard import dashboards_of, read, reserved_port
from tests.served import serving
from webcrawl.control.selection import select_crawl_in
from webcrawl.features.traps.quarantine import Kept, Trap, Withheld
from webcrawl.features.traps.store import TrapStore
from webcrawl.storage import technology_in

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect
if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import BrowserContext, Locator, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on the PATH")

MILLISECONDS = 120_000
"""The limit for each event; the machine may be slow."""
TITLE = '<img src=/x onerror="document.title=1">\u202eltr\u2066' + "long " * 2000
HOSTILE = '?a=<img/src=/x/onerror="document.title=1">'


class Site(BaseHTTPRequestHandler):
    """Pages without end, one linked from the other."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        number = int("0" + "".join(filter(str.isdigit, self.path.partition("?")[0])))
        text = f"<title>{html.escape(TITLE)}</title>{self.path}"
        text += f'<a href="/{number + 1}">next</a><a href="/{html.escape(HOSTILE)}">hostile</a>'
        text += "<script>top.document.title = 1</script><img src=/image.png onerror='top.document.title = 1'>"
        body = b"User-agent: *\nDisallow: /forbidden\n" if self.path == "/robots.txt" else text.encode()
        self.send_response(200)
        self.send_header(
            "Content-Type", "text/plain" if self.path == "/robots.txt" else "text/html; charset=utf-8"
        )
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serving(Site) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture(scope="module")
def running(site, start):
    """A crawl that goes on, and the address of its dashboard."""
    with reserved_port() as port:
        crawl = start([f"{site}/1"], DASHBOARD_PORT=port, POLITENESS_MIN_DELAY=0.3)
        crawl.until(lambda: "Dashboard: http" in crawl.stderr)
        # Before there is a browser, whose event loop would be in the way.
        withhold(crawl, f"{site}/999")
        yield crawl, f"http://127.0.0.1:{port}/"
        crawl.signal(signal.SIGINT)
        crawl.wait().assert_ended_well()


class Browser:
    """A browser, and what its pages complained of or asked elsewhere."""

    def __init__(self, context: BrowserContext, base: str) -> None:
        self.context, self.base = context, base
        self.complaints: list[str] = []
        context.set_default_timeout(MILLISECONDS)
        expect.set_options(timeout=MILLISECONDS)
        context.on("console", lambda message: self._complain(message.type, message.text))
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        context.on("request", lambda request: self._asked(request.url))

    def _complain(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def _asked(self, url: str) -> None:
        if not url.startswith(self.base):
            self.complaints.append(f"asked for {url}")

    def page(self, address: str = "") -> Page:
        page = self.context.new_page()
        page.goto(f"{self.base}{address}")
        return page


@pytest.fixture(scope="module")
def chromium(running: tuple[Any, str]) -> Iterator[Any]:
    """A browser for all tests of the file."""
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture
def found(chromium: Any, running: tuple[Any, str]) -> Iterator[Browser]:
    """The browser as somebody has it who has been nowhere."""
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    yield Browser(context, running[1])
    context.close()


def token_of(crawl: Any) -> str:
    return (crawl.path / "dashboard.token").read_text().strip()


def withhold(crawl: Any, url: str) -> None:
    """Put a pattern into the crawl's quarantine that has kept it from a URL."""
    technology = technology_in(crawl.path)
    assert technology is not None
    stored = select_crawl_in(crawl.path, technology)
    assert stored is not None
    trap = Trap("h.test/endless/#", "no end of pages", 5.0, 14, (url,))
    kept = {trap.pattern: Kept([Withheld(url, 1, None)], 1)}
    stored.change_store(TrapStore, lambda store, now: store.put([trap]))
    stored.change_store(TrapStore, lambda store, now: store.withhold(kept, 10))


def moves(locator: Locator) -> None:
    """Wait until an element has another text; not by a function in the page, which its policy forbids."""
    expect(locator).not_to_have_text(locator.inner_text())


def fits(page: Page) -> bool:
    """Return True if nothing sticks out at the side."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def go(page: Page, view: str, title: str | None = None) -> None:
    """Show a view, as a link or a bookmark does."""
    page.evaluate("view => { location.hash = view }", f"#/{view}")
    if title is not None:
        expect(page.locator("h1")).to_have_text(title)


def test_an_operator_looks_and_acts_and_nothing_of_the_web_is_more_than_text(running, found, site):
    crawl, base = running
    # Without the token there is nothing to read; the address that a terminal shows logs in.
    page = found.page()
    page.wait_for_selector("h1:text-is('Log in')")
    refused = page.evaluate(
        "async () => (await fetch('api/v1/session', {method: 'POST', body: '{\"token\": \"wrong\"}', "
        "headers: {'Content-Type': 'application/json'}})).status"
    )
    assert refused == 401
    found.complaints.clear()
    page.goto(f"{base}#token={token_of(crawl)}")
    page.wait_for_selector("h1:text-is('Overview')")
    page.wait_for_selector(".badge:text-is('running')")
    assert page.evaluate("location.hash") == "#/"

    # Figures move.
    pages = page.locator(".large dd.note").first
    expect(pages).not_to_be_empty()
    moves(pages)
    page.wait_for_selector(".graph canvas >> nth=0")
    page.get_by_role("button", name="Log out").wait_for()

    # What a stranger wrote is text.
    hostile = f"{site}/{HOSTILE}"
    crawl.until(lambda: any("onerror" in line["url"] for line in crawl.log()))
    go(page, f"url?u={quote(hostile)}", "URL")
    page.wait_for_selector(".verdict")
    assert "onerror" in page.locator("main").inner_text()
    assert page.locator("main img").count() == 0
    go(page, f"url?u={quote('javascript:alert(1)//' + TITLE)}", "URL")
    page.wait_for_selector(".problem, .verdict")
    assert page.locator("a[href^='javascript:']").count() == 0
    found.complaints[:] = [complaint for complaint in found.complaints if "status of 400" not in complaint]

    # It fits a phone.
    page.set_viewport_size({"width": 360, "height": 740})
    go(page, "", "Overview")
    page.wait_for_selector(".graph canvas >> nth=0")
    assert fits(page)
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="URL", exact=True).click()
    page.wait_for_selector("h1:text-is('URL')")
    assert fits(page)
    page.go_back()
    page.wait_for_selector("h1:text-is('Overview')")
    assert found.complaints == []


def test_forms_steer_the_crawl_and_pages_of_others_do_not(running, found, site):
    crawl, base = running
    page = found.page(f"#token={token_of(crawl)}")
    page.get_by_role("button", name="Pause").wait_for()

    go(page, "settings", "Settings")
    page.get_by_label("POLITENESS_MIN_DELAY").fill("-5")
    page.get_by_role("button", name="Set POLITENESS_MIN_DELAY").click()
    form = page.locator("#setting-POLITENESS_MIN_DELAY")
    expect(form.locator(".outcome.bad")).to_contain_text("must be")
    page.get_by_label("POLITENESS_MIN_DELAY").fill("0.25")
    page.get_by_role("button", name="Set POLITENESS_MIN_DELAY").click()
    expect(form.locator(".badge")).to_have_text("changed")
    crawl.until(lambda: "POLITENESS_MIN_DELAY is 0.25 now, it was 0.3" in crawl.stderr)
    page.get_by_label("Exclude a host").fill("example.org")
    page.get_by_role("button", name="Exclude", exact=True).click()
    page.get_by_role("button", name="Readmit example.org").wait_for()
    found.complaints[:] = [complaint for complaint in found.complaints if "status of 4" not in complaint]

    go(page, "add", "Add URLs")
    page.get_by_label("URLs, one on each line").fill(f"{site}/777\n{site}/forbidden\nnot a URL")
    page.get_by_role("button", name="Add to the crawl").click()
    expect(page.locator("form .outcome")).to_have_text("1 URL of 3 queued.")
    verdicts = page.get_by_role("row")
    expect(verdicts.filter(has_text="/forbidden")).to_contain_text("robots.txt forbids")
    expect(verdicts.filter(has_text="not a URL")).to_contain_text("invalid")
    crawl.until(lambda: any(line["url"] == f"{site}/777" for line in crawl.log()))

    page.get_by_label("URLs, one on each line").fill(f"{site}/888")
    page.get_by_label("fetch next").check()
    page.get_by_role("button", name="Add to the crawl").click()
    expect(page.locator("form .outcome")).to_have_text("1 URL of 1 queued.")
    expect(verdicts.filter(has_text="/888")).to_contain_text("as the next of its host")
    crawl.until(lambda: any(line["url"] == f"{site}/888" for line in crawl.log()))

    go(page, "errors", "Errors")
    page.get_by_role("button", name="Fetch failed URLs again").click()
    expect(page.locator("main .outcome")).to_have_text("No URL that failed is chosen.")
    go(page, "parked", "Parked hosts")
    page.get_by_role("button", name="Contact all of them again").click()
    expect(page.locator("main .outcome")).to_have_text("No host is parked or given up.")
    page.set_viewport_size({"width": 390, "height": 800})
    assert fits(page)
    go(page, "add", "Add URLs")
    assert fits(page)
    page.set_viewport_size({"width": 1400, "height": 900})

    go(page, "traps", "Traps")
    released = page.get_by_role("row").filter(has_text="no end of pages")
    expect(released).to_contain_text("withheld")
    page.get_by_role("button", name="Release h.test/endless/#").click()
    expect(released).to_contain_text("released")
    crawl.until(lambda: any(line["url"] == f"{site}/999" for line in crawl.log()))

    go(page, f"host?key={quote(crawl.log()[0]['key'])}")
    page.get_by_role("button", name="Fetch its failed URLs again").click()
    expect(page.locator(".steering .outcome")).to_have_text("No URL that failed is chosen.")
    page.get_by_label("Delay between two requests").fill("0.4")
    page.get_by_role("button", name="Set the delay").click()
    crawl.until(lambda: "has a delay of at least 0.4 s" in crawl.stderr)

    page.get_by_role("button", name="Pause").click()
    page.wait_for_selector(".badge:text-is('paused')")
    page.get_by_role("button", name="Resume").click()
    page.wait_for_selector(".badge:text-is('running')")

    # A stored page is shown, and runs nothing and asks for nothing.
    assert found.complaints == []
    with (
        found.context.expect_console_message(lambda one: "Blocked script execution" in one.text),
        found.context.expect_console_message(lambda one: "/image.png' violates" in one.text),
    ):
        go(page, f"pages?u={quote(site + '/1')}")
    frame = page.frame_locator("iframe[sandbox='']")
    expect(frame.locator("body")).to_contain_text("next")

    # The browser has a session, and another origin cannot use it.
    stranger = found.page()
    stranger.goto(f"{site}/5")
    for mode in ("no-cors", "cors"):
        stranger.evaluate(
            "([url, mode]) => fetch(url, {method: 'POST', mode, credentials: 'include', "
            'body: \'{"command": "stop"}\'}).catch(() => null)',
            [f"{base}api/v1/commands", mode],
        )
    stranger.evaluate(
        "url => { const form = document.createElement('form'); form.action = url; form.method = 'POST'; "
        "form.enctype = 'text/plain'; document.body.append(form); form.submit() }",
        f"{base}api/v1/commands",
    )
    expect(stranger.locator("body")).to_contain_text("are refused")
    journal = read(crawl, urlsplit(base).port, "/api/v1/changes")["rows"]
    assert "resume" in {one["what"] for one in journal}
    assert "stop" not in {one["what"] for one in journal}


@pytest.mark.soak
def test_graphs_move_and_a_lost_connection_is_told(running, found):
    crawl, _ = running
    page = found.page(f"#token={token_of(crawl)}")
    summary = page.locator(".graph .summary >> nth=0")
    expect(summary).to_contain_text("last")
    moves(summary)
    assert page.locator("#connection").is_hidden()
    [dashboard] = dashboards_of(crawl.process.pid)
    processes.kill(dashboard)
    page.wait_for_selector("#connection:text('Connection lost')")
    page.wait_for_selector("#connection", state="hidden")
    moves(page.locator(".large dd.note").first)
