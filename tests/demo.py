"""``make crawl``: the first crawl of somebody who has just cloned the project.

Without SEEDS it serves a small web on loopback and crawls that, with short delays since nobody else is asked;
with SEEDS it crawls the real one, with the defaults of the project. The rest is the ordinary command, and it
is printed.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.fakeweb.config import Config
from tests.fakeweb.process import serve_in_process
from webcrawl.start import JOBDIR, RESUMED_BY

SCRAPY = str(Path(sys.executable).with_name("scrapy"))
DEMO_PAGES = 600
PORT = 8735
"""The port of the demo web, the same each time, so that its crawls can be resumed."""


def main(arguments: list[str]) -> int:
    """Run the crawl; the exit status is that of ``scrapy crawl``."""
    given = list(arguments)
    seeds, jobdir, contact = (os.environ.get(name, "") for name in ("SEEDS", "JOBDIR", "CONTACT"))
    if contact:
        arguments = ["-s", f"CRAWLER_CONTACT={contact}", *arguments]
    if jobdir:
        arguments = ["-s", f"JOBDIR={jobdir}", *arguments]
    if seeds:
        return _crawl(seeds, arguments)
    quick = ["POLITENESS_MIN_DELAY=0.2", "POLITENESS_FACTOR=5", "FETCH_PRIVATE_ADDRESSES=1"]
    port = _port()
    with serve_in_process(Config(hosts=40, pages=DEMO_PAGES, seed=7, port=port)) as web:
        print(f"A web of {DEMO_PAGES} pages on 40 hosts is served on loopback, port {web.port}.")
        if not port:
            print(f"Port {PORT} is in use: this crawl can be resumed only while this web is served.")
        words = [*(word for setting in quick for word in ("-s", setting)), *arguments]
        return _crawl(web.seeds[0], words, resumed_by=_resumed_by(given) if port else None)


def _port() -> int:
    """Return the port of the demo web, on which a resumed crawl finds it again; 0 for any if it is in use."""
    with closing(socket.socket()) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", PORT))
        except OSError:
            return 0
    return PORT


def _resumed_by(arguments: list[str]) -> str:
    """Return the command that serves the same web again and resumes the crawl."""
    more = [f"CONTACT={os.environ['CONTACT']}"] if os.environ.get("CONTACT") else []
    more += [f"ARGS={shlex.join(arguments)}"] if arguments else []
    return shlex.join(["make", "crawl", f"JOBDIR={JOBDIR}", *more])


def _crawl(seeds: str, arguments: list[str], resumed_by: str | None = None) -> int:
    command = [SCRAPY, "crawl", "broad", "-a", f"seeds={seeds}", *arguments]
    environment = os.environ | ({RESUMED_BY: resumed_by} if resumed_by else {})
    print("$", shlex.join(["scrapy", *command[1:]]), flush=True)
    # Ctrl-C goes to the crawl as well, which ends cleanly and says how to go on: wait for that.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.Popen(
            command, env=environment, preexec_fn=lambda: signal.signal(signal.SIGINT, before)
        ).wait()
    finally:
        signal.signal(signal.SIGINT, before)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
