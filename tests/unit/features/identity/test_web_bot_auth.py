"""Signatures of requests and of the key directory: the vectors of the drafts, and another implementation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.rows import each_row
from tests.signatures import Keys, directory_parameters, verified_parameters
from webcrawl.features.identity import keys, web_bot_auth
from webcrawl.features.identity.keys import KeyRing, SigningKey
from webcrawl.features.identity.message_signatures import (
    content_digest,
    read_dictionary,
    read_signature_input,
)
from webcrawl.features.identity.web_bot_auth import RequestSigner

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text())
NOW = VECTORS["request"]["created"]


def key(**times: float) -> SigningKey:
    """The example key of RFC 9421."""
    private = Ed25519PrivateKey.from_private_bytes(keys.from_base64url(VECTORS["key"]["d"]))
    return SigningKey(private, **times)


def fields(lines: bytes) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in lines.decode().splitlines())


def test_a_request_of_the_draft_is_signed_byte_for_byte() -> None:
    vector = VECTORS["request"]
    signer = RequestSigner(
        KeyRing([key()]),
        "https://signature-agent.test",
        ("@authority",),
        vector["expires"] - vector["created"],
        label="sig2",
        member="agent2",
    )
    lines = signer.head_fields("GET", "https", "example.com", "/path/to/resource", NOW + 0.9, vector["nonce"])
    assert lines.decode("ascii") == (
        f"Signature-Agent: {vector['signature_agent']}\r\n"
        f"Signature-Input: {vector['signature_input']}\r\n"
        f"Signature: {vector['signature']}\r\n"
    )


def test_a_directory_of_the_draft_is_signed_byte_for_byte() -> None:
    vector = VECTORS["directory"]
    body = web_bot_auth.directory(KeyRing([key()]), NOW)
    assert body.decode("ascii") == vector["body"]
    signed = web_bot_auth.directory_fields(
        body, [key()], vector["authority"], vector["created"], vector["expires"]
    )
    assert signed["Content-Digest"] == vector["content_digest"]
    assert signed["Signature-Input"] == vector["signature_input"]
    assert signed["Signature"] == vector["signature"]
    assert signed["Content-Type"] == "application/http-message-signatures-directory+json"


def test_the_directory_of_the_draft_proves_its_key() -> None:
    vector = VECTORS["directory"]
    sent = {
        "content-digest": vector["content_digest"],
        "signature-input": vector["signature_input"],
        "signature": vector["signature"],
    }
    body = vector["body"].encode()
    proved = list(web_bot_auth.proved_keys(body, sent, vector["authority"], NOW))
    assert proved == [(VECTORS["key"]["thumbprint"], vector["expires"], "")]


@each_row("path", ["/", "/a/b?x=1&y=%20", "/%7Euser/", "/a;b=c,d"])
@each_row("components", [("@method", "@authority", "@path"), ("@query", "@target-uri")])
def test_another_implementation_verifies_each_signature(path: str, components: tuple[str, ...]) -> None:
    ring = KeyRing([keys.new_key()])
    signer = RequestSigner(ring, "https://bot.example.org", components, 10**9)
    authority = "www.example.org:8080" if "@target-uri" in components else "www.Example.org:8080"
    url = f"http://{authority}{path}"
    lines = signer.head_fields("HEAD", "http", authority, path, NOW)
    public = Keys([ring.keys[0].public_jwk()])
    parameters = verified_parameters("HEAD", url, b"HEAD / HTTP/1.1\r\n" + lines, public)
    assert parameters is not None
    assert parameters["covered"] == [
        *(f'"{name}"' for name in components),
        '"signature-agent";key="sig1"',
        '"@signature-params"',
    ]
    assert (parameters["created"], parameters["expires"]) == (NOW, NOW + 10**9)
    assert (parameters["tag"], parameters["alg"]) == ("web-bot-auth", "ed25519")
    other = verified_parameters("HEAD", url.replace("www", "w3"), b"HEAD / HTTP/1.1\r\n" + lines, public)
    assert other is None, "the signature is for one host alone"


def test_two_requests_never_have_one_signature() -> None:
    signer = RequestSigner(KeyRing([key()]), "https://bot.example.org")
    signed = {fields(signer.head_fields("GET", "https", "a.test", "/", NOW))["Signature"] for _ in range(100)}
    assert len(signed) == 100


def test_another_implementation_verifies_a_directory_of_two_keys() -> None:
    ring = KeyRing([keys.new_key(), keys.new_key(NOW + 60)])
    body = web_bot_auth.directory(ring, NOW)
    signed = web_bot_auth.directory_fields(body, ring.keys, "bot.example.org", NOW, NOW + 10**9)
    public = Keys(json.loads(body)["keys"])
    url = f"https://bot.example.org{web_bot_auth.DIRECTORY_PATH}"
    parameters = directory_parameters(url, signed, body, public)
    assert parameters is not None
    assert parameters["keyid"] == ring.keys[0].thumbprint
    assert directory_parameters(url.replace("bot", "other"), signed, body, public) is None


# -- rotation ------------------------------------------------------------------------------------------------------


def signing_key(signer: RequestSigner, now: float) -> str | None:
    lines = signer.head_fields("GET", "https", "a.test", "/", now)
    return read_signature_input(fields(lines)["Signature-Input"][5:]).parameters["keyid"] if lines else None


def test_a_new_key_signs_from_its_time_on_and_the_old_one_before() -> None:
    old, new = key(ends_at=NOW + 100), keys.new_key(NOW + 50)
    signer = RequestSigner(KeyRing([new, old]), "https://bot.example.org")
    at = {seconds: signing_key(signer, NOW + seconds) for seconds in (0, 49.9, 50, 99, 100, 10**6)}
    assert [at[0], at[49.9]] == [old.thumbprint] * 2
    assert [at[50], at[99], at[100], at[10**6]] == [new.thumbprint] * 4
    assert signing_key(signer, NOW) == old.thumbprint, "a clock may be set back"


def test_without_a_key_in_force_nothing_is_signed() -> None:
    signer = RequestSigner(KeyRing([key(begins_at=NOW, ends_at=NOW + 10)]), "https://bot.example.org")
    assert [signing_key(signer, NOW + at) is None for at in (-1, 0, 9.9, 10)] == [True, False, False, True]
    signer.replace_keys(KeyRing([keys.new_key()]))
    assert signing_key(signer, NOW + 10) is not None


def test_the_directory_has_the_keys_to_come_and_none_that_has_ended() -> None:
    ring = KeyRing([key(ends_at=NOW), keys.new_key(NOW - 5), keys.new_key(NOW + 5)])
    published = [jwk["kid"] for jwk in json.loads(web_bot_auth.directory(ring, NOW))["keys"]]
    assert published == [one.thumbprint for one in ring.keys[1:]]


# -- directories of others -----------------------------------------------------------------------------------------


def proof(
    change: dict[str, Any], authority: str = "bot.example.org", now: float = NOW
) -> tuple[str, int | None, str]:
    """What a changed directory proves."""
    one = key()
    body = web_bot_auth.directory(KeyRing([one]), NOW)
    signed = web_bot_auth.directory_fields(body, [one], authority, NOW, NOW + 60)
    sent = {name.lower(): value for name, value in signed.items()} | change
    [result] = web_bot_auth.proved_keys(sent.pop("body", body), sent, "bot.example.org", now)
    return result


def test_what_proves_nothing_is_told() -> None:
    assert proof({}) == (VECTORS["key"]["thumbprint"], NOW + 60, "")
    assert proof({}, authority="copy.example")[2].endswith("or for another host than bot.example.org")
    assert proof({}, now=NOW + 60)[2] == "has a signature that has expired"
    assert proof({}, now=NOW - 1)[2] == "has a signature of the future"
    assert proof({"signature": "binding=::"})[2].endswith("or for another host than bot.example.org")
    assert proof({"signature": "binding=x"})[2] == "has a signature that is no byte sequence"
    assert proof({"signature-input": "", "signature": ""})[2] == "has no signature"
    assert "is not that of the body" in proof({"content-digest": content_digest(b"")})[2]
    narrow = (
        f'binding=("@authority";req);keyid="{VECTORS["key"]["thumbprint"]}";created={NOW};expires={NOW + 60}'
    )
    assert "covers" in proof({"signature-input": f'{narrow};tag="http-message-signatures-directory"'})[2]


@each_row(
    ("body", "reason"),
    [
        (b"", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"[]", "is no set of keys"),
        (b'{"keys": [1]}', "is no set of keys"),
        (b'{"keys": [' + b"{}," * 20 + b"{}]}", "has more than 20 keys"),
        (b'{"keys": [{"kty": "RSA"}]}', "is no Ed25519 key"),
        (b'{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA"}]}', "is not base64url of 32 bytes"),
    ],
)
def test_a_directory_that_cannot_be_read_is_told(body: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        list(web_bot_auth.proved_keys(body, {}, "bot.example.org", NOW))


def test_fields_are_read_as_they_were_sent() -> None:
    members = read_dictionary('a=("x,y" "z;b";req);t="1,2", b=:YQ==:')
    assert members == {"a": '("x,y" "z;b";req);t="1,2"', "b": ":YQ==:"}
    signed = read_signature_input(members["a"])
    assert (signed.components, dict(signed.parameters)) == (('"x,y"', '"z;b";req'), {"t": "1,2"})
    for wrong in ("a", "=b", "x" * 20_000):
        with pytest.raises(ValueError, match="is "):
            read_dictionary(wrong)
