"""Settings that come out of the environment."""

from __future__ import annotations

import os
import runpy

import pytest

from webcrawl import settings


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("WEBCRAWL_")]:
        monkeypatch.delenv(name)


def in_capitals(names: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in names.items() if name.isupper()}


def module() -> dict[str, object]:
    return in_capitals(runpy.run_module("webcrawl.environment"))


def test_without_variables_it_is_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBCRAWL_LOG_LEVEL", "")
    assert module() == in_capitals(vars(settings))


def test_a_variable_is_a_setting_of_the_project_or_of_scrapy(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"POLITENESS_MIN_DELAY": "7", "CLOSESPIDER_PAGECOUNT": "10"}
    for name, value in given.items():
        monkeypatch.setenv(f"WEBCRAWL_{name}", value)
    assert module() == in_capitals(vars(settings)) | given


def test_the_key_that_signs_requests_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBCRAWL_IDENTITY_KEY", "secret")
    assert module() == in_capitals(vars(settings))


def test_a_name_that_is_none_is_told_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WEBCRAWL_POLITENES_MIN_DELAY", "7")
    with pytest.raises(SystemExit) as refused:
        module()
    assert refused.value.code == 2
    assert capsys.readouterr().err == (
        "scrapy: WEBCRAWL_POLITENES_MIN_DELAY: is not a setting; did you mean POLITENESS_MIN_DELAY?\n"
    )
