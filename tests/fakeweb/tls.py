"""A self-signed certificate, made anew by every server."""

from __future__ import annotations

import datetime
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Sequence

_VALID = datetime.timedelta(days=2)


def self_signed(names: Sequence[str]) -> tuple[ssl.SSLContext, str]:
    """Return a server's context and its certificate (PEM) for these names.

    Each is listed, for OpenSSL takes no wildcard right below a top-level name such as localhost.
    """
    secret, certificate = key_and_certificate(names)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        pem = Path(folder, "server.pem")
        pem.write_bytes(secret + certificate)
        context.load_cert_chain(pem)
    return context, certificate.decode()


def key_and_certificate(names: Sequence[str]) -> tuple[bytes, bytes]:
    """Return a private key and its certificate (PEM) for these names."""
    key = ec.generate_private_key(ec.SECP256R1())
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return secret, _certificate(key, names).public_bytes(serialization.Encoding.PEM)


def _certificate(key: ec.EllipticCurvePrivateKey, names: Sequence[str]) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fakeweb")])
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID)
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
