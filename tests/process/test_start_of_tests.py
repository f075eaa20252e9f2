"""A file with tests of pure functions is collected without what only other tests need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {
    "aiohttp",
    "redis",
    "scrapy",
    "twisted",
    "tests.crawl.crawling",
    "tests.contract.driven",
    "tests.fakeweb",
}
COLLECT = f"""
import sys, pytest
status = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", *sys.argv[1:]])
print(sorted({HEAVY!r} & sys.modules.keys()))
sys.exit(status)
"""


@pytest.mark.parametrize(
    "file", ["urls/test_resolve.py", "politeness/test_delay.py", "scope/test_whitelist.py"]
)
def test_tests_of_pure_functions_import_no_scrapy_and_no_redis(file: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLLECT, f"tests/unit/{file}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "[]"), done.stdout + done.stderr
