"""A container engine: Docker if its daemon answers, otherwise Podman, installed on Debian if need be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[3]
PACKAGES = ("podman", "runc", "mmdebstrap", "netavark", "aardvark-dns")
PYTHON = "docker.io/library/python:3.11"
REDIS = "docker.io/library/redis:7.2-bookworm"
IMAGE = "webcrawl:0.1.0"
COMPOSE = "podman-compose==1.6.0"
HOST_FILES = ("/etc/ssl", "/etc/pip.conf", "/usr/share/ca-certificates")
"""What a build needs of a machine whose package index has a certificate of its own."""

CONFIGURATION = """\
# Podman without systemd.
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
"""


class NoEngineError(Exception):
    """There is no engine. The text says why."""


class Engine:
    """A container engine that runs, with all images that compose.yaml needs but the project's own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        """A folder for compose, if it must be installed."""
        self.is_docker = _answers("docker", "info")
        self.program = "docker" if self.is_docker else "podman"
        if not self.is_docker:
            self._provide_podman()
        self.version = self.run("--version").strip()
        self._compose = ["docker", "compose"] if self.is_docker else [str(self._podman_compose())]

    def run(self, *words: str, seconds: float = 600, fails: bool = False) -> str:
        """Run the engine's program; return what it printed. ``fails``: a status other than 0 is no error."""
        return _run([self.program, *words], seconds=seconds, fails=fails)

    def status(self, *words: str) -> int:
        """Run the engine's program; return its exit status."""
        return subprocess.run(
            [self.program, *words], capture_output=True, check=False, timeout=600
        ).returncode

    def inspect(self, container: str) -> dict[str, Any]:
        """Return what the engine knows of a container."""
        facts: dict[str, Any] = json.loads(self.run("inspect", container))[0]
        return facts

    def compose(
        self,
        files: Sequence[Path],
        project: str,
        *words: str,
        variables: dict[str, str],
        seconds: float = 600,
    ) -> str:
        """Run compose with the files laid over each other."""
        given = [word for file in files for word in ("-f", str(file))]
        return _run(
            [*self._compose, "-p", project, *given, *words], seconds=seconds, env={**os.environ, **variables}
        )

    def build(self) -> None:
        """Build the project's image."""
        words = ["build", "--quiet", "-t", IMAGE, str(ROOT)]
        if not self.is_docker:
            mounts = [f"--volume={path}:{path}:ro" for path in HOST_FILES if Path(path).exists()]
            words[1:1] = ["--format", "docker", "--network", "host", *mounts]
        self.run(*words, seconds=1800)

    # -- podman ------------------------------------------------------------------------------------------------

    def _provide_podman(self) -> None:
        if os.geteuid() != 0:
            raise NoEngineError("neither a Docker daemon nor root to start containers with Podman")
        missing = [name for name in ("podman", "runc", "mmdebstrap") if shutil.which(name) is None]
        if missing:
            if shutil.which("apt-get") is None:
                raise NoEngineError(
                    f"{', '.join(missing)} is not installed, and there is no apt-get to do it"
                )
            _run(["apt-get", "update", "-qq"], seconds=600)
            _run(["apt-get", "install", "-y", "-qq", *PACKAGES], seconds=1200)
        settings = Path("/etc/containers/containers.conf")
        if not settings.exists():
            settings.write_text(CONFIGURATION, encoding="utf-8")
        if not self._has(f"{PYTHON}-slim-bookworm"):
            base = "localhost/debian-python:bookworm"
            self._bootstrap(base, "python3,python3-venv,python3-pip,ca-certificates")
            self._derive(base)
        if not self._has(REDIS):
            self._bootstrap(REDIS, "redis-server,redis-tools")

    def _has(self, image: str) -> bool:
        return self.status("image", "exists", image) == 0 or self.status("pull", "--quiet", image) == 0

    def _bootstrap(self, image: str, packages: str) -> None:
        """Make a Debian with these packages, from the sources of this machine."""
        with tempfile.TemporaryDirectory() as folder:
            tar = Path(folder) / "image.tar"
            sources = [str(path) for path in sorted(Path("/etc/apt/sources.list.d").glob("*.sources"))]
            words = ["mmdebstrap", "--quiet", "--variant=minbase", "--mode=root", f"--include={packages}"]
            words += ['--aptopt=APT::Sandbox::User "root"', "bookworm", str(tar), *sources]
            try:
                _run(words, seconds=1200)
            except subprocess.CalledProcessError:
                # It may fail after the archive is whole, in its own cleaning up.
                if not tar.exists() or not tar.stat().st_size:
                    raise
            finally:
                _restore_null()
            self.run("import", "--quiet", str(tar), image)

    def _derive(self, base: str) -> None:
        """Give a Debian the names and the program of the official images of Python."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "Containerfile").write_text(
                f"FROM {base}\n"
                "RUN ln -sf /usr/bin/python3 /usr/local/bin/python"
                " && rm -f /usr/lib/python3.11/EXTERNALLY-MANAGED\n",
                encoding="utf-8",
            )
            tags = ["-t", f"{PYTHON}-bookworm", "-t", f"{PYTHON}-slim-bookworm"]
            self.run("build", "--quiet", *tags, folder)

    def _podman_compose(self) -> Path:
        program = self.home / "bin" / "podman-compose"
        if not program.exists():
            _run([sys.executable, "-m", "venv", str(self.home)])
            _run([str(self.home / "bin" / "pip"), "install", "--quiet", COMPOSE], seconds=600)
        return program


def _restore_null() -> None:
    """Make /dev/null a device again: a bootstrap that failed may have taken it away."""
    null = Path("/dev/null")
    if not null.is_char_device():
        null.unlink(missing_ok=True)
        _run(["mknod", "-m", "666", str(null), "c", "1", "3"])


def _answers(*words: str) -> bool:
    try:
        return subprocess.run(words, capture_output=True, check=False, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _run(
    words: list[str], *, seconds: float = 600, fails: bool = False, env: dict[str, str] | None = None
) -> str:
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        env=env,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode and not fails:
        print(f"{' '.join(words)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}", file=sys.stderr)
        raise subprocess.CalledProcessError(done.returncode, words, done.stdout, done.stderr)
    return done.stdout
