"""Chance for tests of accidents."""

from __future__ import annotations

import random

import pytest


@pytest.fixture
def draw():
    """What happens when; the seed is printed with a failure."""
    seed = random.randrange(1 << 32)
    print("seed:", seed)
    return random.Random(seed)
