"""On which terms a crawl subscribes, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

SecretChoice = Literal["https", "always", "never"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What the operator chose."""

    callback_url: str
    """Where hubs reach us; a token is appended behind a slash."""
    lease_seconds: int = 864_000
    """That are asked for; the hub decides."""
    secret: SecretChoice = "https"
    """Which hubs are given a secret: those asked by HTTPS, all, none."""
    subscriptions_max: int = 10_000
    per_key_max: int = 100
    """Of the topics of one politeness key."""
    pause_seconds: float = 60.0
    """Between two fetches of a topic for pushes."""

    def callback(self, token: str) -> str:
        return f"{self.callback_url.rstrip('/')}/{token}"

    def signs(self, asked_at: str) -> bool:
        """Whether a hub that is asked at this URL is given a secret: over HTTP anybody could read it."""
        return self.secret == "always" or (self.secret == "https" and asked_at.startswith("https:"))


@dataclass(slots=True)
class Counts:
    """What came of it in this process."""

    asked: int = 0
    """Requests to hubs, to renew and to leave too."""
    verified: int = 0
    denied: int = 0
    refused: int = 0
    """Questions of hubs that we did not confirm."""
    pushes: int = 0
    """That counted."""
    ignored: int = 0
    """Without the right signature, or too long."""
    hints: int = 0
    """Topics queued for pushes."""


def favoured(hub: str) -> str:
    """Where a hub is asked first: by HTTPS, also where its URL says HTTP (section 8.2)."""
    parts = urlsplit(hub)
    if parts.scheme == "http" and parts.port is None:
        return parts._replace(scheme="https").geturl()
    return hub
