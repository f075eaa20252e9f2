"""The fenced blocks of README and docs, and sessions that execute them as a reader would.

A block's first word names what it is; the rest of the line are marks.

========== ====================================================================================================
sh         commands; each block must end with status 0
console    commands behind ``$``, with what they print; ``^C`` is the reader's Ctrl-C at that moment
python     with a first line ``# FILE``: a file that the reader writes; else code that is executed
ini, yaml  the same for other files; without a first line ``# FILE`` an example
usage      the words and options of a command
text, json, sql, nginx   not executed
========== ====================================================================================================

``not-run: REASON`` as a mark: cannot run here; its names are checked by ``tests/test_docs.py``. ``background``: runs
until the end of the page. ``status N``: the last command ends so. ``varies: WORD, WORD``: any number will do in lines
with one of these. ``exact``: all numbers are compared. A comment ``<!-- run: COMMAND -->`` is executed where it
stands, and not shown.

What is printed is compared line by line. ``...`` stands for any characters, a line ``...`` for any lines. A count is
compared; a date, a time, a decimal, a number with a unit of time, size or share, an offset, and one within a name
stand for any. Runs of spaces are equal; kB, MB and bytes are equal.

A page is one session in one folder. Public addresses are those of a fake web on loopback, see ``Session.mapped``.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tomllib
from contextlib import ExitStack, chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests import forked, processes
from tests.fakeweb import Config, serve_in_process
from tests.fakeweb.ports import free_port
from webcrawl import demo

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.fakeweb import Served
    from tests.redis_server import RedisServer

ROOT = Path(__file__).parents[1]
SECONDS = 60
EXECUTED = ("sh", "console", "python")
FILES = ("python", "ini", "yaml")
SHOWN = ("usage", "text", "json", "sql", "nginx")
_FENCE = re.compile(
    r"^ *```(?P<info>[^\n]*)\n(?P<text>.*?)^ *```$|^ *<!-- run: (?P<hidden>.*?) -->$", re.M | re.S
)
_FILE = re.compile(r"# (\w[\w./-]*\.\w+|\.env)\n")
"""Absolute paths are not of this session."""
_PUBLIC = re.compile(r"(https?://)?(?<![\w.@-])(www\.)?example\.(org|net|com)(?![\w-])")
_TOKENS = re.compile(
    r"(?P<measured>\d[\d,]*(?:[.:-]\d+)+|\d[\d,]*(?=/s| (?:[kMG]?B|bytes|%|h|min|m?s)(?!\w)))"
    r"|(?P<within>(?<=byte )\d+|(?<=[\w./-])\d+|\d+(?=[A-Za-z_-]))|(?P<number>\d+(?:,\d+)*)|(?P<any>\.\.\.)"
    r"|(?P<unit>\b(?:[kMG]?B|bytes)\b)|(?P<space> +)|."
)
_SHIM = f"""#!{sys.executable} -IS
import json, os, signal, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(os.environ["FORKED_FROM"])
own = f"/proc/{{os.getpid()}}/fd/"
told = {{"module": "scrapy", "words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}
told["files"] = [own + number for number in "012"]
connection.sendall(json.dumps(told).encode() + b"\\n")
stream = connection.makefile("rb")
pid = int(stream.readline())
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: os.kill(pid, number))
sys.exit(int(stream.readline()) % 256)
"""

_REDIS_CLI = f"""#!{sys.executable}
import sys
import redis
assert sys.argv[1] == "-u", "redis-cli -u URL COMMAND ..."
print(redis.Redis.from_url(sys.argv[2]).execute_command(*sys.argv[3:]))
"""
_SQLITE3 = f"""#!{sys.executable}
import sqlite3
import sys
for row in sqlite3.connect(sys.argv[1], uri=True).execute(sys.argv[2]):
    print(*row, sep="|")
"""
"""As much of these programs as pages use, since they are not on every machine."""


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    text: str
    marks: str = ""
    hidden: bool = False
    """Whether it is a comment of the page."""

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def reason(self) -> str | None:
        """Why it is not executed; None for a block that is."""
        return self.marks.partition("not-run:")[2].strip() if "not-run" in self.marks else None

    @property
    def status(self) -> int:
        match = re.search(r"\bstatus (\d+)", self.marks)
        return int(match[1]) if match else 0

    @property
    def exact(self) -> bool:
        return bool(re.search(r"\bexact\b", self.marks))

    @property
    def varies(self) -> list[str]:
        """Words of lines in which any number will do."""
        match = re.search(r"\bvaries: (.+)", self.marks)
        return match[1].split(", ") if match else []

    @property
    def file(self) -> str | None:
        """The file that it is, if it is one."""
        match = _FILE.match(self.text) if self.language in FILES else None
        return match[1] if match else None

    def steps(self) -> Iterator[tuple[str, str]]:
        """Yield the commands of a ``console`` block, each with what it is to print."""
        for part in re.split(r"^\$ ", self.text, flags=re.M)[1:]:
            match = re.match(r"((?:.*\\\n)*.*\n?)", part)
            assert match is not None
            yield match[1].strip(), part[match.end() :]


def blocks_of(path: Path) -> list[Block]:
    """Read the blocks of a page."""
    text = path.read_text(encoding="utf-8")
    blocks = []
    for match in _FENCE.finditer(text):
        place = (str(path.relative_to(ROOT)), text.count("\n", 0, match.start()) + 1)
        if match["hidden"]:
            blocks.append(Block(*place, "sh", f"{match['hidden']}\n", hidden=True))
        else:
            language, _, marks = match["info"].partition(" ")
            blocks.append(Block(*place, language, textwrap.dedent(match["text"]), marks))
    return blocks


def pattern_of(expected: str, exact: bool = False, varies: Sequence[str] = ()) -> str:
    """Return the expression for what a block says is printed."""
    lines = []
    for line in expected.rstrip().splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
            continue
        pattern = ""
        is_free = any(word in line for word in varies)
        for token in _TOKENS.finditer(line.rstrip()):
            varying = token["measured"] or token["within"] or (is_free and token["number"])
            if varying and not exact:
                pattern += r"\d(?:[\d.,:-]*\d)?"
            elif token["any"]:
                pattern += r".*?"
            elif token["unit"]:
                pattern += r"(?:[kMG]?B|bytes)"
            elif token["space"]:
                pattern += " +"
            else:
                pattern += re.escape(token[0])
        if is_free:
            pattern = re.sub(r"(?<=\w)s(?= \+|$)", "s?", pattern)  # of 1 URL
        lines.append(f"{pattern} *\n")
    return "".join(lines)


def agrees(expected: str, printed: str, exact: bool = False, varies: Sequence[str] = ()) -> bool:
    """Return whether what was printed is what the page says."""
    return re.fullmatch(pattern_of(expected, exact, varies) + r"\s*", f"{printed.rstrip()}\n") is not None


class Running:
    """A command in a process group of its own, and what it has printed."""

    def __init__(self, command: str, folder: Path, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._read: list[bytes] = []
        self._reader = threading.Thread(target=self._follow, daemon=True)
        self._reader.start()

    @property
    def printed(self) -> str:
        return b"".join(self._read).decode("utf-8", "replace").replace("\r", "")

    def _follow(self) -> None:
        assert self.process.stdout is not None
        while read := os.read(self.process.stdout.fileno(), 65536):
            self._read.append(read)

    def until(self, pattern: str) -> None:
        """Wait until it has printed this."""
        deadline = time.monotonic() + SECONDS
        while not re.match(pattern, self.printed):
            assert self.process.poll() is None, f"ended too early:\n{self.printed}"
            assert time.monotonic() < deadline, f"it did not print {pattern!r} but:\n{self.printed}"
            time.sleep(0.01)

    def signal(self, number: signal.Signals) -> None:
        os.killpg(self.process.pid, number)

    def wait(self) -> int:
        """Wait for its end, with all that it started that prints, and return the status."""
        try:
            status = self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.end()
            raise AssertionError(f"it did not end, and printed:\n{self.printed}") from None
        self._reader.join(SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status

    def end(self) -> None:
        """End it, whatever it does."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                for pid in processes.all_below(self.process.pid):
                    processes.kill(pid)
                self.process.wait(20)
        self._reader.join(SECONDS)
        if self.process.stdout is not None:
            self.process.stdout.close()


@dataclass
class Session:
    """A reader of one page: a folder, an environment, and the servers that the page's addresses stand for."""

    folder: Path
    redis: RedisServer | None = None
    stack: ExitStack = field(default_factory=ExitStack)
    running: list[Running] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.port, self.dashboard_port, self.service_port = free_port(), free_port(), free_port()
        self.is_serving = False
        self.web: Served | None = None
        self.at = self.folder / "project"
        bin_folder = self.folder / "bin"
        for folder in (self.at, self.at / ".venv/bin", bin_folder):
            folder.mkdir(parents=True, exist_ok=True)
        for name, program in (("scrapy", _SHIM), ("redis-cli", _REDIS_CLI), ("sqlite3", _SQLITE3)):
            (bin_folder / name).write_text(program)
            (bin_folder / name).chmod(0o755)
        (self.at / ".venv/bin/activate").touch()
        (self.at / "scrapy.cfg").write_text("[settings]\ndefault = documented_settings\n")
        (self.folder / "documented_settings.py").write_text(
            "from webcrawl.settings import *\n\nPOLITENESS_MIN_DELAY = 0\nPOLITENESS_FACTOR = 0\n"
            "FETCH_PRIVATE_ADDRESSES = True\nSPIDER_MODULES = ['webcrawl.spiders']\n"
        )
        # What an installer leaves of the package, so that its commands are those of any project.
        metadata = self.folder / "webcrawl-0.1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: webcrawl\nVersion: 0.1.0\n")
        points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
        (metadata / "entry_points.txt").write_text(
            "".join(
                f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in names.items())
                for group, names in points.items()
            )
        )
        self._state = self.folder / "state"
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("WEBCRAWL_", "SCRAPY_"))
        }
        self.environment = {
            **kept,
            "PATH": os.pathsep.join([str(bin_folder), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PYTHONPATH": os.pathsep.join(map(str, (self.folder, ROOT))),
            "FORKED_FROM": forked.source_path(),
            "TERM": "dumb",
            "COLUMNS": "200",
            "HOME": str(self.folder),
        }

    def close(self) -> None:
        """End what still runs, the newest first."""
        for process in reversed(self.running):
            process.end()
        self.stack.close()

    def mapped(self, text: str) -> str:
        """Return a text of the page with addresses of this machine in place of those that the page names."""
        if "scrapy demo" in text:
            self.is_serving = True
        elif "localhost:8000" in text and not self.is_serving:
            self._serve_demo()
        text = re.sub(r"localhost:8000\b", f"localhost:{self.port}", text)
        text = re.sub(r"(127\.0\.0\.1:|--port )8765\b", rf"\g<1>{self.dashboard_port}", text)
        text = re.sub(r"(127\.0\.0\.1:|--port )8766\b", rf"\g<1>{self.service_port}", text)
        text = text.replace("scrapy demo", f"scrapy demo --port {self.port}")
        if self.redis is not None:
            text = re.sub(r"(10\.0\.0\.5|localhost):6379", urlsplit(self.redis.url).netloc, text)
        return _PUBLIC.sub(self._public, text.replace("/backup/", f"{self.folder}/backup/"))

    def _serve_demo(self) -> None:
        """Serve the library to pages that take it for served."""
        self.is_serving = True
        server = self.stack.enter_context(demo.serve(self.port))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.stack.callback(server.shutdown)

    def _public(self, found: re.Match[str]) -> str:
        if self.web is None:
            self.web = self.stack.enter_context(serve_in_process(Config(hosts=3, pages=30, seed=7)))
        host = f"h000{('org', 'net', 'com').index(found[3])}.localhost"
        return f"http://{host}:{self.web.port}" if found[1] else host

    def execute(self, block: Block) -> None:
        """Do what a reader does with a block. Raises AssertionError if what happens is not what the page says."""
        text = self.mapped(block.text)
        if block.file is not None:
            path = self.at / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if block.language == "python":
                compile(text, block.name, "exec")
        elif block.language == "python":
            with chdir(self.at):
                exec(compile(text, block.name, "exec"), {"__name__": "documented"})
        elif "background" in block.marks:
            steps = list(Block(block.page, block.line, block.language, text).steps())
            running = Running("\n".join(command for command, _ in steps), self.at, self.environment)
            self.running.append(running)
            running.until("".join(pattern_of(expected, False, block.varies) for _, expected in steps))
        elif block.language == "console":
            executed = Block(block.page, block.line, block.language, text, block.marks)
            for command, expected in executed.steps():
                self._run(block, command, expected)
        elif block.language == "sh":
            self._run(block, f"set -e\n{text}", None)

    def _run(self, block: Block, command: str, expected: str | None) -> None:
        script = command if expected is None else f"{command}\nkept=$?\npwd > '{self._state}'\nexit $kept"
        running = Running(script, self.at, self.environment)
        self.running.append(running)
        before, interrupt, after = (expected or "").partition("^C\n")
        if interrupt:
            running.until(pattern_of(before, block.exact, block.varies))
            running.signal(signal.SIGINT)
        status = running.wait()
        self.running.remove(running)
        printed = running.printed
        assert status == block.status, (
            f"{block.name}: {command}\nended with status {status}:\n{printed[-6000:]}"
        )
        if expected is not None:
            self.at = Path(self._state.read_text().strip())
            agreed = agrees(f"{before}{after}", printed, block.exact, block.varies)
            assert agreed, f"{block.name}: {command}\nprinted:\n{printed}\nand not:\n{before}{after}"
