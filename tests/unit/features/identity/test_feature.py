"""The keys of a running crawl: read again when their file changes, and kept when the new file cannot be used."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from webcrawl.config import Configuration
from webcrawl.features.identity import keys
from webcrawl.features.identity.feature import IdentityFeature
from webcrawl.features.identity.keys import KeyRing


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    keys.write_file(path, KeyRing([keys.new_key()]))
    return path


def feature(path: Path) -> IdentityFeature:
    configuration = Configuration(identity_key_file=path, identity_agent="https://bot.example.org")
    return IdentityFeature(cast("Any", SimpleNamespace(configuration=configuration)))


def signs_with(feature: IdentityFeature) -> str | None:
    key = feature.signer.key_at(1_800_000_000.0)
    return None if key is None else key.thumbprint


def look(feature: IdentityFeature) -> None:
    asyncio.run(feature._look())


def test_a_changed_file_is_read_again(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    running = feature(path)
    old = signs_with(running)
    keys.write_file(path, KeyRing([keys.new_key()]))
    assert signs_with(running) == old
    look(running)
    new = signs_with(running)
    assert new not in (None, old)
    look(running)
    assert [record.getMessage() for record in caplog.records] == [
        f"Requests are signed with the key {new} of https://bot.example.org"
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda path: path.write_text("{"), "is neither a JSON Web Key nor PEM"),
        (lambda path: path.chmod(0o644), "can be read by others"),
        (lambda path: path.unlink(), "cannot be read"),
    ],
)
def test_the_keys_stay_if_the_file_cannot_be_used(
    path: Path, caplog: pytest.LogCaptureFixture, change: Any, reason: str
) -> None:
    running = feature(path)
    old = signs_with(running)
    change(path)
    look(running)
    look(running)
    assert signs_with(running) == old
    [error] = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert reason in error
    assert error.endswith("the keys that were read before stay")


def test_an_error_says_that_no_key_is_in_force_any_more(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keys.write_file(path, KeyRing([keys.new_key()]).rotated(keys.new_key(4e9), ends_at=1.0, now=0.0))
    look(feature(path))
    [error] = [record.getMessage() for record in caplog.records]
    assert error.startswith("No key of the crawler is in force any more: requests are not signed.")
