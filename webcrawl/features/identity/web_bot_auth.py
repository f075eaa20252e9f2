"""Web Bot Auth: signed requests, and the directory of the keys that verify them.

Follows draft-meunier-webbotauth-httpsig-protocol-02 (August 2026). All that the draft may still change is here: tags,
names of fields, their parameters in the order of its examples, the path and the media type of the directory.
"""

from __future__ import annotations

import json
import os
from binascii import b2a_base64
from math import inf
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidSignature

from webcrawl.features.identity.keys import KEYS_MAX, public_key
from webcrawl.features.identity.message_signatures import (
    byte_sequence,
    content_digest,
    covered,
    read_byte_sequence,
    read_dictionary,
    read_signature_input,
    signature_base,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from webcrawl.features.identity.keys import KeyRing, SigningKey

DRAFT = "draft-meunier-webbotauth-httpsig-protocol-02"
REQUEST_TAG = "web-bot-auth"
DIRECTORY_TAG = "http-message-signatures-directory"
DIRECTORY_PATH = "/.well-known/http-message-signatures-directory"
DIRECTORY_TYPE = "application/http-message-signatures-directory+json"
LABEL = "sig1"
NONCE_BYTES = 18
"""Bytes of a nonce: 144 random bits, which no two requests of a crawl share; as base64 24 characters."""
DIRECTORY_MAX_BYTES = 256 << 10
"""A longer directory is not read."""
DIRECTORY_COMPONENTS = ('"@authority";req', '"content-digest"')


class RequestSigner:
    """Signs requests with the key that is in force. ``agent`` is the origin of the key directory."""

    def __init__(
        self,
        ring: KeyRing,
        agent: str,
        components: Sequence[str] = ("@authority",),
        lifetime_seconds: int = 300,
        *,
        label: str = LABEL,
        member: str = "",
    ) -> None:
        """``label``: of the signature; ``member``: the key of Signature-Agent, by default the label."""
        self._ring = ring
        self._lifetime_seconds = lifetime_seconds
        self._label = label
        member = member or label
        agent_component = f'"signature-agent";key="{member}"'
        self._agent_line = f'{agent_component}: "{agent}"\n"@signature-params": '.encode("ascii")
        self._lines = "".join([f'"{name}": {_VALUES[name]}\n' for name in components])
        self._covered = covered([*(f'"{name}"' for name in components), agent_component])
        self._head = f'Signature-Agent: {member}="{agent}"\r\nSignature-Input: {label}='.encode("ascii")
        self._before_signature = f"\r\nSignature: {label}=:".encode("ascii")
        self._valid_until = -inf
        self._valid_from = inf
        self._key: SigningKey | None = None
        self._second, self._dated = -1, b""

    @property
    def key(self) -> SigningKey | None:
        """The key that signed last, or would have."""
        return self._key

    def replace_keys(self, ring: KeyRing) -> None:
        """Sign with these keys from now on."""
        self._ring = ring
        self._valid_until = -inf

    def key_at(self, now: float) -> SigningKey | None:
        """Return the key that signs now; None if none is in force."""
        if not self._valid_from <= now < self._valid_until:
            self._key = self._ring.signing(now)
            self._valid_from, self._valid_until = now, self._ring.changes_at(now)
            self._second = -1
        return self._key

    def head_fields(
        self, method: str, scheme: str, authority: str, path: str, now: float, nonce: str = ""
    ) -> bytes:
        """Return the lines of Signature-Agent, Signature-Input and Signature for one request; nothing if no key is
        in force.

        ``path`` has the query. ``nonce`` is random by default.
        """
        key = self.key_at(now)
        if key is None:
            return b""
        if int(now) != self._second:
            self._second = created = int(now)
            dated = f'{self._covered};created={created};keyid="{key.thumbprint}";alg="ed25519"'
            self._dated = f'{dated};expires={created + self._lifetime_seconds};nonce="'.encode("ascii")
        random = nonce.encode("ascii") if nonce else b2a_base64(os.urandom(NONCE_BYTES), newline=False)
        parameters = b"%b%b%b" % (self._dated, random, _TAG)
        host, (only_path, _, query) = authority.lower(), path.partition("?")
        lines = self._lines.format(
            method=method, scheme=scheme, authority=host, target=path, path=only_path, query=query
        )
        base = b"%b%b%b" % (lines.encode("ascii"), self._agent_line, parameters)
        signature = b2a_base64(key.private.sign(base), newline=False)
        return b"".join((self._head, parameters, self._before_signature, signature, b":\r\n"))


_TAG = f'";tag="{REQUEST_TAG}"'.encode("ascii")
_VALUES = {
    "@authority": "{authority}",
    "@path": "{path}",
    "@method": "{method}",
    "@query": "?{query}",
    "@target-uri": "{scheme}://{authority}{target}",
}
"""The values of the components of a request (RFC 9421, section 2.2)."""


def directory(ring: KeyRing, now: float) -> bytes:
    """Return the body of the key directory: the keys that have not ended."""
    jwks = {"keys": [key.public_jwk() for key in ring.published(now)]}
    return json.dumps(jwks, separators=(",", ":")).encode("ascii")


def directory_fields(
    body: bytes, keys: Sequence[SigningKey], authority: str, created: int, expires: int
) -> dict[str, str]:
    """Return the fields with which a server sends a key directory: its digest, and one signature by each key."""
    digest = content_digest(body)
    values = list(zip(DIRECTORY_COMPONENTS, (authority.lower(), digest), strict=True))
    inputs, signatures = [], []
    for number, key in enumerate(keys):
        label = "binding" if len(keys) == 1 else f"binding{number}"
        parameters = (
            f'{covered(DIRECTORY_COMPONENTS)};created={created};expires={expires};keyid="{key.thumbprint}"'
            f';tag="{DIRECTORY_TAG}"'
        )
        base = signature_base(values, parameters)
        inputs.append(f"{label}={parameters}")
        signatures.append(f"{label}={byte_sequence(key.private.sign(base.encode('ascii')))}")
    return {
        "Content-Type": DIRECTORY_TYPE,
        "Content-Digest": digest,
        "Signature-Input": ", ".join(inputs),
        "Signature": ", ".join(signatures),
    }


def read_directory(body: bytes) -> list[dict[str, Any]]:
    """Return the keys of a directory. Raises ValueError."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("is no JSON") from None
    keys = content.get("keys") if isinstance(content, dict) else None
    if not isinstance(keys, list) or not all(isinstance(key, dict) for key in keys):
        raise ValueError("is no set of keys")
    if len(keys) > KEYS_MAX:
        raise ValueError(f"has more than {KEYS_MAX} keys")
    return keys


def proved_keys(
    body: bytes, fields: Mapping[str, str], authority: str, now: float
) -> Iterator[tuple[str, int | None, str]]:
    """Yield each key of a directory: its thumbprint, the time at which the proof that its holder serves it expires,
    and without a proof the reason. ``fields`` have lower-case names. Raises ValueError: the directory cannot be read.
    """
    keys = read_directory(body)
    inputs = _members(fields.get("signature-input", ""), "Signature-Input")
    signatures = _members(fields.get("signature", ""), "Signature")
    digest = fields.get("content-digest", "")
    for jwk in keys:
        name, public = public_key(jwk)
        if jwk.get("kid", name) != name:
            yield name, None, "has a kid that is not its thumbprint"
            continue
        reason = "has no signature"
        for label, text in inputs.items():
            try:
                signed = read_signature_input(text)
                if signed.parameters.get("keyid") != name or signed.parameters.get("tag") != DIRECTORY_TAG:
                    continue
                reason = _reason(
                    signed.components, signed.number("created"), signed.number("expires"), now, digest, body
                )
                if reason:
                    continue
                values = list(zip(DIRECTORY_COMPONENTS, (authority.lower(), digest), strict=True))
                order = [(component, dict(values)[component]) for component in signed.components]
                base = signature_base(order, signed.text)
                public.verify(read_byte_sequence(signatures.get(label, "")), base.encode("utf-8"))
            except InvalidSignature:
                reason = f"has a signature that is not its own, or for another host than {authority}"
            except ValueError as error:
                reason = f"has a signature that {error}"
            else:
                yield name, signed.number("expires"), ""
                break
        else:
            yield name, None, reason


def _members(text: str, name: str) -> dict[str, str]:
    try:
        return read_dictionary(text) if text else {}
    except ValueError as error:
        raise ValueError(f"has a field {name} that {error}") from None


def _reason(
    components: Sequence[str], created: int, expires: int, now: float, digest: str, body: bytes
) -> str:
    """Return why a signature of a directory proves nothing; empty if it may."""
    if sorted(components) != sorted(DIRECTORY_COMPONENTS):
        return f"has a signature that covers {' '.join(components)}, not {' '.join(DIRECTORY_COMPONENTS)}"
    if digest != content_digest(body):
        return "has a signature for another content: Content-Digest is not that of the body"
    if created > now:
        return "has a signature of the future"
    return "has a signature that has expired" if expires <= now else ""
