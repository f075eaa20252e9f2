"""``scrapy token``: what it writes is what the dashboard and the service read."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest

from webcrawl.web.access import Right
from webcrawl.web.dashboard.operators import OperatorsFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.commands import Command


@pytest.fixture(params=["a crawl", "a service"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """A folder, and the file of its operators."""
    folder = tmp_path / "one"
    folder.mkdir()
    if request.param == "a crawl":
        (folder / "fetch.jsonl").touch()
        return folder, folder / "dashboard.operators"
    (folder / ".service").mkdir()
    return folder, folder / ".service" / "operators"


def test_operators_come_and_go_and_the_rest_of_the_file_stays(
    command: Callable[..., Command], place: tuple[Path, Path]
) -> None:
    folder, path = place
    token = command("token")
    assert "no operators" in token("list", str(folder)).out
    first = token("add", "anna", str(folder)).out.splitlines()[-1]
    path.write_text(f"# by hand\n{path.read_text()}")
    second = json.loads(token("add", "grafana", str(folder), "--read", "--json").out)["token"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = {operator.name: (operator.right, operator.token) for operator in OperatorsFile(path).operators()}
    assert found == {"anna": (Right.WRITE, first), "grafana": (Right.READ, second)}
    listed = token("list", str(folder)).out
    assert [line.split() for line in listed.splitlines()[1:]] == [["anna", "operate"], ["grafana", "read"]]
    assert first not in listed
    again = token("add", "anna", str(folder))
    assert (again.status, "there is such a name in" in again.err) == (2, True)
    revoked = token("revoke", "anna", str(folder), "--json")
    assert revoked.status == 0
    assert json.loads(revoked.out) == {"file": str(path), "name": "anna", "right": None, "token": None}
    assert [operator.name for operator in OperatorsFile(path).operators()] == ["grafana"]
    assert path.read_text().startswith("# by hand\n")
    gone = token("revoke", "anna", str(folder))
    assert (gone.status, "there is no operator of this name" in gone.err) == (2, True)


def test_what_is_wrong_is_told(command: Callable[..., Command], place: tuple[Path, Path]) -> None:
    folder, path = place
    wrong = command("token")("add", "an/na", str(folder))
    assert (wrong.status, "letters, digits" in wrong.err) == (2, True)
    assert not path.exists()
    nowhere = command("token")("list", str(folder.parent))
    assert (nowhere.status, "is no folder of a crawl, nor of a service" in nowhere.err) == (2, True)
