"""``python -m tests.scrapy_suite [FILE...]``: see the docstring of the package."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "webcrawl-scrapy-tests"
"""Outside of this tree, whose ``scrapy.cfg`` would make every command one of our project."""
DIFFERENCES = ROOT / "tests" / "scrapy_differences.toml"
VERSION = "2.19.0"
TEST_SECONDS = 90
"""A test that takes longer has failed."""
FILE_SECONDS = 900
SHARDS = 2
ALONE_MAX = 150
"""Tests of one file that are run again, each in a process of its own."""


class Found(NamedTuple):
    """What became of a test: passed, skipped, failed, or missing, since its process died or hung."""

    outcome: str
    text: str = ""


def prepare() -> Path:
    """Return the folder of Scrapy's source distribution, downloaded and unpacked if it is not there."""
    folder = FOLDER / f"scrapy-{VERSION}"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    if not (FOLDER / "site").is_dir():
        needed = HERE / "requirements.txt"
        subprocess.run([*pip, "install", "--target", str(FOLDER / "site"), "-r", str(needed)], check=True)
    if not folder.is_dir():
        with tempfile.TemporaryDirectory() as place:
            what = ["--no-deps", "--no-binary", "scrapy", f"scrapy=={VERSION}", "-d", place]
            subprocess.run([*pip, "download", *what], check=True)
            with tarfile.open(next(Path(place).glob("scrapy-*.tar.gz"))) as archive:
                archive.extractall(FOLDER, filter="data")
        # The installed Scrapy is tested, not the one of the distribution.
        shutil.rmtree(folder / "scrapy")
    return folder


def run(source: Path, tests: list[str], *, forced: bool) -> dict[str, Found]:
    """Run tests in one process, and return what became of each."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report"
        report.touch()
        paths = [HERE / "report", *([HERE / "forced", ROOT] if forced else []), FOLDER / "site"]
        # Scrapy's package of tests has the name of ours, and comes first.
        paths.insert(0, source)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "SUITE_REPORT": str(report),
            "TMPDIR": place,
            "PYTHONWARNINGS": "ignore",
        }
        words = ["-m", "pytest", "-q", "-p", "suite_report", "-p", "no:cacheprovider", "-p", "no:xdist"]
        words += ["-W", "ignore", "--timeout", str(TEST_SECONDS), "--timeout-method", "thread"]
        limit = FILE_SECONDS if len(tests) == 1 and "::" not in tests[0] else TEST_SECONDS + 30
        process = subprocess.Popen(
            [sys.executable, *words, *tests],
            cwd=source,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
        found: dict[str, Found] = {}
        for line in report.read_text().splitlines():
            told = json.loads(line)
            before = found.get(told["test"], Found("missing"))
            outcome = before.outcome if told["outcome"] == "collected" else told["outcome"]
            found[told["test"]] = Found(outcome, told["text"] or before.text)
        return found


def judged(source: Path, file: str, *, forced: bool, only: set[str] | None = None) -> dict[str, Found]:
    """Run a file in one process, and each of its tests that did not pass (of ``only``, if given) in another one."""
    found = run(source, [file], forced=forced)
    again = [test for test, what in found.items() if what.outcome in ("failed", "missing") and "::" in test]
    for test in [test for test in again if only is None or test in only][:ALONE_MAX]:
        alone = run(source, [test], forced=forced)
        found[test] = alone.get(test, found[test])
    return found


def compared(source: Path, file: str, fresh: bool) -> tuple[str, dict[str, Found], dict[str, Found]]:
    """Return a file's results without the add-on, which are kept for the next run, and with it."""
    kept = FOLDER / "control" / (file.replace("/", "-") + ".json")
    if kept.exists() and not fresh:
        control = {test: Found(*what) for test, what in json.loads(kept.read_text()).items()}
    else:
        control = judged(source, file, forced=False)
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(control))
    passed = {test for test, what in control.items() if what.outcome == "passed"}
    return file, control, judged(source, file, forced=True, only=passed)


def files_of(source: Path) -> list[str]:
    """Return all test files, those that take longest first."""
    tests = source / "tests"
    found = [*tests.glob("test_*.py"), *tests.glob("test_*/__init__.py"), *tests.glob("test_*/test_*.py")]
    slow = ("crawl", "command", "feed", "engine", "download", "media", "pipeline", "http")
    return sorted(
        (str(path.relative_to(source)) for path in found),
        key=lambda file: (not any(word in file for word in slow), file),
    )


def explained() -> dict[str, str]:
    """Return the reasons for differences, by the test's id or its beginning, up to a ``*``."""
    table = tomllib.loads(DIFFERENCES.read_text()) if DIFFERENCES.exists() else {}
    return {test: one["reason"] for one in table.get("difference", []) for test in one["tests"]}


def reason_for(test: str, reasons: dict[str, str]) -> str | None:
    for name, reason in reasons.items():
        if test == name or (name.endswith("*") and test.startswith(name[:-1])):
            return reason
    return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.scrapy_suite", description=__doc__)
    parser.add_argument(
        "files", nargs="*", help="files as Scrapy names them, tests/test_crawl.py; all without any"
    )
    parser.add_argument("--fresh", action="store_true", help="run the control again, too")
    parser.add_argument(
        "--out", type=Path, default=FOLDER / "result.json", help="where the result is written"
    )
    options = parser.parse_args()
    source, reasons, begun = prepare(), explained(), time.monotonic()
    files = options.files or files_of(source)
    counts = {"passed": 0, "explained": 0, "unexplained": 0, "no control": 0}
    results: dict[str, dict[str, str]] = {}
    used: set[str] = set()
    with ThreadPoolExecutor(SHARDS) as pool:
        for file, control, forced in pool.map(lambda file: compared(source, file, options.fresh), files):
            differences = []
            for test, what in control.items():
                if what.outcome != "passed":
                    counts["no control"] += 1
                    continue
                got = forced.get(test, Found("missing"))
                if got.outcome == "passed":
                    counts["passed"] += 1
                    continue
                reason = reason_for(test, reasons)
                counts["unexplained" if reason is None else "explained"] += 1
                used.add(test)
                results[test] = {"outcome": got.outcome, "reason": reason or "", "text": got.text}
                if reason is None:
                    differences.append(f"  {got.outcome}: {test}")
            passed = sum(what.outcome == "passed" for what in control.values())
            print(
                f"{file}: {passed} tests, {len(differences)} unexplained", *differences, sep="\n", flush=True
            )
            options.out.write_text(json.dumps(results, indent=1))
    stale = (
        []
        if options.files
        else [name for name in reasons if not any(reason_for(test, {name: ""}) is not None for test in used)]
    )
    for name in stale:
        print(f"explained, and no difference: {name}")
    print(f"{counts} in {time.monotonic() - begun:.0f} s; the texts are in {options.out}")
    return 1 if counts["unexplained"] or stale else 0


if __name__ == "__main__":
    sys.exit(main())
