"""A message to operators, as JSON for a webhook and as an e-mail."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SIGNATURE = "X-Webcrawl-Signature"
"""The header with ``sha256=`` and the HMAC of the body in hexadecimal."""
EVENT = "X-Webcrawl-Event"
DELIVERY = "X-Webcrawl-Delivery"
"""The header with the id of the message, the same in each attempt."""


@dataclass(frozen=True, slots=True)
class CrawlOrigin:
    """The crawl that a message is about."""

    name: str
    """The name of its folder, or of its spider."""
    spider: str
    worker: str
    """The process that tells."""
    machine: str
    jobdir: str | None
    shared: str | None = None
    """The place where the crawl is stored if several workers share it."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message about an event of a crawl."""

    event: str
    """``end``, ``stall``, ``errors``, ``disk`` or ``test``."""
    at: float
    """Epoch seconds."""
    crawl: CrawlOrigin
    sentence: str
    """The text of the event, which follows the name of the crawl."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Values that only this event has."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """The figures of the process that tells."""
    id: str = field(default_factory=lambda: uuid4().hex)

    @property
    def text(self) -> str:
        """The message in one line."""
        return _line(f"{self.crawl.name} {self.sentence}")


def as_json(message: Message) -> bytes:
    """Return the body of a post. Chat programs show its ``text``."""
    return json.dumps(
        {
            "text": message.text,
            "event": message.event,
            "id": message.id,
            "at": round(message.at, 3),
            "crawl": asdict(message.crawl),
            "details": dict(message.details),
            "figures": dict(message.figures),
        }
    ).encode()


def headers(message: Message, body: bytes, secret: str) -> dict[str, str]:
    """Return the headers of a post with this body; signed unless ``secret`` is empty."""
    fields = {"Content-Type": "application/json", EVENT: message.event, DELIVERY: message.id}
    if secret:
        fields[SIGNATURE] = f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"
    return fields


def as_mail(message: Message, sender: str, recipients: Sequence[str]) -> EmailMessage:
    """Return an e-mail. A program sent it: nobody is asked to answer."""
    mail = EmailMessage()
    mail["Subject"] = f"webcrawl: {message.text}"[:200]
    mail["From"] = _line(sender)
    mail["To"] = ", ".join(recipients)
    mail["Date"] = format_datetime(datetime.fromtimestamp(message.at, UTC))
    mail["Message-ID"] = make_msgid(message.id, _domain(sender))
    mail["Auto-Submitted"] = "auto-generated"
    crawl = message.crawl
    lines = [message.text, ""]
    about: dict[str, str | None] = {"spider": crawl.spider, "worker": crawl.worker, "machine": crawl.machine}
    about |= {"JOBDIR": crawl.jobdir, "shared by way of": crawl.shared}
    lines += [f"{name}: {_line(value)}" for name, value in about.items() if value]
    lines += ["", *(f"{name}: {value}" for name, value in message.figures.items())]
    mail.set_content("\n".join(lines))
    return mail


def _line(text: str) -> str:
    """Return a text without line ends and other characters that a header may not have."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _domain(sender: str) -> str:
    domain = sender.rpartition("@")[2].strip("> ")
    return domain if domain.isascii() and domain else "localhost"
