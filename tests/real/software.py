"""The software: where it comes from, the content that it is given, and how it is started."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fakeweb.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

START_SECONDS = 60.0
COMMITS, FILES = 60, 8
"""Commits and files of the repositories."""


class MissingError(Exception):
    """A software cannot be had here."""


@dataclass(frozen=True, slots=True)
class Served:
    """A running software."""

    seed: str
    is_documentation: bool = False
    noise: bytes = b""
    """A pattern of what differs between two requests for one page: times, numbers of requests. Its pages are equal
    for DUST rules if their main texts are, since their bodies never are."""


def debian(folder: Path, *packages: str) -> Path:
    """Unpack Debian packages into a folder, without their dependencies; return it.

    :raises MissingError: they cannot be had
    """
    root = folder / "debian"
    root.mkdir(parents=True, exist_ok=True)
    for package in packages:
        if (root / f".{package}").exists():
            continue
        try:
            subprocess.run(
                ["apt-get", "download", "-qq", package],
                cwd=root,
                check=True,
                capture_output=True,
                timeout=300,
            )
            for file in root.glob("*.deb"):
                subprocess.run(["dpkg-deb", "-x", file, root], check=True, capture_output=True)
                file.unlink()
        except (OSError, subprocess.SubprocessError) as error:
            raise MissingError(f"the Debian package {package} cannot be had: {error}") from error
        (root / f".{package}").touch()
    return root


def libraries(root: Path) -> str:
    """Return the search path of the shared libraries of unpacked packages."""
    return ":".join(str(path) for path in [*sorted(root.glob("lib/*-*")), *sorted(root.glob("usr/lib/*-*"))])


def pypi(folder: Path, package: str) -> Path:
    """Install a package of PyPI into an environment of its own; return its folder of programs.

    :raises MissingError: it cannot be had
    """
    home = folder / package
    if not (home / "bin" / package).exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", home], check=True, capture_output=True)
            subprocess.run(
                [home / "bin/python", "-m", "pip", "install", "-q", package], check=True, capture_output=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise MissingError(f"{package} cannot be installed: {error}") from error
    return home / "bin"


@contextmanager
def running(command: list[str | Path], seed: str, folder: Path, **variables: str) -> Iterator[None]:
    """Run a server until the end of the block, which begins when it answers."""
    with (folder / "server.log").open("ab") as log:
        server = subprocess.Popen(
            command,
            cwd=folder,
            stdout=log,
            stderr=log,
            env={**os.environ, **variables},
            start_new_session=True,
        )
    try:
        until = time.monotonic() + START_SECONDS
        while True:
            with suppress(OSError), urllib.request.urlopen(seed, timeout=10):
                break
            if server.poll() is not None or time.monotonic() > until:
                raise MissingError(f"{command[0]} does not start; see {folder / 'server.log'}")
            time.sleep(0.2)
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, 15)
        server.wait()


def _content(folder: Path, number: int) -> None:
    """Change the files of a repository, some of them in each commit."""
    for file in range(FILES):
        if (number + file) % 3 == 0 or number == 0 or not file:
            path = folder / f"part{file % 2}" / f"file{file}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(
                "".join(f"line {line} of {file} at {number}{'.' * number}\n" for line in range(20))
            )


def _repository(folder: Path, tool: str) -> Path:
    """Return a repository with a few commits."""
    path = folder / "repository"
    if path.exists():
        return path
    if shutil.which(tool) is None:
        raise MissingError(f"{tool} is not installed")
    path.mkdir(parents=True)
    run = {"cwd": path, "check": True, "capture_output": True}
    subprocess.run([tool, "init"], **run)  # type: ignore[call-overload]
    for number in range(COMMITS):
        _content(path, number)
        if tool == "hg":
            words = [["add"], ["commit", "-m", f"change {number}", "-u", "test", "-d", f"{1000 * number} 0"]]
        else:
            name = ["-c", "user.name=test", "-c", "user.email=test@test"]
            words = [["add", "."], [*name, "commit", "-m", f"change {number}"]]
        for word in words:
            subprocess.run([tool, *word], **run)  # type: ignore[call-overload]
    return path


@contextmanager
def hgweb(folder: Path) -> Iterator[Served]:
    """Mercurial's own server."""
    path, port = _repository(folder, "hg"), free_port()
    seed = f"http://127.0.0.1:{port}/"
    with running(["hg", "serve", "-R", path, "-a", "127.0.0.1", "-p", str(port)], seed, folder):
        yield Served(seed)


@contextmanager
def gitweb(folder: Path) -> Iterator[Served]:
    """Git's gitweb.cgi, served by Python's server of scripts."""
    root = debian(folder, "git", "libcgi-pm-perl", "libhtml-parser-perl")
    _repository(folder / "projects", "git")
    scripts = folder / "www" / "cgi-bin"
    scripts.mkdir(parents=True, exist_ok=True)
    script = scripts / "gitweb.cgi"
    shutil.copy(root / "usr/share/gitweb/gitweb.cgi", script)
    script.chmod(0o755)
    configuration = folder / "gitweb.conf"
    configuration.write_text(f'$projectroot = "{folder / "projects"}";\n1;\n')
    port = free_port()
    seed = f"http://127.0.0.1:{port}/cgi-bin/gitweb.cgi"
    perl = [root / "usr/share/perl5", *sorted(root.glob("usr/lib/*/perl5/*"))]
    command = [sys.executable, "-m", "http.server", "--cgi", "--bind", "127.0.0.1", str(port)]
    command += ["--directory", str(folder / "www")]
    with running(
        command, seed, folder / "www", PERL5LIB=":".join(map(str, perl)), GITWEB_CONFIG=str(configuration)
    ):
        yield Served(seed)


@contextmanager
def fossil(folder: Path) -> Iterator[Served]:
    """Fossil's own server."""
    root = debian(folder, "fossil", "libfuse2")
    program = root / "usr/bin/fossil"
    file, checkout = folder / "test.fossil", folder / "checkout"
    own = {"HOME": str(folder), "USER": "test", "LD_LIBRARY_PATH": libraries(root)}
    home = {**os.environ, **own}
    if not file.exists():
        checkout.mkdir()
        run = {"cwd": checkout, "check": True, "capture_output": True, "env": home}
        try:
            subprocess.run([program, "init", file], **run)  # type: ignore[call-overload]
            subprocess.run([program, "open", file], **run)  # type: ignore[call-overload]
            for number in range(COMMITS):
                _content(checkout, number)
                subprocess.run([program, "addremove"], **run)  # type: ignore[call-overload]
                words = ["commit", "-m", f"change {number}", "--no-warnings"]
                subprocess.run([program, *words], **run)  # type: ignore[call-overload]
        except (OSError, subprocess.SubprocessError) as error:
            file.unlink(missing_ok=True)
            raise MissingError(f"fossil does not work here: {error}") from error
    port = free_port()
    seed = f"http://127.0.0.1:{port}/timeline"
    command: list[str | Path] = [program, "server", "--localhost", "--port", str(port), file]
    with running(command, seed, folder, **own):
        yield Served(seed)


@contextmanager
def datasette(folder: Path) -> Iterator[Served]:
    """Datasette with two tables."""
    programs = pypi(folder, "datasette")
    file = folder / "store.db"
    if not file.exists():
        with sqlite3.connect(file) as base:
            base.execute("CREATE TABLE makers (id INTEGER PRIMARY KEY, name TEXT)")
            base.execute(
                "CREATE TABLE goods (id INTEGER PRIMARY KEY, name TEXT, colour TEXT, price INTEGER, "
                "maker INTEGER REFERENCES makers(id))"
            )
            base.executemany("INSERT INTO makers VALUES (?, ?)", [(row, f"maker {row}") for row in range(6)])
            rows = [(row, f"good {row}", "rgb"[row % 3], row * 7 % 90, row % 6) for row in range(250)]
            base.executemany("INSERT INTO goods VALUES (?, ?, ?, ?, ?)", rows)
        base.close()
    port = free_port()
    seed = f"http://127.0.0.1:{port}/"
    with running([programs / "datasette", "serve", file, "-h", "127.0.0.1", "-p", str(port)], seed, folder):
        yield Served(seed, noise=rb"Queries took [0-9.]+ms")


PHP = ("cli", "common", "intl", "xml", "sqlite3", "mbstring", "opcache")
"""Packages of PHP."""
EXTENSIONS = "ctype dom fileinfo iconv intl mbstring pdo pdo_sqlite simplexml sqlite3 tokenizer xml xmlreader"
ARTICLES = 40


@contextmanager
def mediawiki(folder: Path) -> Iterator[Served]:
    """MediaWiki on PHP's own server, with some articles."""
    root = debian(folder, *(f"php8.2-{name}" for name in PHP), "mediawiki", "mediawiki-classes")
    php, home, port = root / "usr/bin/php8.2", folder / "wiki", free_port()
    [modules] = (root / "usr/lib/php").glob("2*")
    lines = [f"extension_dir={modules}", *(f"extension={name}" for name in EXTENSIONS.split())]
    lines += ["zend_extension=opcache", "opcache.enable_cli=1"]
    (folder / "php.ini").write_text("\n".join(lines) + "\n")
    own = {"PHPRC": str(folder / "php.ini"), "PHP_CLI_SERVER_WORKERS": "2"}
    origin = f"http://127.0.0.1:{port}"
    run = {"cwd": folder, "check": True, "capture_output": True, "env": {**os.environ, **own}}
    shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(folder / "db", ignore_errors=True)
    (folder / "db").mkdir()
    # Some of its links lead to folders of the system, which are not unpacked here.
    shutil.copytree(root / "usr/share/mediawiki", home, ignore_dangling_symlinks=True)
    (home / "LocalSettings.php").unlink(missing_ok=True)
    words = [
        "--dbtype",
        "sqlite",
        "--dbpath",
        folder / "db",
        "--dbname",
        "wiki",
        "--pass",
        "ofThisTestOnly12",
    ]
    words += ["--server", origin, "--scriptpath", "", "--confpath", home, "Test", "admin"]
    articles = folder / "articles"
    articles.mkdir(exist_ok=True)
    for number in range(ARTICLES):
        chance = random.Random(number)
        text = " ".join("".join(chance.choices("abcdefghij", k=5)) for _ in range(150))
        links = " ".join(f"[[Topic {(number * step + 1) % ARTICLES}]]" for step in (1, 2, 3))
        (articles / f"Topic {number}.txt").write_text(
            f"{text} {links} [[Category:Kind {number % 3}]]\n== Part ==\n{text}\n"
        )
    files = sorted(articles.iterdir())
    importing = [php, home / "maintenance/importTextFiles.php", "--overwrite", "-s", "test"]
    try:
        subprocess.run([php, home / "maintenance/install.php", *words], **run)  # type: ignore[call-overload]
        for changed in range(2):
            for file in files[:: 2 * changed or 1]:
                file.write_text(f"{file.read_text()}changed {changed}\n")
            subprocess.run([*importing, *files], **run)  # type: ignore[call-overload]
        subprocess.run([php, home / "maintenance/runJobs.php"], **run)  # type: ignore[call-overload]
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingError(f"mediawiki cannot be installed: {error}") from error
    noise = rb"(?s)<script.*?</script>|<!--.*?-->"
    with running([php, "-S", f"127.0.0.1:{port}", "-t", home], f"{origin}/index.php", folder, **own):
        yield Served(f"{origin}/index.php/Topic_0", noise=noise)


def documentation(package: str, path: str) -> Callable[[Path], object]:
    """Return the server of a tree of files of a Debian package."""

    @contextmanager
    def served(folder: Path) -> Iterator[Served]:
        root, port = debian(folder, package), free_port()
        seed = f"http://127.0.0.1:{port}/index.html"
        command = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
        with running([*command, "--directory", str(root / path)], seed, folder):
            yield Served(seed, is_documentation=True)

    return served


SOFTWARE: dict[str, Callable[[Path], object]] = {
    "hgweb": hgweb,
    "gitweb": gitweb,
    "fossil": fossil,
    "datasette": datasette,
    "mediawiki": mediawiki,
    "sqlite-doc": documentation("sqlite3-doc", "usr/share/doc/sqlite3"),
    "python-doc": documentation("python3.11-doc", "usr/share/doc/python3.11/html"),
}
