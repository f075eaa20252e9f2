"""Child processes of a forked crawl, forked where their imports have ended, too.

The process that writes the archive and those that parse pages each take a tenth of a second of CPU time to import
what the crawl has imported already: more than a small crawl needs for all its pages. While a forked crawl is still
one thread it forks a process that waits, and has each child forked from that one::

    the crawl -> one that waits -> one that ends at once -> the child
              by a socket                                   adopted by the crawl

A child has the files, the environment and the process group that it would have had, and the crawl is its parent: it
waits for it, kills it, and leaves it behind as if it had started it. Crawls that are started afresh, and all modules
but those of ``FORKED``, start interpreters as ever.
"""

from __future__ import annotations

import ctypes
import fcntl
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import traceback
import warnings
from types import SimpleNamespace
from typing import Any, NoReturn

FORKED = frozenset({"webcrawl.archive.keeper", "webcrawl.parsing.reader"})
"""Modules that the process imported before it was forked."""

_SET_CHILD_SUBREAPER = 36
_ORDER_BYTES = 100_000
_HANDLES_MAX = 64
_ABOVE_ALL = 400
"""Handles from this number on are nobody's."""


def fork_children() -> None:
    """Have the children of this process forked. It is a crawl that has not begun, and is one thread."""
    if ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        return
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        _take_orders(theirs)
        os._exit(0)
    theirs.close()

    class Child(subprocess.Popen[bytes]):
        """One that is forked elsewhere; it is this process's child for all that."""

        def _execute_child(self, args: Any, *given: Any) -> None:
            """Likewise, with the arguments of Popen's own."""
            pass_fds, env, pipes, group = given[3], given[5], given[9:15], given[-1]
            inherited = [pipes[0], pipes[3], pipes[5]]
            places = [place for place, handle in enumerate(inherited) if handle >= 0]
            handles = [handle for handle in inherited if handle >= 0] + list(pass_fds)
            order = {"module": args[2], "words": args[3:], "environment": dict(env), "group": group == 0}
            data = json.dumps({**order, "places": places + list(pass_fds)}).encode()
            socket.send_fds(ours, [data], handles)
            self.pid = int(ours.recv(100))
            self._child_created = True
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def popen(args: list[str], **given: Any) -> subprocess.Popen[bytes]:
        return (Child if args[2] in FORKED else subprocess.Popen)(args, **given)

    from webcrawl import child_process

    child_process.subprocess = SimpleNamespace(Popen=popen, PIPE=subprocess.PIPE)  # type: ignore[assignment]


def _take_orders(connection: socket.socket) -> None:
    """Fork a child for each order, until the crawl is gone."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        data, handles, _, _ = socket.recv_fds(connection, _ORDER_BYTES, _HANDLES_MAX)
        if not data:
            return
        told, tells = os.pipe()
        between = os.fork()
        if between == 0:
            child = os.fork()
            if child:
                os.write(tells, b"%d" % child)
                os._exit(0)
            _become(json.loads(data), handles)
        os.waitpid(between, 0)
        # From here on it is the crawl's.
        connection.sendall(os.read(told, 100))
        for handle in (told, tells, *handles):
            os.close(handle)


def _become(order: dict[str, Any], handles: list[int]) -> NoReturn:
    """What an interpreter would have made of the order, to its end."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if order["group"]:
            os.setpgid(0, 0)
        aside = [fcntl.fcntl(handle, fcntl.F_DUPFD, _ABOVE_ALL) for handle in handles]
        kept = set(order["places"]) | {0, 1, 2}
        for handle in range(3, max(kept | set(handles), default=2) + 64):
            if handle < _ABOVE_ALL and handle not in kept:
                _close(handle)
        for handle, place in zip(aside, order["places"], strict=True):
            os.dup2(handle, place)
            os.close(handle)
        os.environ.clear()
        os.environ.update(order["environment"])
        sys.path[:] = filter(None, order["environment"]["PYTHONPATH"].split(os.pathsep))
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)))
        sys.argv = [order["module"], *order["words"]]
        with warnings.catch_warnings(action="ignore"):
            # It was imported, and now runs.
            runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _close(handle: int) -> None:
    try:
        os.close(handle)
    except OSError:
        return
