"""The signing keys of a crawler: Ed25519 keys as JSON Web Keys, and the file that holds them.

Formats: JWK (RFC 7517) for Ed25519 (RFC 8037), named by the thumbprint (RFC 7638). The file of ``scrapy identity`` is
a JWK Set with private keys; ``nbf`` and ``exp`` bound the time of each key in epoch seconds. A PEM file with one
private key (PKCS #8), such as OpenSSL writes, is read as well.
"""

from __future__ import annotations

import hashlib
import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from webcrawl.atomic_file import replacement
from webcrawl.errors import CrawlError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

KEY_BYTES = 32
FILE_MAX_BYTES = 64 << 10
"""A longer file is no key file."""
KEYS_MAX = 20
_OF_OTHERS, _OF_ALL = 0o077, 0o007
_TEST_KEY = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
"""The thumbprint of the Ed25519 key in RFC 9421, appendix B.1.4, whose private part everybody knows."""


class KeyFileError(CrawlError):
    """The keys cannot be read or used. The message has no part of a key."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key, and the time during which it signs and is published."""

    private: Ed25519PrivateKey
    begins_at: float = 0.0
    """The time from which on it signs, in epoch seconds; it is published before."""
    ends_at: float = inf
    """The time until which it is published; infinite for no end."""
    thumbprint: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "thumbprint", thumbprint(self.public_bytes))

    def __repr__(self) -> str:
        return f"SigningKey({self.thumbprint})"

    @property
    def public_bytes(self) -> bytes:
        """The 32 bytes of the public key."""
        return self.private.public_key().public_bytes_raw()

    def public_jwk(self) -> dict[str, Any]:
        """Return the public key as in a key directory."""
        jwk: dict[str, Any] = {
            "kty": "OKP",
            "crv": "Ed25519",
            "kid": self.thumbprint,
            "x": base64url(self.public_bytes),
            "use": "sig",
        }
        return jwk | self._times()

    def private_jwk(self) -> dict[str, Any]:
        """Return the key with its private part, as in a key file."""
        return self.public_jwk() | {"d": base64url(self.private.private_bytes_raw())}

    def _times(self) -> dict[str, int]:
        times = {}
        if self.begins_at > 0:
            times["nbf"] = int(self.begins_at)
        if self.ends_at < inf:
            times["exp"] = int(self.ends_at)
        return times


def new_key(begins_at: float = 0.0) -> SigningKey:
    """Return a new random key."""
    return SigningKey(Ed25519PrivateKey.generate(), begins_at)


def thumbprint(public_bytes: bytes) -> str:
    """Return the SHA-256 thumbprint of an Ed25519 public key (RFC 8037, appendix A.3)."""
    required = f'{{"crv":"Ed25519","kty":"OKP","x":"{base64url(public_bytes)}"}}'
    return base64url(hashlib.sha256(required.encode("ascii")).digest())


def base64url(value: bytes) -> str:
    """Return base64url without padding, as in JWKs."""
    return urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def from_base64url(text: object) -> bytes:
    """Return the 32 bytes of a member of a JWK. Raises ValueError."""
    if not isinstance(text, str) or not text.isascii():
        raise ValueError("is no base64url")
    value = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if len(value) != KEY_BYTES or base64url(value) != text:
        raise ValueError(f"is not base64url of {KEY_BYTES} bytes")
    return value


def public_key(jwk: Mapping[str, Any]) -> tuple[str, Ed25519PublicKey]:
    """Return an Ed25519 key of a directory with its thumbprint. Raises ValueError for any other key."""
    if jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519":
        raise ValueError("is no Ed25519 key")
    value = from_base64url(jwk.get("x"))
    return thumbprint(value), Ed25519PublicKey.from_public_bytes(value)


class KeyRing:
    """The keys of a crawler, in the order in which they begin."""

    def __init__(self, keys: Iterable[SigningKey]) -> None:
        self.keys = tuple(sorted(keys, key=lambda key: key.begins_at))

    def signing(self, now: float) -> SigningKey | None:
        """Return the key that signs now: of those in force, the one that began last. None if none is in force."""
        current = None
        for key in self.keys:
            if key.begins_at <= now < key.ends_at:
                current = key
        return current

    def changes_at(self, now: float) -> float:
        """Return the next time at which ``signing`` may return another key; infinite for never."""
        times = [at for key in self.keys for at in (key.begins_at, key.ends_at) if at > now]
        return min(times, default=inf)

    def published(self, now: float) -> tuple[SigningKey, ...]:
        """Return the keys that a directory has now: those that have not ended."""
        return tuple(key for key in self.keys if now < key.ends_at)

    def rotated(self, new: SigningKey, ends_at: float, now: float) -> KeyRing:
        """Return the keys with a new one: those in force end at ``ends_at``, those that have ended are left out."""
        kept = [replace(key, ends_at=min(key.ends_at, ends_at)) for key in self.published(now)]
        return KeyRing([*kept, new])

    def text(self) -> str:
        """Return the content of a key file."""
        return json.dumps({"keys": [key.private_jwk() for key in self.keys]}, indent=2) + "\n"


def read_keys(text: str) -> KeyRing:
    """Return the keys in the content of a key file. :raises KeyFileError: it has none, or a wrong one"""
    keys = [_pem_key(text)] if "-----BEGIN" in text else [_jwk_key(jwk) for jwk in _jwks(text)]
    thumbprints = [key.thumbprint for key in keys]
    if len(set(thumbprints)) < len(keys):
        raise KeyFileError("has one key twice")
    if _TEST_KEY in thumbprints:
        raise KeyFileError(
            "has the example key of RFC 9421, which everybody knows; make one: scrapy identity new"
        )
    return KeyRing(keys)


def _pem_key(text: str) -> SigningKey:
    try:
        private = load_pem_private_key(text.encode("utf-8"), password=None)
    except TypeError:
        raise KeyFileError("has a key with a password, which nobody could type for a crawl") from None
    except (ValueError, UnsupportedAlgorithm):
        raise KeyFileError("has no private key that can be read") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise KeyFileError("has a key of another kind than Ed25519")
    return SigningKey(private)


def _jwks(text: str) -> list[object]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        # The error of the decoder may quote the text.
        raise KeyFileError("is neither a JSON Web Key nor PEM") from None
    keys = content.get("keys", [content]) if isinstance(content, dict) else None
    if not isinstance(keys, list) or not 1 <= len(keys) <= KEYS_MAX:
        raise KeyFileError(f"must have from 1 to {KEYS_MAX} keys")
    return keys


def _jwk_key(jwk: object) -> SigningKey:
    if not isinstance(jwk, dict) or jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519":
        raise KeyFileError("has a key of another kind than Ed25519")
    if "d" not in jwk:
        raise KeyFileError("has a public key; it needs the private one, a JSON Web Key with d")
    try:
        private = Ed25519PrivateKey.from_private_bytes(from_base64url(jwk["d"]))
        public = from_base64url(jwk["x"]) if "x" in jwk else None
        begins_at, ends_at = _time(jwk, "nbf", 0.0), _time(jwk, "exp", inf)
    except ValueError:
        raise KeyFileError("has a key that is damaged") from None
    key = SigningKey(private, begins_at, ends_at)
    if public is not None and public != key.public_bytes:
        raise KeyFileError("has a key whose public part belongs to another private one")
    return key


def _time(jwk: Mapping[str, Any], name: str, default: float) -> float:
    value = jwk.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is no time")
    return float(value)


def load_file(path: Path) -> KeyRing:
    """Return the keys of a file. :raises KeyFileError: it cannot be used, or others can read it"""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            about = os.fstat(handle)
            content = os.read(handle, FILE_MAX_BYTES + 1)
        finally:
            os.close(handle)
    except OSError as error:
        raise KeyFileError(f"cannot be read: {error.strerror}") from None
    # A file of another owner, such as a secret of a container, is read by way of its group.
    if about.st_mode & (_OF_OTHERS if about.st_uid == os.geteuid() else _OF_ALL):
        raise KeyFileError("can be read by others; chmod 600 it")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise KeyFileError("is neither a JSON Web Key nor PEM") from None
    if len(content) > FILE_MAX_BYTES:
        raise KeyFileError(f"is longer than the {FILE_MAX_BYTES} bytes of a key file")
    return read_keys(text)


def write_file(path: Path, ring: KeyRing) -> None:
    """Write a key file, which nobody but its owner can read at any moment. Raises OSError."""
    with replacement(path) as part:
        part.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        with os.fdopen(os.open(part, flags, 0o600), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(ring.text())
            file.flush()
            os.fsync(file.fileno())
