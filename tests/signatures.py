"""Signatures of requests and key directories, verified by another implementation of RFC 9421 than the crawler's."""

from __future__ import annotations

import base64
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms
from http_message_signatures.exceptions import HTTPMessageSignaturesException

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

FIELDS = ("Signature-Agent", "Signature-Input", "Signature")


class Keys(HTTPSignatureKeyResolver):
    """The public keys of a directory or of a key file, by their key IDs."""

    def __init__(self, jwks: Iterable[Mapping[str, Any]]) -> None:
        self._keys = {
            jwk["kid"]: Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(jwk["x"] + "="))
            for jwk in jwks
        }

    @classmethod
    def of(cls, path: Path) -> Keys:
        """The keys of a file."""
        return cls(json.loads(path.read_text())["keys"])

    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey:
        """Called by the verifier."""
        return self._keys[key_id]


def verified_parameters(method: str, url: str, head: bytes, keys: Keys) -> dict[str, Any] | None:
    """Return the parameters of the signature of a request, with what it covers; None if it has no valid one.

    ``head`` is the request line with the headers, as they were sent.
    """
    headers: dict[str, str] = {}
    for line in head.decode("latin-1").split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            headers[name] = value.strip()
    return _verified(SimpleNamespace(method=method, url=url, headers=headers), keys, "web-bot-auth", None)


def directory_parameters(
    url: str, headers: Mapping[str, str], body: bytes, keys: Keys
) -> dict[str, Any] | None:
    """Return the parameters of the first signature of a key directory at ``url``; None if one is not valid."""
    request = SimpleNamespace(method="GET", url=url, headers={})
    response = SimpleNamespace(status_code=200, headers=dict(headers), request=request)
    return _verified(response, keys, "http-message-signatures-directory", body)


def _verified(message: Any, keys: Keys, tag: str, body: bytes | None) -> dict[str, Any] | None:
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=keys)
    try:
        results = verifier.verify(message, max_age=None, expect_tag=tag, body=body)
    except HTTPMessageSignaturesException:
        return None
    return {**results[0].parameters, "covered": list(results[0].covered_components)}
