"""``python -m tests.scrapy_suite [FILE...]``: see the docstring of the package."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
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
FILE_SECONDS = 600
SHARDS = 2
ALONE_MAX = 60
"""Tests of one file that are run again, each in a process of its own."""


class Found(NamedTuple):
    """What became of a test: passed, skipped, failed, or missing, since its process died or hung."""

    outcome: str
    text: str = ""


MISSING = Found("missing")


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
        limit = TEST_SECONDS + 30 if len(tests) == 1 and "::" in tests[0] else FILE_SECONDS
        process = subprocess.Popen(
            [sys.executable, *words, *tests],
            cwd=source,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with suppress(subprocess.TimeoutExpired):
            process.wait(limit)
        # The servers of a test that failed may live on.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        found: dict[str, Found] = {}
        for line in report.read_text().splitlines():
            told = json.loads(line)
            before = found.get(told["test"], MISSING)
            outcome = before.outcome if told["outcome"] == "collected" else told["outcome"]
            found[told["test"]] = Found(outcome, told["text"] or before.text)
        return found


class Explained(dict[str, str]):
    """The reasons for differences, by the test's id or its beginning, up to a ``*``."""

    def __contains__(self, test: object) -> bool:
        return self.of(str(test)) is not None

    def of(self, test: str) -> str | None:
        for name, reason in self.items():
            if test == name or (name.endswith("*") and test.startswith(name[:-1])):
                return reason
        return None


def compared(
    source: Path, file: str, reasons: Explained, fresh: bool
) -> tuple[str, dict[str, Found], dict[str, Found]]:
    """Return the results of a file without the add-on, and with it.

    The former are those of the tests that do not pass with it, and are kept for the next run. A test that does not
    pass beside the others of its file is run again in a process of its own, unless its difference is explained.
    """
    kept = FOLDER / "control" / (file.replace("/", "-") + ".json")
    control: dict[str, Found] = {}
    if kept.exists() and not fresh:
        control = {test: Found(*what) for test, what in json.loads(kept.read_text()).items()}
    forced = run(source, [file], forced=True)
    failed = [test for test, what in forced.items() if what.outcome in ("failed", "missing") and "::" in test]
    if asked := [test for test in failed if test not in control] if forced else [file]:
        control |= run(source, asked, forced=False)
    # First those whose difference is known to be one.
    failed.sort(key=lambda test: control.get(test, MISSING).outcome != "passed")
    for test in [test for test in failed if test not in reasons][:ALONE_MAX]:
        forced |= run(source, [test], forced=True)
        if forced[test].outcome != "passed" and control.get(test, MISSING).outcome != "passed":
            control |= run(source, [test], forced=False)
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(control))
    return file, control, forced


def files_of(source: Path) -> list[str]:
    """Return all test files, those that take longest first."""
    tests = source / "tests"
    found = [*tests.glob("test_*.py"), *tests.glob("test_*/__init__.py"), *tests.glob("test_*/test_*.py")]
    slow = ("crawl", "command", "feed", "engine", "download", "media", "pipeline", "http")
    return sorted(
        (str(path.relative_to(source)) for path in found),
        key=lambda file: (not any(word in file for word in slow), file),
    )


def explained() -> Explained:
    table = tomllib.loads(DIFFERENCES.read_text()) if DIFFERENCES.exists() else {}
    return Explained({test: one["reason"] for one in table.get("difference", []) for test in one["tests"]})


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
        for file, control, forced in pool.map(
            lambda file: compared(source, file, reasons, options.fresh), files
        ):
            differences = []
            for test in forced | control:
                got = forced.get(test, MISSING)
                if got.outcome == "passed":
                    counts["passed"] += 1
                    continue
                if control.get(test, got).outcome != "passed":
                    counts["no control"] += 1
                    continue
                reason = reasons.of(test)
                counts["unexplained" if reason is None else "explained"] += 1
                used.add(test)
                results[test] = {"outcome": got.outcome, "reason": reason or "", "text": got.text}
                if reason is None:
                    differences.append(f"  {got.outcome}: {test}")
            passed = sum(what.outcome == "passed" for what in forced.values())
            print(
                f"{file}: {passed} passed, {len(differences)} unexplained", *differences, sep="\n", flush=True
            )
            options.out.write_text(json.dumps(results, indent=1))
    stale = (
        []
        if options.files
        else [name for name in reasons if not any(test in Explained({name: ""}) for test in used)]
    )
    for name in stale:
        print(f"explained, and no difference: {name}")
    print(f"{counts} in {time.monotonic() - begun:.0f} s; the texts are in {options.out}")
    return 1 if counts["unexplained"] or stale else 0


if __name__ == "__main__":
    sys.exit(main())
