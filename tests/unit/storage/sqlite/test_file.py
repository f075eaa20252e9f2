"""The file of tables, and who asks it too late."""

from __future__ import annotations

import asyncio

import pytest

from webcrawl.storage.sqlite.file import TablesFile


def test_after_its_end_a_call_fails_instead_of_waiting_for_ever(tmp_path):
    """The same answer comes while the interpreter ends: a thread that waited there would keep the process."""

    async def ask():
        file = TablesFile(tmp_path / "tables.db", "it would have nothing", reading=False)
        file.include("words", "CREATE TABLE IF NOT EXISTS words (word TEXT) STRICT;", "OFF")
        await file.open()
        await file.write(lambda connection: connection.execute("INSERT INTO words VALUES ('a')"))
        assert await file.read(
            lambda connection: connection.execute("SELECT word FROM words").fetchall()
        ) == [("a",)]
        await file.close()
        for _ in range(2):
            with pytest.raises(RuntimeError, match="after shutdown"):
                await asyncio.wait_for(file.read(lambda connection: None), 10)

    asyncio.run(ask())
