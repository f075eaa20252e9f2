"""This project's settings, and the meter. Only what the benchmark has to name is named."""

from webcrawl.settings import *  # noqa: F403

EXTENSIONS = {"tests.bench.meter.Meter": 0}
METER_FILE = METER_WARM_UP = METER_SECONDS = METER_GO = None
