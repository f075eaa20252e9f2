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
COMPILED = FOLDER / "compiled"
DIFFERENCES = ROOT / "tests" / "scrapy_differences.toml"
VERSION = "2.19.0"
TEST_SECONDS = 90
"""A test that takes longer has failed, unless ``--seconds`` says otherwise."""
FILE_TESTS = 7
"""A process that takes longer than so many tests may take is ended, and what is left of its file gets another one."""
SHARDS = 2
ALONE_MAX = 60
"""Tests of one file that are run again, each in a process of its own."""


class Found(NamedTuple):
    """What became of a test: passed, skipped, failed, or missing, since its process died or hung."""

    outcome: str
    text: str = ""


MISSING = Found("missing")
Results = dict[str, Found]
"""By the test's id."""


def prepare() -> Path:
    """Return the folder of Scrapy's source distribution, downloaded and unpacked if it is not there."""
    folder = FOLDER / f"scrapy-{VERSION}"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    needed, installed = HERE / "requirements.txt", FOLDER / "installed.txt"
    if not installed.exists() or installed.read_text() != needed.read_text():
        shutil.rmtree(FOLDER / "site", ignore_errors=True)
        subprocess.run([*pip, "install", "--target", str(FOLDER / "site"), "-r", str(needed)], check=True)
        installed.write_text(needed.read_text())
    if not folder.is_dir():
        with tempfile.TemporaryDirectory() as place:
            what = ["--no-deps", "--no-binary", "scrapy", f"scrapy=={VERSION}", "-d", place]
            subprocess.run([*pip, "download", *what], check=True)
            with tarfile.open(next(Path(place).glob("scrapy-*.tar.gz"))) as archive:
                archive.extractall(FOLDER, filter="data")
        # The installed Scrapy is tested, not the one of the distribution.
        shutil.rmtree(folder / "scrapy")
    return folder


class Suite(NamedTuple):
    """Where Scrapy's tests are, and how long one of them may take."""

    source: Path
    seconds: int


def run(suite: Suite, tests: list[str], *, forced: bool) -> Results:
    """Run tests in one process, and return what became of each."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report"
        report.touch()
        paths = [HERE / "report", *([HERE / "forced", ROOT] if forced else []), FOLDER / "site"]
        # Scrapy's package of tests has the name of ours, and comes first.
        paths.insert(0, suite.source)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "SUITE_REPORT": str(report),
            "SUITE_STRETCH": str(max(1.0, suite.seconds / TEST_SECONDS)),
            "TMPDIR": place,
            # A test may start a dozen processes, and each would compile the crawler.
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(COMPILED),
            "PYTHONWARNINGS": "ignore",
        }
        words = ["-m", "pytest", "-q", "-p", "suite_report", "-p", "no:cacheprovider", "-p", "no:xdist"]
        words += ["-W", "ignore", "--timeout", str(suite.seconds), "--timeout-method", "thread"]
        is_one = len(tests) == 1 and "::" in tests[0]
        limit = suite.seconds + 30 if is_one else suite.seconds * FILE_TESTS
        process = subprocess.Popen(
            [sys.executable, *words, *tests],
            cwd=suite.source,
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
        shutil.rmtree(COMPILED / Path(place).relative_to("/"), ignore_errors=True)
        found: Results = {}
        for line in report.read_text().splitlines():
            told = json.loads(line)
            before = found.get(told["test"], MISSING)
            outcome = before.outcome if told["outcome"] == "collected" else told["outcome"]
            found[told["test"]] = Found(outcome, told["text"] or before.text)
        return found


def run_to_end(suite: Suite, file: str, *, forced: bool) -> Results:
    """Run a file, and again what is left of it whenever its process died, hung or came to the limit.

    The test at which it did so is run in a process of its own.
    """
    found = run(suite, [file], forced=forced)
    tried: set[str] = set()
    while left := [
        test
        for test, what in found.items()
        if what.outcome == "missing" and "::" in test and test not in tried
    ]:
        tried.add(left[0])
        found |= run(suite, left[:1], forced=forced)
        if rest := left[1:]:
            found |= run(suite, rest, forced=forced)
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


def read(path: Path) -> Results:
    return {test: Found(*what) for test, what in json.loads(path.read_text()).items()}


def different(control: Results, forced: Results) -> list[str]:
    """Return the tests that pass without the add-on, and not with it."""
    return [
        test
        for test in forced | control
        if forced.get(test, MISSING).outcome not in ("passed", "skipped")
        and control.get(test, MISSING).outcome == "passed"
    ]


def compared(
    suite: Suite, file: str, reasons: Explained, *, fresh: bool, resumed: bool
) -> tuple[str, Results, Results]:
    """Return the results of a file without the add-on, and with it.

    The former are those of the tests that do not pass with it, and are kept for the next run. A test that does not
    pass beside the others of its file is run again in a process of its own, unless its difference is explained.
    """
    name = file.replace("/", "-") + ".json"
    kept, done = FOLDER / "control" / name, FOLDER / "forced" / name
    control = read(kept) if kept.exists() and not fresh else {}
    if resumed and done.exists():
        forced = read(done)
        if not any(test not in reasons for test in different(control, forced)):
            return file, control, forced
    done.unlink(missing_ok=True)
    forced = run_to_end(suite, file, forced=True)
    failed = [test for test, what in forced.items() if what.outcome in ("failed", "missing") and "::" in test]
    # Without a test the file cannot be imported.
    has_tests = any("::" in test for test in forced)
    if asked := [test for test in failed if test not in control] if has_tests else [file]:
        control |= run(suite, asked, forced=False)
    # First those whose difference is known to be one.
    failed.sort(key=lambda test: control.get(test, MISSING).outcome != "passed")
    for test in [test for test in failed if test not in reasons][:ALONE_MAX]:
        forced |= run(suite, [test], forced=True)
        if forced[test].outcome != "passed" and control.get(test, MISSING).outcome != "passed":
            control |= run(suite, [test], forced=False)
    for path, results in ((kept, control), (done, forced)):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(results))
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


def explained() -> tuple[Explained, set[str]]:
    """Return the reasons, and those tests of them that pass at times, by chance."""
    table = tomllib.loads(DIFFERENCES.read_text())["difference"]
    reasons = Explained({test: one["reason"] for one in table for test in one["tests"]})
    return reasons, {test for one in table if one.get("by_chance") for test in one["tests"]}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.scrapy_suite", description=__doc__)
    parser.add_argument(
        "files", nargs="*", help="files as Scrapy names them, tests/test_crawl.py; all without any"
    )
    parser.add_argument("--fresh", action="store_true", help="run the control again, too")
    parser.add_argument(
        "--resume", action="store_true", help="leave out files without unexplained differences"
    )
    parser.add_argument(
        "--seconds",
        type=int,
        default=TEST_SECONDS,
        help="how long a test may take (default: %(default)s); more on a busy machine",
    )
    parser.add_argument(
        "--out", type=Path, default=FOLDER / "result.json", help="where the result is written"
    )
    options = parser.parse_args()
    source, (reasons, by_chance), begun = prepare(), explained(), time.monotonic()
    files, suite = options.files or files_of(source), Suite(source, options.seconds)
    counts = dict.fromkeys(("files", "passed", "explained", "unexplained", "skipped", "failed without it"), 0)
    results: dict[str, dict[str, str]] = {}
    with ThreadPoolExecutor(SHARDS) as pool:
        for file, control, forced in pool.map(
            lambda file: compared(suite, file, reasons, fresh=options.fresh, resumed=options.resume), files
        ):
            differences = different(control, forced)
            unexplained = [test for test in differences if test not in reasons]
            passed = sum(what.outcome == "passed" for what in forced.values())
            skipped = sum(what.outcome == "skipped" for what in forced.values())
            counts["files"] += 1
            counts["passed"] += passed
            counts["skipped"] += skipped
            counts["explained"] += len(differences) - len(unexplained)
            counts["unexplained"] += len(unexplained)
            counts["failed without it"] += len(forced | control) - passed - skipped - len(differences)
            for test in differences:
                outcome, text = forced.get(test, MISSING)
                results[test] = {"outcome": outcome, "reason": reasons.of(test) or "", "text": text}
            lines = [f"  {results[test]['outcome']}: {test}" for test in unexplained]
            print(f"{file}: {passed} passed, {len(unexplained)} unexplained", *lines, sep="\n", flush=True)
            options.out.write_text(json.dumps(results, indent=1))
    always = [] if options.files else [name for name in reasons if name not in by_chance]
    stale = [name for name in always if not any(test in Explained({name: ""}) for test in results)]
    for name in stale:
        print(f"explained, and no difference: {name}")
    print(f"{counts} in {time.monotonic() - begun:.0f} s; the texts are in {options.out}")
    return 1 if counts["unexplained"] or stale else 0


if __name__ == "__main__":
    sys.exit(main())
