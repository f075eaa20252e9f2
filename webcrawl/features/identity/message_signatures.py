"""HTTP Message Signatures (RFC 9421) and Content-Digest (RFC 9530), as far as webcrawl makes and checks them.

The fields are dictionaries of Structured Fields (RFC 9651). The signature covers the text of the parameters as it was
sent, so they are never serialized again.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FIELD_MAX_CHARACTERS = 16 << 10
"""A longer field is not read."""


def covered(components: Iterable[str]) -> str:
    """Return the identifiers of components, such as ``"@authority"`` with its quotes, as an inner list."""
    return f"({' '.join(components)})"


def signature_base(values: Iterable[tuple[str, str]], parameters: str) -> str:
    """Return the text that is signed. ``values`` are the identifiers of the components, each with its value;
    ``parameters`` is the inner list with its parameters, as in Signature-Input.
    """
    lines = [f"{name}: {value}" for name, value in values]
    lines.append(f'"@signature-params": {parameters}')
    return "\n".join(lines)


def byte_sequence(value: bytes) -> str:
    """Return bytes as they stand in a Structured Field."""
    return f":{b64encode(value).decode('ascii')}:"


def read_byte_sequence(text: str) -> bytes:
    """Return the bytes of a Structured Field. Raises ValueError."""
    if len(text) < 2 or text[0] != ":" or text[-1] != ":":
        raise ValueError("is no byte sequence")
    return b64decode(text[1:-1], validate=True)


def content_digest(body: bytes) -> str:
    """Return the field Content-Digest of a body."""
    return f"sha-256={byte_sequence(hashlib.sha256(body).digest())}"


@dataclass(frozen=True, slots=True)
class SignatureInput:
    """A member of Signature-Input: what one signature covers."""

    components: tuple[str, ...]
    """The identifiers of the components, with their quotes and parameters."""
    parameters: Mapping[str, str]
    """The parameters by name; strings without their quotes."""
    text: str
    """The member as it was sent."""

    def number(self, name: str) -> int:
        """Return a parameter that is a number. Raises ValueError if there is none."""
        text = self.parameters.get(name, "")
        if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 15):
            raise ValueError(f"has no {name}")
        return int(text)


def read_dictionary(text: str) -> dict[str, str]:
    """Return the members of a dictionary by key, each as it was sent. Raises ValueError."""
    if len(text) > FIELD_MAX_CHARACTERS:
        raise ValueError(f"is longer than {FIELD_MAX_CHARACTERS} characters")
    members: dict[str, str] = {}
    for member in _parts(text, ","):
        key, equals, value = member.strip(" \t").partition("=")
        if not equals or not key:
            raise ValueError("is no dictionary")
        members[key] = value
    return members


def read_signature_input(text: str) -> SignatureInput:
    """Return a member of Signature-Input. Raises ValueError."""
    end = _end_of_list(text)
    components = tuple(part for part in _parts(text[1:end], " ") if part)
    parameters = {}
    for part in list(_parts(text[end + 1 :], ";"))[1:]:
        name, _, value = part.strip(" ").partition("=")
        parameters[name] = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
    return SignatureInput(components, parameters, text)


def _end_of_list(text: str) -> int:
    quoted = False
    if not text.startswith("("):
        raise ValueError("has no list of components")
    for at, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif character == ")" and not quoted:
            return at
    raise ValueError("has a list of components without an end")


def _parts(text: str, separator: str) -> Iterator[str]:
    """Yield the parts between separators that are in no quotes. No field of webcrawl has a quote within quotes."""
    quoted, start = False, 0
    for at, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif character == separator and not quoted:
            yield text[start:at]
            start = at + 1
    yield text[start:]
