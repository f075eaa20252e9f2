from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.conftest import open_tables  # noqa: F401
from tests.unit.features.websub.subscribing import Stage
from webcrawl.features.websub.store import SPEC, SubscriptionStore

if TYPE_CHECKING:
    import asyncio

    from tests.contract.conftest import OpenTables


@pytest.fixture
def stage(runner: asyncio.Runner, open_tables: OpenTables) -> Stage:  # noqa: F811
    return Stage(runner, SubscriptionStore(open_tables(SPEC)))
