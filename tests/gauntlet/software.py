"""Real programs that serve the web, installed into a folder of their own and run on loopback."""

from __future__ import annotations

import os
import random
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

from tests.fakeweb.ports import free_port

HOME = Path(__file__).resolve().parents[2] / ".venv" / "software"
PACKAGES = ("datasette", "mercurial")
DATASETTE, HG = ((str(HOME / "bin" / "python"), str(HOME / "bin" / name)) for name in ("datasette", "hg"))
"""The commands: by their interpreter, since the first line of a script names the folder it was installed into."""
START_SECONDS = 60.0
TABLES = {"species": 180, "sightings": 260}
COMMITS, FILES = 60, 5


def install() -> bool:
    """Install the programs if they are missing; return whether they are there."""
    if not (HOME / "bin" / "datasette").exists() or not (HOME / "bin" / "hg").exists():
        subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
        subprocess.run([HOME / "bin" / "python", "-m", "pip", "install", "-q", *PACKAGES], check=False)
    return (HOME / "bin" / "datasette").exists() and (HOME / "bin" / "hg").exists()


def versions() -> str:
    """Return the versions of what is installed."""
    code = "from importlib.metadata import version as v; print(v('datasette'), v('mercurial'))"
    datasette, mercurial = output(str(HOME / "bin" / "python"), "-c", code)
    return f"Datasette {datasette}, Mercurial {mercurial}"


def output(*words: str) -> list[str]:
    """Return the words that a command prints."""
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return done.stdout.split()


class Programs:
    """Datasette with two tables and hgweb with a small repository, on ports of 127.0.0.1 while they run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: list[subprocess.Popen[bytes]] = []
        self.ports: dict[str, int] = {}

    def start(self) -> None:
        """Make the data, start both and wait until they answer."""
        database, repository = self._folder / "data.db", self._folder / "repository"
        if not database.exists():
            make_database(database)
        if not repository.exists():
            make_repository(repository)
        self.ports = {"datasette": free_port(), "hgweb": free_port()}
        datasette = [
            *DATASETTE,
            "serve",
            database,
            "-h",
            "127.0.0.1",
            "-p",
            self.ports["datasette"],
        ]
        hgweb = [*HG, "serve", "-R", repository, "-a", "127.0.0.1", "-p", self.ports["hgweb"]]
        for words in (datasette, hgweb):
            with (self._folder / "software.err").open("ab") as errors:
                command = list(map(str, words))
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, env=ENVIRONMENT
                )
            self._running.append(process)
        for port in self.ports.values():
            wait_for(port)

    def stop(self) -> None:
        """End both."""
        for process in self._running:
            process.kill()
            process.wait()


ENVIRONMENT = {**os.environ, "HGRCPATH": "", "HGPLAIN": "1"}


def make_database(path: Path) -> None:
    """Write two tables, one with references to the other."""
    chance = random.Random(1)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE species (id INTEGER PRIMARY KEY, name TEXT, family TEXT, colour TEXT)")
        database.execute(
            "CREATE TABLE sightings (id INTEGER PRIMARY KEY, species INTEGER REFERENCES species(id), place TEXT,"
            " day TEXT, number INTEGER, note TEXT)"
        )
        for number in range(1, TABLES["species"] + 1):
            row = (
                number,
                f"species {word(chance)} {word(chance)}",
                f"family-{number % 9}",
                f"colour-{number % 6}",
            )
            database.execute("INSERT INTO species VALUES (?, ?, ?, ?)", row)
        for number in range(1, TABLES["sightings"] + 1):
            day = f"2025-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
            kind = chance.randint(1, TABLES["species"])
            note = " ".join(word(chance) for _ in range(5))
            place = f"place-{number % 7}"
            database.execute(
                "INSERT INTO sightings VALUES (?, ?, ?, ?, ?, ?)",
                (number, kind, place, day, chance.randint(1, 5), note),
            )


def make_repository(path: Path) -> None:
    """Commit a few files many times, as patches that one command imports."""
    chance = random.Random(2)
    subprocess.run([*HG, "init", str(path)], check=True, env=ENVIRONMENT)
    texts: dict[str, list[str]] = {}
    patches = []
    for commit in range(COMMITS):
        date, message = 1_700_000_000 + commit * 90_000, " ".join(word(chance) for _ in range(4))
        patches.append(f"# HG changeset patch\n# User someone\n# Date {date} 0\n{message}\n\n")
        for number in range(FILES):
            if commit == 0 or number == commit % FILES or chance.random() < 0.3:
                name, lines = (
                    f"file{number}.txt",
                    [" ".join(word(chance) for _ in range(8)) for _ in range(6)],
                )
                patches.append(_patch(name, texts.get(name, []), lines))
                texts[name] = lines
    words = [*HG, "-R", str(path), "import", "--quiet", "-"]
    subprocess.run(words, input="".join(patches).encode(), check=True, env=ENVIRONMENT, cwd=path)


def _patch(name: str, before: list[str], after: list[str]) -> str:
    """Return the patch that replaces all lines of a file."""
    head = f"diff --git a/{name} b/{name}\n" + ("" if before else "new file mode 100644\n")
    place = f"@@ -{min(len(before), 1)},{len(before)} +1,{len(after)} @@\n"
    old = f"--- a/{name}\n" if before else "--- /dev/null\n"
    lines = [f"-{line}\n" for line in before] + [f"+{line}\n" for line in after]
    return f"{head}{old}+++ b/{name}\n{place}{''.join(lines)}"


def changesets(path: Path) -> list[str]:
    """Return the short hashes of all changesets."""
    return output(*HG, "-R", str(path), "log", "-T", "{node|short}\n")


def word(chance: random.Random) -> str:
    """Return a word that nobody has said."""
    return "".join(chance.choice("bdfgklmnprst") + chance.choice("aeiou") for _ in range(3))


def wait_for(port: int) -> None:
    """Wait until somebody listens."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port} after {START_SECONDS:g} s")


__all__ = ["COMMITS", "FILES", "HOME", "TABLES", "Programs", "changesets", "install", "versions"]
