"""The store of the trust in sites: the same holds on the tables of each technology."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from webcrawl.errors import StorageLost
from webcrawl.features.hints.store import SPEC, TrustStore
from webcrawl.features.hints.trust import Trust
from webcrawl.storage.tables import HEADER, Row

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from tests.contract.conftest import OpenTables

SOME = Trust(3.25, 1.0, {-(1 << 63): 1e9, (1 << 63) - 1: 2e9})


@pytest.fixture
def open_store(open_tables: OpenTables) -> Callable[[], TrustStore]:
    """Gives the same store again and again."""
    return lambda: TrustStore(open_tables(SPEC))


def test_a_stranger_is_trusted_as_strangers_are(
    runner: asyncio.Runner, open_store: Callable[[], TrustStore]
) -> None:
    assert runner.run(open_store().load("a.test")) == Trust()


def test_what_was_saved_is_known_to_all_and_the_last_counts(
    runner: asyncio.Runner, open_store: Callable[[], TrustStore]
) -> None:
    store = open_store()
    runner.run(store.save("a.test", Trust(1.0)))
    runner.run(store.save("a.test", SOME))
    runner.run(store.save("ü.test", Trust(0.0, 2.0)))
    again = open_store()
    assert runner.run(again.load("a.test")) == SOME
    assert runner.run(again.load("ü.test")) == Trust(0.0, 2.0)
    assert runner.run(again.load("b.test")) == Trust()


@pytest.mark.parametrize("value", [b"", b"no trust", b"[1, 2]", b"\xff"])
def test_what_is_no_trust_is_an_error_of_the_storage(
    runner: asyncio.Runner, open_tables: OpenTables, value: bytes
) -> None:
    tables = open_tables(SPEC)
    runner.run(tables.table(SPEC).swap([("a.test", Row(HEADER, value))]))
    with pytest.raises(StorageLost, match=r"a\.test"):
        runner.run(TrustStore(tables).load("a.test"))
