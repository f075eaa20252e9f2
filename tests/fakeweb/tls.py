"""A self-signed certificate, made anew by every server."""

from __future__ import annotations

import datetime
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.fakeweb.ordinary import OrdinaryWeb

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
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


def ordinary(web: OrdinaryWeb) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the contexts of the hosts that speak TLS 1.3 and of those that speak 1.2 alone.

    The name of a host decides which key it has.
    """
    with tempfile.TemporaryDirectory() as folder:
        chains = {}
        for is_rsa in (False, True):
            chains[is_rsa] = Path(folder, f"{is_rsa}.pem")
            chains[is_rsa].write_bytes(b"".join(key_and_certificate([f"*.{web.suffix}"], is_rsa=is_rsa)))
        contexts = []
        for version in (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2):
            by_key = {}
            for is_rsa, chain in chains.items():
                by_key[is_rsa] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                by_key[is_rsa].load_cert_chain(chain)
                by_key[is_rsa].maximum_version = version
            contexts.append(by_key[False])

            def choose(
                connection: ssl.SSLObject,
                name: str | None,
                _: ssl.SSLContext,
                rsa: ssl.SSLContext = by_key[True],
            ) -> None:
                number = web.number(name or "")
                if number is not None and web.is_rsa(number):
                    connection.context = rsa

            contexts[-1].sni_callback = choose
    return contexts[0], contexts[1]


def key_and_certificate(names: Sequence[str], *, is_rsa: bool = False) -> tuple[bytes, bytes]:
    """Return a private key and its certificate (PEM) for these names."""
    key: PrivateKey = (
        rsa.generate_private_key(65537, 2048) if is_rsa else ec.generate_private_key(ec.SECP256R1())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return secret, _certificate(key, names).public_bytes(serialization.Encoding.PEM)


def _certificate(key: PrivateKey, names: Sequence[str]) -> x509.Certificate:
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
