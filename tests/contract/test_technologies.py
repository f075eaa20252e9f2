"""What a registered technology says of itself holds, and its backends can be driven by their contract alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import FOLDER_KINDS, KINDS, DrivenTechnology
from tests.contract.samples import NOW, entry, found, pages
from webcrawl.storage import technologies, technology_in, technology_named

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=KINDS)
def driven(
    request: pytest.FixtureRequest, runner: asyncio.Runner, tmp_path: Path
) -> Iterator[DrivenTechnology]:
    name, _, seen = request.param.partition("-")
    made = DrivenTechnology(runner, seen != "bloom", tmp_path, technology_named(name))
    yield made
    made.dispose()


def test_a_crawl_ends_with_its_process_or_is_found_in_its_folder(driven: DrivenTechnology) -> None:
    assert technology_in(driven.directory) is None
    driven.open()
    driven.commit(found(*pages("a", 3), *pages("b", 2)))
    assert driven.technology.is_lasting is driven.technology.is_begun_in(driven.directory)
    if driven.technology.is_lasting:
        assert technology_in(driven.directory) is driven.technology
    driven.reopen(NOW + 1000)
    assert len(driven.queued()) == (5 if driven.technology.is_lasting else 0)
    driven.check_consistency()


@pytest.mark.parametrize("driven", FOLDER_KINDS, indirect=True)
def test_what_a_technology_keeps_in_a_folder_is_inspected_there(driven: DrivenTechnology) -> None:
    driven.open()
    driven.commit(found(*pages("a", 3)))
    assert driven.inspection.status(NOW).counts.queued == 3
    with driven.inspection.url_states() as states:
        assert [page.url for page in states.queued()] == [page.url for page in pages("a", 3)]
    assert driven.inspection.check().agrees


@pytest.mark.parametrize("driven", FOLDER_KINDS, indirect=True)
def test_a_checkpoint_is_taken_by_a_technology_that_says_so(driven: DrivenTechnology, tmp_path: Path) -> None:
    driven.open()
    driven.commit(found(entry("http://a/1")))
    target = tmp_path / "copy"
    target.mkdir()
    if not driven.technology.takes_checkpoints:
        with pytest.raises(NotImplementedError):
            driven.technology.copy_state(driven.directory, target)
        return
    assert {path.parent for path in driven.technology.copy_state(driven.directory, target)} == {target}
    assert technology_in(target) is driven.technology


def test_only_a_lasting_storage_is_shared() -> None:
    assert all(technology.is_lasting for technology in technologies() if technology.is_shared)
