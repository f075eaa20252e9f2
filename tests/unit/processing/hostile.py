"""Modules that do what modules must not do, on pages that tell them to."""

import os
import signal
import time
from typing import ClassVar

KEPT: list[bytes] = []


class Tells:
    """Says what it was given. In the crawl itself."""

    mime_types = ("text/plain",)
    in_place = True
    fields: ClassVar = {"told": "line", "title": "line"}

    def process(self, content):
        links = ["/a", ("b?c#d", " the\n b "), "http://", "/a", ("/a", "again"), ("mailto:a@b.test", "us")]
        return {"told": content.text, "title": "of a text", "links": [3] if content.text == "odd" else links}


class Does:
    """Does in a process of its own what the page says."""

    mime_types = ("text/*",)
    fields: ClassVar = {"done": "line", "process": "whole", "told": "line"}

    def process(self, content):  # noqa: C901
        word = content.text
        print("what a module prints belongs nowhere")
        if word == "raise":
            raise KeyError("no\nsuch\x1b thing")
        if word == "hang":
            while True:
                pass
        if word == "sleep":
            time.sleep(1000)
        if word == "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        if word == "exit":
            os._exit(3)
        if word == "grow":
            kept = []
            while True:
                kept.append(bytearray(1 << 20))
        if word.startswith("keep"):
            KEPT.append(b"x" * (int(word[5:]) << 20))
        if word == "undeclared":
            return {"done": "half", "other": 1}
        if word == "wrong":
            return {"done": ["a", "list"], "process": "nine"}
        if word == "nothing":
            return None
        return {"done": word, "process": os.getpid(), "told": "too late"}


class After:
    """Comes behind it."""

    mime_types = ("text/plain",)
    fields: ClassVar = {"after": "flag"}

    def process(self, content):
        return {"after": True}


class Unbuildable:
    """Cannot be built."""

    mime_types = ("text/*",)
    fields: ClassVar = {"none": "line"}

    def __init__(self):
        raise ImportError("No module named 'heavy'")

    def process(self, content):
        return {}


class Other:
    """Has another idea of a field than ``Does``."""

    mime_types = ("text/*",)
    fields: ClassVar = {"done": "whole"}

    def process(self, content):
        return {}
