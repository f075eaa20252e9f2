"""The fetch log as Parquet: every value in its column, and what has none in ``more``."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.export.logs import HOSTILE, log
from webcrawl import parquet

DOCS = Path(__file__).parents[3] / "docs/reference/export-formats.md"


@pytest.fixture
def table(tmp_path: Path) -> Any:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet as reader

    def written(lines: list[dict[str, Any]]) -> Any:
        assert parquet.write(iter(lines), tmp_path / "log.parquet") == len(lines)
        assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]
        return reader.read_table(tmp_path / "log.parquet")

    return written


def test_every_line_is_a_row_with_the_same_values(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS", 70)
    lines = [one | {"clocks": {"address 192.0.2.1": 1.5}, "strange": [1]} for one in log(5, 200)]
    rows = table(lines).to_pylist()
    for line, row in zip(lines, rows, strict=True):
        assert json.loads(row["more"]) == {"strange": [1]}
        assert row["clocks"] == [("address 192.0.2.1", 1.5)]
        for name, value in line.items():
            if name in ("clocks", "strange"):
                continue
            kept = row[name].timestamp() if parquet.COLUMNS[name] == "timestamp" else row[name]
            assert kept == (pytest.approx(value, abs=1e-6) if isinstance(value, float) else value)
        assert all(row[name] is None for name in parquet.COLUMNS if name not in line and name != "more")


def test_a_value_of_another_type_is_kept_aside(table: Any) -> None:
    rows = table(HOSTILE).to_pylist()
    assert json.loads(rows[3]["more"])["status"] == "200"
    assert json.loads(rows[4]["more"])["status"] == 10**30
    assert json.loads(rows[5]["more"])["more"] == "mine"
    assert rows[6] == dict.fromkeys(parquet.COLUMNS)
    assert rows[1]["url"] == "http://?.test/"


def test_without_the_library_it_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(parquet.ParquetMissingError, match="pip install pyarrow"):
        parquet.write([], tmp_path / "log.parquet")
    assert list(tmp_path.iterdir()) == []


def test_the_schema_in_the_documentation_is_the_one_that_is_written() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", DOCS.read_text("utf-8"), re.MULTILINE)
    assert dict(rows) == parquet.COLUMNS
