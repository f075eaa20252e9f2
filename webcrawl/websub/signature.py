"""The signature of what a hub pushes (section 7.1): an HMAC of the body by a secret that only the hub was given."""

from __future__ import annotations

import hmac

METHODS = frozenset({"sha1", "sha256", "sha384", "sha512"})


class Signature:
    """One that was claimed, checked while the body comes, so that nothing is held of it."""

    def __init__(self, header: str | None, secret: str) -> None:
        """``header``: the value of X-Hub-Signature, if there is one."""
        method, _, self._claimed = (header or "").strip().partition("=")
        method = method.strip().lower()
        self._mac = hmac.new(secret.encode("ascii"), digestmod=method) if method in METHODS else None

    @property
    def can_hold(self) -> bool:
        """Whether it is worth reading the body: there is one, made in a way that is known."""
        return self._mac is not None

    def feed(self, part: bytes) -> None:
        """The next part of the body."""
        if self._mac is not None:
            self._mac.update(part)

    def holds(self) -> bool:
        """Whether the body as it came was signed with the secret. Takes as long whatever the answer is."""
        if self._mac is None:
            return False
        claimed = self._claimed.strip().lower().encode("utf-8", "replace")
        return hmac.compare_digest(self._mac.hexdigest().encode("ascii"), claimed)
