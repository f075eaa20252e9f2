"""Groups of sites that share a server: who belongs to which, and what is wrong with a file of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from webcrawl.politeness.groups import GroupsError, load_groups

if TYPE_CHECKING:
    from pathlib import Path

FILE = """# who shares what
oldserver  10   shop.example *.museum.example   # both in one cupboard
oldserver  10   192.0.2.17 [2001:db8::7]
campus     2.5  198.51.100.0/24 2001:db8:1::/48 Shop.Example
"""


@pytest.fixture
def write(tmp_path: Path) -> Path:
    path = tmp_path / "groups.txt"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize(
    ("host", "address", "names"),
    [
        ("shop.example", None, ["oldserver", "campus"]),
        ("www.shop.example", None, ["oldserver", "campus"]),
        ("museum.example", "203.0.113.1", ["oldserver"]),
        ("othershop.example", None, []),
        ("example", None, []),
        ("elsewhere.test", "192.0.2.17", ["oldserver"]),
        ("elsewhere.test", "192.0.2.18", []),
        ("elsewhere.test", "198.51.100.200", ["campus"]),
        ("elsewhere.test", "2001:db8:1:2::3", ["campus"]),
        ("elsewhere.test", "2001:db8::7", ["oldserver"]),
        ("shop.example", "192.0.2.17", ["oldserver", "campus"]),
        ("elsewhere.test", "", []),
    ],
)
def test_who_belongs_to_which(write: Path, host: str, address: str | None, names: list[str]) -> None:
    groups = load_groups(write)
    assert [group.name for group in groups.of(host, address)] == names
    assert {group.name: group.delay_seconds for group in groups.groups} == {"oldserver": 10.0, "campus": 2.5}


def test_every_wrong_line_is_told_with_its_number(write: Path) -> None:
    wrong = [
        "a,b 3 x.example",
        "lonely 3",
        "zero 0 x.example",
        "soon soon x.example",
        "n 3 10.0.0.0/99",
        "n 3 a b_/c",
    ]
    write.write_text(FILE + "\n".join(wrong) + "\noldserver 11 x.example\n")
    with pytest.raises(GroupsError) as told:
        load_groups(write)
    lines = str(told.value).splitlines()
    assert [line.split(":")[1].strip() for line in lines] == [f"line {number}" for number in range(5, 12)]
    assert "has a pause of 10 s already" in lines[-1]
    assert "'10.0.0.0/99' is neither a domain nor an address nor a network" in lines[4]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(GroupsError, match="cannot be read"):
        load_groups(tmp_path / "nothing")
