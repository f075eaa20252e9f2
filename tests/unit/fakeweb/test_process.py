"""The fake web as a process: it says when it is ready, logs to a file, and never outlives its parent."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakeweb import Config, Placement, serve_in_process
from tests.fakeweb.process import Ready
from tests.fakeweb.witness import violations
from tests.unit.fakeweb.wire import get

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).resolve().parents[3]
_COMMAND = [sys.executable, "-m", "tests.fakeweb"]


def test_what_it_serves_is_what_the_parent_knows(tmp_path: Path) -> None:
    config = Config(seed=5, hosts=4, pages=40, placements=(Placement("flaky", share=0.2),))
    with serve_in_process(config, tmp_path / "access.jsonl") as served:
        fact = next(fact for fact in served.web.truth().values() if fact.behaviour is None)
        status, _, body = get(served.port, fact.url.partition(f":{served.port}")[2], fact.host)

        assert (status, len(body)) == (fact.status, fact.size)
        (hit,) = served.hits()
        assert (hit.host, hit.status) == (fact.host, 200)
        assert violations(served.hits(), lambda _: 1.0) == []
        assert served.cpu_seconds() > 0


def test_hosts_may_have_addresses_of_their_own(tmp_path: Path) -> None:
    config = Config(hosts=3, pages=10, own_addresses=True, dns=True, suffix="test")
    with serve_in_process(config, tmp_path / "access.jsonl") as served:
        with socket.create_connection(("127.1.0.3", served.port)) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: h0002.test\r\n\r\n")
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
        assert [hit.address for hit in served.hits()] == ["127.1.0.3"]
        assert served.nameserver == f"127.0.0.1:{served.ports.dns}"


def test_https_comes_with_a_certificate_that_can_be_checked() -> None:
    with serve_in_process(Config(hosts=3, pages=10, tls=True, https=1.0)) as served:
        context = ssl.create_default_context(cadata=served.certificate)
        with (
            socket.create_connection(("127.0.0.1", served.ports.https or 0)) as raw,
            context.wrap_socket(raw, server_hostname="h0000.localhost") as connection,
        ):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: h0000.localhost\r\n\r\n")
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
        assert served.seeds == [f"https://h0000.localhost:{served.ports.https}/"]


def test_dead_ports_are_dead() -> None:
    with serve_in_process(Config(hosts=3, pages=10, dead=("dead-port", "dead-silent"))) as served:
        assert served.ports.closed is not None
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", served.ports.closed), timeout=5)
        assert served.ports.silent is not None
        with pytest.raises(TimeoutError):
            socket.create_connection(("127.0.0.1", served.ports.silent), timeout=0.3)


def test_a_bench_web_can_be_served_too() -> None:
    with serve_in_process(Config(kind="bench", hosts=10, pages=5)) as served:
        assert len(served.seeds) == 10
        assert get(served.port, "/p/4", "h0009.localhost")[0] == 200


def test_a_wrong_configuration_is_said_and_starts_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="did not start"), serve_in_process(Config(hosts=5, pages=2)):
        pass

    assert "2 pages are too few for 5 hosts" in capfd.readouterr().err


def _start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*_COMMAND, *arguments], cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("how", ["parent", signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_its_parent_or_when_told(how: str | signal.Signals) -> None:
    with _start("--json", "--until-stdin-closes", "--hosts", "2") as child:
        assert child.stdout is not None
        assert child.stdin is not None
        ready = Ready.from_json(child.stdout.readline())
        assert get(ready.ports.http, "/")[0] == 200
        if isinstance(how, str):
            child.stdin.close()
        else:
            child.send_signal(how)
        assert child.wait(10) == 0


def test_a_person_is_told_where_to_start() -> None:
    with _start("--bench", "--hosts", "12") as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(13)]
        child.terminate()

    assert lines[0].startswith("Serving at 127.0.0.1: http on ")
    assert lines[2].startswith("  http://h0000.localhost:")
    assert lines[12] == "  ... and 2 more\n"


def test_a_wrong_behaviour_is_named() -> None:
    done = subprocess.run(
        [*_COMMAND, "--behaviour", "typo"], cwd=_ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "no behaviour is called 'typo'" in done.stderr


def test_the_help_names_every_behaviour() -> None:
    done = subprocess.run([*_COMMAND, "--help"], cwd=_ROOT, capture_output=True, text=True, check=True)

    assert "gzip-bomb" in done.stdout
    assert "robots-utf16" in done.stdout
    assert "dead-silent" in done.stdout


def test_what_was_answered_is_in_the_log_at_once(tmp_path: Path) -> None:
    path = tmp_path / "access.jsonl"
    with serve_in_process(Config(hosts=2, pages=10), path) as served:
        client = http.client.HTTPConnection("127.0.0.1", served.port)
        for number in range(3):
            client.request("GET", f"/x/ok?{number}", headers={"Host": "h0001.localhost"})
            client.getresponse().read()
            assert [hit.path for hit in served.hits()] == [f"/x/ok?{place}" for place in range(number + 1)]
        client.close()
    assert all(json.loads(line)["connection"] for line in path.read_text().splitlines())
