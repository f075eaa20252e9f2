"""Key files: what is read, what is refused, and that no message has a part of a key."""

from __future__ import annotations

import json
import os
import stat
from math import inf
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)

from tests.rows import each_row
from webcrawl.features.identity import keys
from webcrawl.features.identity.keys import KeyFileError, KeyRing, SigningKey

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text())


def pem(
    private: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | Ed25519PrivateKey,
    protection: KeySerializationEncryption | None = None,
) -> str:
    form = PrivateFormat.PKCS8
    return private.private_bytes(Encoding.PEM, form, protection or NoEncryption()).decode()


def test_the_thumbprint_is_that_of_rfc_8037() -> None:
    vector = VECTORS["thumbprint"]
    assert keys.thumbprint(keys.from_base64url(vector["x"])) == vector["thumbprint"]


def test_a_file_has_what_was_written_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    ring = KeyRing([keys.new_key()]).rotated(keys.new_key(200.0), ends_at=300.0, now=100.0)
    path = tmp_path / "key"
    path.write_text("before")
    path.chmod(0o644)
    keys.write_file(path, ring)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = keys.load_file(path)
    assert [(key.thumbprint, key.begins_at, key.ends_at) for key in again.keys] == [
        (ring.keys[0].thumbprint, 0.0, 300.0),
        (ring.keys[1].thumbprint, 200.0, inf),
    ]
    assert [key.private_jwk() for key in again.keys] == [key.private_jwk() for key in ring.keys]
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_rotation_leaves_out_what_has_ended_and_prolongs_nothing() -> None:
    first = keys.new_key()
    second = first_rotation = KeyRing([first]).rotated(keys.new_key(10.0), ends_at=20.0, now=0.0)
    third = first_rotation.rotated(keys.new_key(60.0), ends_at=70.0, now=50.0)
    assert [key.thumbprint for key in third.keys] == [second.keys[1].thumbprint, third.keys[1].thumbprint]
    early = first_rotation.rotated(keys.new_key(15.0), ends_at=100.0, now=12.0)
    assert [key.ends_at for key in early.keys] == [20.0, 100.0, inf]


def test_one_key_of_openssl_is_read() -> None:
    private = Ed25519PrivateKey.generate()
    [key] = keys.read_keys(f"Bag Attributes\n{pem(private)}").keys
    assert (key.begins_at, key.ends_at) == (0.0, inf)
    assert key.public_bytes == private.public_key().public_bytes_raw()


def test_a_single_json_web_key_is_read() -> None:
    key = keys.new_key()
    jwk = {name: value for name, value in key.private_jwk().items() if name in ("kty", "crv", "d")}
    assert [one.thumbprint for one in keys.read_keys(json.dumps(jwk)).keys] == [key.thumbprint]


SECRET, OTHER = (
    SigningKey(Ed25519PrivateKey.from_private_bytes(bytes([number] * 32))).private_jwk() for number in (1, 2)
)
WRONG = [
    ("", "is neither a JSON Web Key nor PEM"),
    (f'{{"d": {SECRET["d"]}', "is neither a JSON Web Key nor PEM"),
    (json.dumps([SECRET]), "must have from 1 to 20 keys"),
    ('{"keys": []}', "must have from 1 to 20 keys"),
    (json.dumps({"keys": [SECRET] * 21}), "must have from 1 to 20 keys"),
    (json.dumps({"keys": [SECRET, SECRET]}), "has one key twice"),
    (json.dumps(SECRET | {"kty": "RSA"}), "has a key of another kind than Ed25519"),
    (json.dumps({name: value for name, value in SECRET.items() if name != "d"}), "has a public key"),
    (json.dumps(SECRET | {"d": SECRET["d"] + "A"}), "has a key that is damaged"),
    (json.dumps(SECRET | {"d": 7}), "has a key that is damaged"),
    (json.dumps(SECRET | {"exp": "soon"}), "has a key that is damaged"),
    (json.dumps(SECRET | {"x": OTHER["x"]}), "whose public part belongs to another"),
    (
        json.dumps(SECRET | {"d": VECTORS["key"]["d"], "x": VECTORS["key"]["x"]}),
        "example key of RFC 9421",
    ),
    (pem(ec.generate_private_key(ec.SECP256R1())), "has a key of another kind than Ed25519"),
    (pem(Ed25519PrivateKey.generate(), BestAvailableEncryption(b"x")), "has a key with a password"),
    ("-----BEGIN PRIVATE" + " KEY-----\nAAAA\n", "has no private key that can be read"),
]


@each_row(("content", "reason"), WRONG, ids=[reason for _, reason in WRONG])
def test_a_wrong_file_is_refused_and_the_message_has_nothing_of_it(content: str, reason: str) -> None:
    with pytest.raises(KeyFileError, match=reason) as refused:
        keys.read_keys(content)
    error: BaseException | None = refused.value
    while error is not None:
        assert SECRET["d"] not in str(error)
        assert error.__suppress_context__ or error.__context__ is None, "a traceback would show the cause"
        error = error.__cause__


@pytest.mark.parametrize(("mode", "is_read"), [(0o600, True), (0o400, True), (0o640, False), (0o604, False)])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int, is_read: bool) -> None:
    path = tmp_path / "key"
    keys.write_file(path, KeyRing([keys.new_key()]))
    path.chmod(mode)
    if is_read:
        assert keys.load_file(path).keys
    else:
        with pytest.raises(KeyFileError, match=r"can be read by others; chmod 600 it"):
            keys.load_file(path)


@pytest.mark.parametrize(("mode", "is_read"), [(0o440, True), (0o640, True), (0o644, False)])
def test_a_secret_of_a_container_is_read_by_way_of_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, is_read: bool
) -> None:
    path = tmp_path / "key"
    keys.write_file(path, KeyRing([keys.new_key()]))
    path.chmod(mode)
    owner = path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if is_read:
        assert keys.load_file(path).keys
    else:
        with pytest.raises(KeyFileError, match="can be read by others"):
            keys.load_file(path)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo, 0o600)
    for path, reason in ((tmp_path / "none", "No such file"), (fifo, "is neither")):
        with pytest.raises(KeyFileError, match=reason):
            keys.load_file(path)
    folder = tmp_path / "folder"
    folder.mkdir(0o700)
    with pytest.raises(KeyFileError, match="cannot be read: Is a directory"):
        keys.load_file(folder)
    long = tmp_path / "long"
    long.write_text(" " * 100_000)
    long.chmod(0o600)
    with pytest.raises(KeyFileError, match="is longer than"):
        keys.load_file(long)


def test_no_text_of_a_key_has_its_private_part() -> None:
    ring = KeyRing([keys.new_key()])
    secret = ring.keys[0].private_jwk()["d"]
    assert secret not in f"{ring.keys} {ring.keys[0]!r} {ring.keys[0]!s} {ring.keys[0].public_jwk()}"
