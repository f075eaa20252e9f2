"""This project's settings, and the meter. Only what the benchmark has to name is named."""

from tests.bench.engine_parts import apply as _apply
from webcrawl.settings import *  # noqa: F403

_apply()

EXTENSIONS = {"tests.bench.meter.Meter": 0}
METER_FILE = METER_WARM_UP = METER_SECONDS = METER_PAGES = METER_GO = CLOCKS_FILE = None
