"""A process that does not survive all pages that it reads, for the tests of ``parsing.process.ReaderProcesses``."""

import os
import signal

from webcrawl.parsing import html, reader

_decoded = html._decoded


def decoded(body: bytes, encoding: str) -> str:
    if b"deadly" in body:
        os._exit(3)
    if b"stopping" in body:
        os.kill(os.getpid(), signal.SIGSTOP)
    return _decoded(body, encoding)


if __name__ == "__main__":
    html._decoded = decoded
    reader.main()
