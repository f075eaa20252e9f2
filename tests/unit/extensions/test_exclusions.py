"""The exclusion file is looked at by itself and when it is asked for; what is in force is told."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from webcrawl.config import Configuration
from webcrawl.crawl import exclusion_state
from webcrawl.extensions import exclusions as extension
from webcrawl.scope.exclusion import ExclusionList, Refreshed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path


@dataclass
class Folder:
    path: Path


@dataclass
class Intake:
    """Counts how often links that were found lately are forgotten."""

    forgotten: int = 0

    def forget(self) -> None:
        self.forgotten += 1


@dataclass
class Machine:
    """As much of one as the extension sees."""

    jobdir: Folder
    configuration: Configuration
    backend: object = None
    now: float = 1000.0
    intake: Intake = field(default_factory=Intake)

    def clock(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extension, "ASKED_SECONDS", 0.0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "list"
    path.write_text("a.test\n")
    return path


def watched(file: Path, story: Callable[[Machine, ExclusionList], Awaitable[None]]) -> Path:
    """Let it watch while the story happens; the JOBDIR."""
    folder = file.parent / "job"
    folder.mkdir()
    context = Machine(Folder(folder), replace(Configuration(), exclusion_check_seconds=60.0))
    exclusions = ExclusionList.load(file, 0)

    async def run() -> None:
        made = extension.Exclusions(exclusions, context)
        made.task.begin()
        await story(context, exclusions)
        made.task.end()

    asyncio.run(run())
    return folder


async def until(what: Callable[[], object]) -> None:
    for _ in range(10_000):
        if what():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came")


def write(file: Path, text: str) -> None:
    file.write_text(text)


async def turns(number: int = 20) -> None:
    for _ in range(number):
        await asyncio.sleep(0.001)


def test_what_is_in_force_is_told_from_the_beginning(file: Path) -> None:
    async def story(context: Machine, exclusions: ExclusionList) -> None:
        await until(lambda: exclusion_state.read(context.jobdir.path))

    folder = watched(file, story)
    told = json.loads((folder / "exclusions.json").read_text())
    assert told == {
        "version": ExclusionList.load(file).version,
        "entries": 1,
        "since": 1000.0,
        "process": os.getpid(),
    }


def test_a_change_is_seen_after_the_interval_or_at_once_when_somebody_asks(file: Path) -> None:
    async def story(context: Machine, exclusions: ExclusionList) -> None:
        folder = context.jobdir.path
        await until(lambda: exclusion_state.read(folder))
        write(file, "a.test\nb.test\n")
        await turns()
        assert len(exclusions) == 1
        exclusion_state.request_read(folder)
        await until(lambda: exclusion_state.read(folder).entries == 2)
        write(file, "a.test\nb.test\nc.test\n")
        await turns()
        assert len(exclusions) == 2
        context.now += 60
        await until(lambda: len(exclusions) == 3)
        # Links of a site that is no longer excluded may be found again at once.
        await until(lambda: context.intake.forgotten == 2)

    watched(file, story)


def test_who_asks_is_heard_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is seen while the asking is still being written down is what was there before."""
    told, seen, dated = [exclusion_state.request_number(tmp_path)], [], os.utime

    def looked_at_meanwhile(*where: object, **times: object) -> None:
        dated(*where, **times)
        seen.append(exclusion_state.request_number(tmp_path) == told[-1])

    monkeypatch.setattr(os, "utime", looked_at_meanwhile)
    for _ in range(2):
        exclusion_state.request_read(tmp_path)
        told.append(exclusion_state.request_number(tmp_path))
    assert seen == [True, True]
    assert len(set(told)) == 3
    assert [path.name for path in tmp_path.iterdir()] == [exclusion_state.LOOK]


def test_a_wrong_line_is_named_and_the_list_before_stays(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(context: Machine, exclusions: ExclusionList) -> None:
        await until(lambda: exclusion_state.read(context.jobdir.path))
        write(file, "a.test\nnot a host\n")
        exclusion_state.request_read(context.jobdir.path)
        await until(lambda: "stays in force" in caplog.text)
        assert exclusions.domain_objection("a.test")

    with caplog.at_level(logging.INFO):
        watched(file, story)
    assert f"{file}: line 2: not a domain name: not a host" in caplog.text
    assert "the list read before stays in force: 1 entries" in caplog.text


def test_a_full_disk_does_not_keep_a_list_from_being_in_force(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = exclusion_state.write
    full = [True]

    def tell(folder: Path, what: exclusion_state.InForce) -> None:
        if full[0]:
            raise OSError(28, "No space left on device")
        told(folder, what)

    monkeypatch.setattr(exclusion_state, "write", tell)

    async def story(context: Machine, exclusions: ExclusionList) -> None:
        write(file, "b.test\n")
        exclusion_state.request_read(context.jobdir.path)
        await until(lambda: exclusions.domain_objection("b.test"))
        full[0] = False
        context.now += 60
        await until(lambda: exclusion_state.read(context.jobdir.path))

    watched(file, story)


def test_a_look_that_fails_is_made_again_at_once(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story(context: Machine, exclusions: ExclusionList) -> None:
        await until(lambda: exclusion_state.read(context.jobdir.path))
        refresh, failures = exclusions.refresh, [RuntimeError("can't start new thread")] * 2

        def failing(now: float) -> Refreshed:
            if failures:
                raise failures.pop()
            return refresh(now)

        exclusions.refresh = failing
        write(file, "b.test\n")
        exclusion_state.request_read(context.jobdir.path)
        await until(lambda: exclusions.domain_objection("b.test"))

    watched(file, story)
    assert caplog.text.count("can't start new thread") == 2, "a line and its traceback"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1}', "\xff"])
def test_what_cannot_be_read_tells_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "exclusions.json").write_text(content, encoding="latin-1")
    assert exclusion_state.read(tmp_path) is None
    assert exclusion_state.request_number(tmp_path) == 0
