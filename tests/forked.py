"""Crawls that begin where their imports have ended, and end before their modules are taken apart.

Most of the CPU time of a small crawl goes into the import of Scrapy and of the crawler, and into their end. Here one
process imports both, once, and each crawl is forked from it: from there on it is what ``python -m scrapy`` makes of
the same words, with the folder, the environment, the arguments and the files that it is given. At its end it waits
for its threads, calls what is to be called and flushes, as an interpreter does. Fake webs are forked likewise.

::

    tests -> one process of this module, which tells how each ends -> the crawl
             by a socket

But for files that are the same for all, as the list of public suffixes and the entry points of the packages that are
installed, nothing of the crawl is read before the fork. Settings are copied without a copy of each word and number in
them, which was the largest part of a start. Some tests start theirs afresh.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from contextlib import suppress
from importlib import import_module, metadata
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, NoReturn

from tests.forked_children import fork_children

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[1]
POSSIBLE = sys.platform == "linux"
"""Elsewhere a process that has loaded the system's libraries may not be forked."""


_WRITTEN = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


class Files(NamedTuple):
    """What a process reads and writes. The last two are overwritten."""

    stdin: Path
    stdout: Path
    stderr: Path


class Forked:
    """A process, with as much of ``subprocess.Popen`` as tests ask for."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._told = connection.makefile("rb")
        self.pid = int(self._told.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status, as Popen has it; None while it runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Likewise, at its end. :raises subprocess.TimeoutExpired:"""
        status = self._look(timeout)
        if status is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired("a forked process", timeout)
        return status

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._connection], [], [], seconds)[0]:
            self.returncode = int(self._told.readline())
            self._told.close()
            self._connection.close()
        return self.returncode


def _without_settings() -> dict[str, str]:
    """The environment without settings of a crawl: each crawl brings its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("WEBCRAWL_")}


class _Source:
    """The process that all are forked from."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="forked")
        self.path = str(Path(self._folder.name) / "socket")
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, self.path],
            cwd=ROOT,
            env={
                **_without_settings(),
                "PYTHONPATH": str(ROOT),
                "SCRAPY_SETTINGS_MODULE": "webcrawl.settings",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"
        atexit.register(self.close)

    def start(self, told: Mapping[str, Any]) -> Forked:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.path)
        connection.sendall(json.dumps(told).encode() + b"\n")
        return Forked(connection)

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait(10)
        self._folder.cleanup()


_source: _Source | None = None

Process = Forked | subprocess.Popen[bytes]


class Piped(NamedTuple):
    """A process with pipes."""

    process: Forked
    stdin: IO[str]
    stdout: IO[str]


def scrapy(words: Sequence[str], folder: Path, environment: Mapping[str, str], files: Files) -> Process:
    """``scrapy`` with these words, in ``folder``, forked where that is possible."""
    if not POSSIBLE:
        return afresh(words, folder, environment, files)
    return _forked("scrapy", words, folder, environment, files)


def web(words: Sequence[str]) -> Piped:
    """The fake web with these words, with pipes at its standard input and output."""
    with tempfile.TemporaryDirectory() as home:
        given, out = Path(home) / "in", Path(home) / "out"
        os.mkfifo(given)
        os.mkfifo(out)
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        started = _forked("tests.fakeweb", words, ROOT, environment, (given, out, None))
        return Piped(started, given.open("w", encoding="utf-8"), out.open(encoding="utf-8"))


def _forked(
    module: str,
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    files: Sequence[Path | None],
) -> Forked:
    """``python -m`` a module. A file that is None is that of the tests."""
    told = {"module": module, "words": list(words), "folder": str(folder), "environment": dict(environment)}
    return _the_source().start({**told, "files": [file and str(file) for file in files]})


def _the_source() -> _Source:
    global _source
    if _source is None:
        _source = _Source()
    return _source


def source_path() -> str:
    """The socket at which the process that all are forked from takes what :func:`_become` is told."""
    return _the_source().path


def run(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """The same to its end, with nothing to read."""
    with tempfile.TemporaryDirectory() as home:
        out, err = Path(home) / "out", Path(home) / "err"
        status = scrapy(words, folder, environment, Files(Path(os.devnull), out, err)).wait(seconds)
        return subprocess.CompletedProcess(list(words), status, out.read_text(), err.read_text())


def afresh(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], files: Files
) -> subprocess.Popen[bytes]:
    """The same as a person's shell starts it."""
    command = [sys.executable, "-m", "scrapy", *words]
    with files.stdin.open("rb") as given, files.stdout.open("wb") as out, files.stderr.open("wb") as err:
        return subprocess.Popen(command, cwd=folder, env=environment, stdin=given, stdout=out, stderr=err)


def _import_everything() -> None:
    import scrapy.cmdline
    from scrapy.cmdline import _iter_command_classes
    from scrapy.settings import BaseSettings

    import webcrawl
    from webcrawl.config.copies import copy_settings
    from webcrawl.features.refusals.signatures import signatures_of_package
    from webcrawl.urls.politeness_key import load_suffixes

    with warnings.catch_warnings(action="ignore"):
        for package in (webcrawl, scrapy):
            for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                if not found.name.endswith("__main__"):
                    # Some are for libraries that are not there.
                    with suppress(ImportError):
                        import_module(found.name)
    import_module("tests.fakeweb.__main__")
    with suppress(ImportError):
        import_module("uvloop")
    # What is read at the start of each, and is the same for all.
    load_suffixes()
    signatures_of_package()
    for package in (webcrawl, scrapy):
        # Each class is asked whether it is a command, and keeps the answer.
        list(_iter_command_classes(f"{package.__name__}.commands"))
    _keep_entry_points()
    BaseSettings.copy = copy_settings
    gc.collect()
    gc.freeze()
    assert "twisted.internet.reactor" not in sys.modules, "each crawl installs its own"


def _keep_entry_points() -> None:
    """Have the entry points of the packages read once: each start would read 130 files for them."""
    read, kept, known = metadata.entry_points, metadata.entry_points(), set(sys.path)

    def entry_points(**wanted: Any) -> Any:
        added = [Path(path) for path in sys.path if path not in known]
        if any(next(path.glob(f"*.{kind}"), None) for path in added for kind in ("dist-info", "egg-info")):
            return read(**wanted)
        return kept.select(**wanted)

    for module in list(sys.modules.values()):
        if getattr(module, "entry_points", None) is read:
            vars(module)["entry_points"] = entry_points


def _serve(listening: socket.socket) -> dict[str, Any] | None:
    """Fork for whoever connects, and tell how each ended, until standard input ends. Returns what a crawl is told, in
    its process alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    woken, wakes = os.pipe()
    for handle in (woken, wakes):
        os.set_blocking(handle, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wakes)
    running: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([listening, sys.stdin, woken], [], [])
        if woken in ready:
            os.read(woken, 1000)
            _tell_ends(running)
        if sys.stdin in ready:
            return None
        if listening not in ready:
            continue
        connection, _ = listening.accept()
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            with connection, connection.makefile("rb") as stream:
                told: dict[str, Any] = json.loads(stream.readline())
            for handle in (woken, wakes):
                os.close(handle)
            for other in (listening, *running.values()):
                other.close()
            return told
        running[pid] = connection
        with suppress(OSError):
            connection.sendall(b"%d\n" % pid)


def _tell_ends(running: dict[int, socket.socket]) -> None:
    """Tell of each that has ended how it did."""
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with running.pop(pid) as connection, suppress(OSError):
                connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _become(told: dict[str, Any]) -> None:
    """What the interpreter would have made of the environment and the arguments."""
    os.chdir(told["folder"])
    os.environ.clear()
    os.environ.update(told["environment"])
    # It reads the environment when it is imported.
    sys.modules.pop("webcrawl.environment", None)
    for number, (path, flags) in enumerate(
        zip(told["files"], (os.O_RDONLY, _WRITTEN, _WRITTEN), strict=True)
    ):
        if path is None:
            continue
        handle = os.open(path, flags)
        os.dup2(handle, number)
        os.close(handle)
    # Scrapy writes to the text and to the buffer beneath it. Their order is kept if lines are not held back.
    sys.stdout.reconfigure(line_buffering=True)
    own = {str(ROOT), ""}
    added = [told["folder"], *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.path[:] = added + [path for path in sys.path if path not in own]
    home = sys.modules[told["module"]].__file__
    assert home is not None
    sys.argv = [str(Path(home).with_name("__main__.py")), *told["words"]]


def main() -> None:
    """Serve at the socket that is named."""
    _import_everything()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sys.argv[1])
        listening.listen()
        print("ready", flush=True)
        told = _serve(listening)
    if told is not None:
        _become(told)
        if told["module"] == "scrapy":
            fork_children()
        _end(_executed(told["module"]))


def _executed(module: str) -> int:
    """Run the program to its end. Returns the exit status; an interrupt is left to the interpreter."""
    from scrapy.cmdline import execute

    from tests.fakeweb.__main__ import main as serve

    try:
        execute() if module == "scrapy" else serve()
    except SystemExit as ending:
        if ending.code is None or isinstance(ending.code, int):
            return ending.code or 0
        print(ending.code, file=sys.stderr)
        return 1
    except Exception:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(status: int) -> NoReturn:
    """End as an interpreter does, but for the modules: to take apart what all crawls share costs each a third of its
    time."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
