"""``make crawl``: the first crawl of somebody who has just cloned the project.

Without SEEDS it serves a small web on loopback and crawls that, with short delays since nobody else is asked;
with SEEDS it crawls the real one, with the defaults of the project. The rest is the ordinary command, and it
is printed.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from tests.fakeweb.config import Config
from tests.fakeweb.process import serve_in_process

SCRAPY = str(Path(sys.executable).with_name("scrapy"))
DEMO_PAGES = 600


def main(arguments: list[str]) -> int:
    """Run the crawl; the exit status is that of ``scrapy crawl``."""
    seeds, jobdir, contact = (os.environ.get(name, "") for name in ("SEEDS", "JOBDIR", "CONTACT"))
    if contact:
        arguments = ["-s", f"CRAWLER_CONTACT={contact}", *arguments]
    if jobdir:
        arguments = ["-s", f"JOBDIR={jobdir}", *arguments]
    if seeds:
        return _crawl(seeds, arguments)
    quick = ["POLITENESS_MIN_DELAY=0.2", "POLITENESS_FACTOR=5", "FETCH_PRIVATE_ADDRESSES=1"]
    with serve_in_process(Config(hosts=40, pages=DEMO_PAGES, seed=7)) as web:
        print(f"A web of {DEMO_PAGES} pages on 40 hosts is served on loopback, port {web.port}.")
        return _crawl(web.seeds[0], [*(word for setting in quick for word in ("-s", setting)), *arguments])


def _crawl(seeds: str, arguments: list[str]) -> int:
    command = [SCRAPY, "crawl", "broad", "-a", f"seeds={seeds}", *arguments]
    print("$", shlex.join(["scrapy", *command[1:]]), flush=True)
    # Ctrl-C goes to the crawl as well, which ends cleanly and says how to go on: wait for that.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.Popen(command, preexec_fn=lambda: signal.signal(signal.SIGINT, before)).wait()
    finally:
        signal.signal(signal.SIGINT, before)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
