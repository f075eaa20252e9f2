"""The default delay meets servers that close idle connections at the same moment: no request fails, minutes long."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.fakeweb import witness

pytestmark = pytest.mark.soak

SECONDS = 120
DELAY = 5.0
HOSTS = 60
APACHE = shutil.which("apache2") or shutil.which("httpd")
MODULES = Path("/usr/lib/apache2/modules")
NEEDED = ("mpm_event", "authz_core", "mime", "dir", "reqtimeout")
SETTINGS = {
    "POLITENESS_MIN_DELAY": DELAY,
    "POLITENESS_FACTOR": None,
    "POLITENESS_KEY": "host",
    "CLOSESPIDER_TIMEOUT": SECONDS,
}


def failed(crawl):
    return [line for line in crawl.log() if "error" in line]


@pytest.mark.parametrize("milliseconds", [20, 60, 120])
def test_a_server_that_keeps_connections_for_the_delay_loses_none(serve, crawl, milliseconds):
    web = serve(
        hosts=HOSTS,
        pages=HOSTS * 30,
        zipf=0.0,
        keep_alive_seconds=DELAY,
        keep_alive_announced=True,
        round_trip_seconds=milliseconds / 1000,
    )
    roots = [f"{web.web.origin(host)}/" for host in range(HOSTS)]

    ended = crawl(roots, within=SECONDS + 60, **SETTINGS).assert_ended_well()

    hits = web.hits()
    assert failed(ended) == []
    assert len(hits) > HOSTS * (SECONDS / DELAY) / 2
    assert witness.violations(hits, lambda hit: DELAY, tolerance=0.005) == []


@contextmanager
def apache(folder, port):
    """Debian's Apache as it comes: it keeps connections for five seconds and a hundred requests."""
    folder.chmod(0o755)  # its children run as another user, if they can
    pages = folder / "pages"
    pages.mkdir(parents=True)
    for number in range(1000):
        links = "".join(f'<a href="/{(7 * number + step) % 1000}.html">{step}</a>\n' for step in range(10))
        (pages / f"{number}.html").write_text(f"<title>{number}</title>\n<p>Page {number}.</p>\n{links}")
    (pages / "robots.txt").write_text("User-agent: *\nDisallow:\n")
    lines = [
        f'ServerRoot "{folder}"',
        "ServerName localhost",
        f"Listen 127.0.0.1:{port}",
        f'PidFile "{folder}/pid"',
        *(f'LoadModule {name}_module "{MODULES}/mod_{name}.so"' for name in NEEDED),
        f'DocumentRoot "{pages}"',
        f'<Directory "{pages}">\nRequire all granted\n</Directory>',
        f'ErrorLog "{folder}/error.log"',
        'LogFormat "%k %>s" short',
        f'CustomLog "{folder}/access.log" short',
    ]
    if (types := Path("/etc/mime.types")).exists():
        lines.append(f'TypesConfig "{types}"')
    (folder / "apache.conf").write_text("\n".join(lines) + "\n")
    command = [APACHE, "-d", str(folder), "-f", str(folder / "apache.conf"), "-DFOREGROUND"]
    child = subprocess.Popen(command)
    try:
        until_it_listens(port)
        yield folder / "access.log"
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(120)


def until_it_listens(port):
    for _ in range(300):
        with closing(socket.socket()) as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("Apache does not listen")


@pytest.mark.skipif(
    APACHE is None or not MODULES.is_dir(), reason="needs Apache as Debian has it: apt-get install apache2"
)
def test_apache_as_it_comes_loses_none(crawl):
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with TemporaryDirectory() as opened, apache(Path(opened), port) as log:
        seeds = [f"http://h{number}.localhost:{port}/{number}.html" for number in range(HOSTS)]
        ended = crawl(seeds, within=SECONDS + 60, **SETTINGS).assert_ended_well()
        served = log.read_text().splitlines()

    assert failed(ended) == []
    assert len(served) > HOSTS * (SECONDS / DELAY) / 2
