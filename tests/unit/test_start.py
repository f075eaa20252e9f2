"""Before a crawl starts: all problems at once, a fresh JOBDIR, and the command that resumes it."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

import pytest
import scrapy
from scrapy.settings import Settings

from webcrawl import start
from webcrawl.config import Configuration, check
from webcrawl.crawl import jobdir
from webcrawl.crawl.arguments import own_names
from webcrawl.errors import JobdirUnusable, Problem
from webcrawl.extensions.summary import RESUME_COMMAND

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.settings import BaseSettings


class Broad(scrapy.Spider):
    name = "broad"
    custom_settings = {"OF_THE_SPIDER": 1}  # noqa: RUF012


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def options(*settings: str, **arguments: str) -> Namespace:
    return Namespace(set=list(settings), spargs=arguments)


def problems(opts: Namespace) -> list[str]:
    settings = Settings()
    before = frozenset(settings)
    named = start.unreadable_settings(opts)
    settings.setdict(dict(item.split("=", 1) for item in opts.set), priority="cmdline")
    return [str(problem) for problem in [*named, *start.find_problems(settings, Broad, opts, before)]]


def test_settings_and_arguments_are_checked_in_one_go() -> None:
    found = problems(
        options("POLITENESS_MIN_DELAY=x", "POLITENES_KEY=host", "FEEDS={a", seeds="/nope", allow="(")
    )
    assert [problem.split(":")[0] for problem in found] == [
        "FEEDS", "POLITENES_KEY", "POLITENESS_MIN_DELAY", "-a allow", "-a seeds",
    ]  # fmt: skip


def test_settings_that_only_the_spider_knows_are_known() -> None:
    assert problems(options("OF_THE_SPIDER=2", seeds="http://a.test/")) == []


def test_a_log_file_that_cannot_be_is_named(tmp_path: Path) -> None:
    for path in ("no/such/folder/x.log", str(tmp_path)):
        (problem,) = problems(options(f"LOG_FILE={path}", seeds="http://a.test/"))
        assert problem.startswith("LOG_FILE: must be a file in a folder that exists")


def test_a_jobdir_that_holds_a_crawl_needs_no_seeds(tmp_path: Path) -> None:
    (problem,) = problems(options(f"JOBDIR={tmp_path}"))
    assert problem.startswith("nothing to crawl")
    (tmp_path / "frontier.db").touch()
    assert problems(options(f"JOBDIR={tmp_path}")) == []


def test_the_settings_of_the_command_are_left_as_they_are() -> None:
    class Changing(Broad):
        @classmethod
        def update_settings(cls, settings: BaseSettings) -> None:
            super().update_settings(settings)
            settings["EXTENSIONS"]["no.such.Extension"] = None
            settings.getwithbase("DOWNLOADER_MIDDLEWARES")["no.such.Middleware"] = None
            settings["PATTERNS"].append("b")
            settings["BY_NAME"]["x"]["y"] = 1
            settings.set("OF_ALL", 2, priority="spider")

    settings = Settings({"PATTERNS": ["a"], "BY_NAME": {"x": {}}, "OF_ALL": 1})
    before = settings.copy_to_dict()
    assert start.find_problems(settings, Changing, options(seeds="http://a.test/"), frozenset()) == []
    assert settings.copy_to_dict() == before


def test_the_settings_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    from_settings = Configuration.from_settings

    def counted(settings: BaseSettings) -> Configuration:
        read.append(settings)
        return from_settings(settings)

    monkeypatch.setattr(Configuration, "from_settings", counted)
    assert problems(options(seeds="http://a.test/")) == []
    assert len(read) == 1


def complete(monkeypatch: pytest.MonkeyPatch, *argv: str, **given: Any) -> Settings:
    monkeypatch.setattr("sys.argv", ["scrapy", *argv])
    settings = Settings(given)
    start.complete(settings, Broad)
    return settings


def test_without_a_jobdir_a_fresh_one_is_chosen_and_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    settings = complete(monkeypatch, "broad", "-a", "seeds=my seeds.txt")
    directory = settings["JOBDIR"]
    assert directory.startswith("crawls/broad-2")
    resume = f"scrapy crawl broad -a 'seeds=my seeds.txt' -s JOBDIR={directory}"
    assert settings[RESUME_COMMAND] == resume
    assert capsys.readouterr().err == f"The crawl is kept in {directory}\nTo resume it: {resume}\n"
    assert [path for path in tmp_path.rglob("*") if path.is_dir()] == [
        tmp_path / "crawls",
        tmp_path / directory,
    ]


def test_a_folder_that_is_there_is_never_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # No clock decides: whoever creates the folder has it.
    folders = [jobdir.new_folder("broad") for _ in range(4)]
    assert len(set(folders)) == 4
    assert all((tmp_path / folder).is_dir() for folder in folders)


def test_a_folder_that_cannot_be_made_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "crawls").write_text("a file")
    with pytest.raises(JobdirUnusable, match=r"^JOBDIR crawls/broad-.* cannot be used: "):
        jobdir.new_folder("broad")


def test_a_given_jobdir_is_resumed_by_the_same_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = complete(monkeypatch, "broad", "-s", "JOBDIR=x", JOBDIR="x")
    assert settings[RESUME_COMMAND] == "scrapy crawl broad -s JOBDIR=x"
    assert capsys.readouterr().err == ""


def test_seeds_from_standard_input_are_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in (["-a", "seeds=-"], ["-aseeds=-"]):
        settings = complete(monkeypatch, "broad", *given, "-a", "allow=-", JOBDIR="x")
        assert settings[RESUME_COMMAND] == "scrapy crawl broad -a allow=-"


def test_a_worker_of_a_shared_crawl_is_told_what_is_kept_in_its_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = complete(monkeypatch, "broad", REDIS_URL="redis://localhost:6379/0", WORKER_NAME="w1")
    assert settings["JOBDIR"].startswith("crawls/broad-w1-2")
    assert capsys.readouterr().err.startswith(f"The data of this worker is kept in {settings['JOBDIR']}\n")


def test_a_crawl_in_memory_has_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = complete(monkeypatch, "broad", FRONTIER_BACKEND="memory")
    assert settings["JOBDIR"] is None


def test_the_user_agent_is_composed_for_every_component(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = complete(monkeypatch, "broad", CRAWLER_CONTACT="me@example.org")
    assert settings["USER_AGENT"].endswith(" (+me@example.org)")


SPIDERS = {"SPIDER_MODULES": ["webcrawl.spiders"]}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["brod"], "brod: is no spider; did you mean broad?"),
        (["xyzzy"], "xyzzy: is no spider; there is broad"),
        (["broad", "--fast"], "--fast: is no option of this command"),
        (["broad", "more"], "more: is one argument too many after the spider broad"),
    ],
)
def test_what_is_no_spider_is_named(args: list[str], said: str) -> None:
    found = start.spider_named(args, Settings(SPIDERS))
    assert isinstance(found, Problem)
    assert str(found).startswith(said)


def test_the_spider_is_found_by_its_name() -> None:
    found = start.spider_named(["broad"], Settings(SPIDERS))
    assert isinstance(found, type)
    assert found.name == "broad"


def test_no_spider_at_all_is_told_with_those_that_there_are() -> None:
    found = start.spider_named([], Settings(SPIDERS))
    assert isinstance(found, Problem)
    assert "no spider; give the name of one: " in found.message
    assert "broad" in found.message


def test_a_name_of_the_users_own_passes_with_a_plus_sign() -> None:
    opts = options("+MYPIPE_DB=1", "+DEPTH_LIMITS=3", "DEPTH_LIMIT=2", seeds="http://a.test/")
    own = own_names(opts, Settings({"SETTINGS_PREFIXES": ["X_"]}))
    assert opts.set == [
        "MYPIPE_DB=1", "DEPTH_LIMITS=3", "DEPTH_LIMIT=2", "SETTINGS_PREFIXES=X_,DEPTH_LIMITS,MYPIPE_DB",
    ]  # fmt: skip
    given = Settings()
    given.setdict(dict(item.split("=", 1) for item in opts.set), priority="cmdline")
    assert start.find_problems(given, Broad, opts, own) == []
    assert check(given) == [], "the crawl itself takes them too"
    (problem,) = problems(options("MYPIPE_DB=1", seeds="http://a.test/"))
    assert problem.startswith("MYPIPE_DB: is not a setting")


def test_a_contact_that_is_none_is_one_problem() -> None:
    assert problems(options("CRAWLER_CONTACT=nonsense", seeds="http://example.org/")) == [
        "CRAWLER_CONTACT: must be a web or e-mail address, such as https://your.site/crawl, not 'nonsense'"
    ]


def test_urls_of_a_spider_without_a_scheme_are_named_and_local_ones_need_no_contact() -> None:
    class Local(scrapy.Spider):
        name = "local"
        start_urls = ["localhost:8000/x", "http://localhost/"]  # noqa: RUF012
        allowed_domains = ["localhost:8000", ""]  # noqa: RUF012

    found = start.find_problems(Settings(), Local, options(), frozenset())
    assert [str(problem) for problem in found] == [
        "start_urls: 'localhost:8000/x' has no scheme; write 'https://localhost:8000/x'"
    ]
