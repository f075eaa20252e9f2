"""The settings of a crawl that other processes judge by."""

from __future__ import annotations

from scrapy.settings import Settings

from webcrawl import settings as components
from webcrawl.config import SETTINGS
from webcrawl.features.steering.kept_settings import KEPT, kept_settings, settings_of_crawl
from webcrawl.features.steering.store import WorkerState


def settings(**given: object) -> Settings:
    made = Settings()
    made.setmodule(components)
    for name, value in given.items():
        made.set(name, value, priority="cmdline")
    return made


def test_what_may_hold_a_secret_is_not_kept() -> None:
    secret = "s3cret-w0rd"
    texts = {
        item.name: f"https://user:{secret}@x.example/" for item in SETTINGS if not item.name.endswith("_FILE")
    }
    given = {name: text for name, text in texts.items() if name not in KEPT}
    given |= {"FTP_PASSWORD": secret, "MAIL_PASS": secret, "AWS_SECRET_ACCESS_KEY": secret}
    kept = kept_settings(settings(FETCH_PRIVATE_ADDRESSES=1, **given), {})
    assert kept["FETCH_PRIVATE_ADDRESSES"] == "1"
    assert secret not in str(kept)


def test_the_command_line_is_stronger_than_the_crawl_and_the_crawl_than_the_project() -> None:
    crawl = WorkerState(
        "w0", 2.0, start={"DEPTH_LIMIT": "7", "PAGE_BUDGET": "9"}, kept={"FETCH_PRIVATE_ADDRESSES": "1"}
    )
    older = WorkerState("w1", 1.0, start={"DEPTH_LIMIT": "8"})
    mine = settings(PAGE_BUDGET=3)
    mine.set("DEPTH_LIMIT", 5, priority="project")
    both = settings_of_crawl(mine, [crawl, older])
    assert [both.getint(name) for name in ("DEPTH_LIMIT", "PAGE_BUDGET", "FETCH_PRIVATE_ADDRESSES")] == [
        7,
        3,
        1,
    ]
    assert mine.getint("DEPTH_LIMIT") == 5


def test_paths_are_kept_for_processes_in_other_folders(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    kept = kept_settings(settings(EXCLUSION_FILE="no.txt"), {"DENY_FILE": "deny.txt", "ALLOW_FILE": ""})
    assert kept["EXCLUSION_FILE"] == str(tmp_path / "no.txt")
    assert kept["DENY_FILE"] == str(tmp_path / "deny.txt")
    assert "ALLOW_FILE" not in kept


def test_a_state_of_an_older_version_keeps_nothing() -> None:
    mine = settings(DEPTH_LIMIT=4)
    assert settings_of_crawl(mine, [WorkerState("w0", 1.0)]) is mine
