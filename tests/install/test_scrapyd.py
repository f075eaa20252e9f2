"""A real scrapyd: projects are deployed by its client, and jobs run to their end."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from tests.crawl.crawling import Jobdir
from tests.fakeweb.ports import closed_port
from tests.install import project

SECONDS = 120.0
"""A deployment or a job that takes longer counts as one that does not end."""
CONFIGURATION = """[scrapyd]
bind_address = 127.0.0.1
http_port = {port}
poll_interval = 0.1
logs_dir = logs
items_dir = items
jobs_dir = jobs
"""
DEPLOYED = """[settings]
default = {settings}

[deploy]
url = {url}
project = {name}
"""
QUICK = ("POLITENESS_MIN_DELAY=0", "POLITENESS_FACTOR=0", "FETCH_PRIVATE_ADDRESSES=1")


class Scrapyd:
    """A server in a folder, asked over its API."""

    def __init__(self, folder, url):
        self.folder = folder
        self.url = url

    def ask(self, service, **fields):
        """Return an answer; fields make it a POST."""
        data = urlencode(fields, doseq=True).encode() if fields else None
        with urlopen(f"{self.url}{service}", data, timeout=SECONDS) as response:
            answer = json.load(response)
        assert answer["status"] == "ok", answer
        return answer

    def deploy(self, folder, name, settings):
        """Build the egg of the project in ``folder`` and hand it in, as ``scrapyd-deploy`` does."""
        (folder / "scrapy.cfg").write_text(DEPLOYED.format(settings=settings, url=self.url, name=name))
        command = [sys.executable, "-m", "scrapyd_client.deploy"]
        environment = project.environment()
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def run(self, name, spider, **arguments):
        """Run a job to its end and return its number."""
        job = self.ask("schedule.json", project=name, spider=spider, setting=QUICK, **arguments)["jobid"]
        deadline = time.monotonic() + SECONDS
        while job not in [one["id"] for one in self.ask("listjobs.json")["finished"]]:
            assert time.monotonic() < deadline, "the job does not end"
            time.sleep(0.05)
        return job

    def file(self, kind, name, spider, job):
        """Return the text of the log or the items of a job."""
        (path,) = (self.folder / kind / name / spider).glob(f"{job}.*")
        return path.read_text(encoding="utf-8")


@contextmanager
def serving(folder, python=sys.executable):
    """Serve scrapyd in a new folder, by this interpreter, with nothing of this tree on its path."""
    folder.mkdir()
    process, port = began(folder, python)
    try:
        yield Scrapyd(folder, f"http://127.0.0.1:{port}/")
    finally:
        process.terminate()
        process.wait(SECONDS)


def began(folder, python):
    """Start scrapyd and return it with its port, which it cannot choose itself: another one if it is taken."""
    said = folder / "output.txt"
    deadline = time.monotonic() + SECONDS
    while True:
        with closed_port() as port:
            (folder / "scrapyd.conf").write_text(CONFIGURATION.format(port=port))
        with said.open("wb") as output:
            process = subprocess.Popen(
                [python, "-m", "scrapyd"],
                cwd=folder,
                env=project.environment(),
                stdout=output,
                stderr=output,
            )
        while process.poll() is None:
            if f"Site starting on {port}" in said.read_text():
                return process, port
            assert time.monotonic() < deadline, "scrapyd does not listen"
            time.sleep(0.05)
        assert "CannotListenError" in said.read_text(), said.read_text()


def test_installed_it_runs_the_jobs_of_a_project_with_the_add_on(installed, serve, tmp_path):
    """The wheel is installed in an environment of its own, with scrapyd."""
    web = serve(hosts=1, pages=4)
    made = project.make(tmp_path / "shop", Path("/nowhere"), python=str(installed))
    with serving(tmp_path / "scrapyd", str(installed)) as server:
        server.deploy(made.folder, "shop", "shop.settings")
        assert server.ask("listspiders.json?project=shop")["spiders"] == ["login", "site"]
        job = server.run("shop", "site", origin=web.web.origin(0))

    log = server.file("logs", "shop", "site", job)
    items = server.file("items", "shop", "site", job).splitlines()
    assert "Spider closed (finished)" in log, log
    assert "Traceback" not in log
    assert sorted(json.loads(item)["url"] for item in items) == sorted(web.web.urls())
    kept = Jobdir(tmp_path / "scrapyd/jobs/shop/site" / job)
    assert sorted(kept.fetched()) == sorted(web.web.urls())
    assert kept.assert_sound().queued == 0
    assert (kept.path / "report.html").exists()
    assert web.hits()[0].path == "/robots.txt"
    where = subprocess.run(
        [installed, "-c", "import webcrawl; print(webcrawl.__file__)"],
        cwd=tmp_path,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(where.stdout.strip()).is_relative_to(installed.parents[1])


@pytest.mark.soak
def test_this_tree_is_a_project_that_can_be_deployed(tree, serve, tmp_path):
    """Its egg is a zip, and the only place where the code is."""
    copy = tmp_path / "webcrawl"
    shutil.copytree(tree, copy, ignore=shutil.ignore_patterns("build", "*.egg-info"))
    web = serve(hosts=1, pages=4)
    with serving(tmp_path / "scrapyd") as server:
        server.deploy(copy, "webcrawl", "webcrawl.settings")
        assert server.ask("listspiders.json?project=webcrawl")["spiders"] == ["broad"]
        job = server.run("webcrawl", "broad", seeds=web.seeds[0])

    assert "Spider closed (finished)" in server.file("logs", "webcrawl", "broad", job)
    assert len(server.file("items", "webcrawl", "broad", job).splitlines()) == 4
    assert len(Jobdir(tmp_path / "scrapyd/jobs/webcrawl/broad" / job).fetched()) == 4
