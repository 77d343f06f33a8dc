"""Keys and certificates by which agencies identify each other."""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path
from typing import Any

from tablecloak.errors import InputError
from tablecloak.extras import required
from tablecloak.storage import existing_file, write_text

LONGEST_NAME = 64
"""Most characters in the name of a certificate, by X.509."""

MOST_DAYS = 36_500
"""Most days that a certificate may be valid."""


def make_certificate(name: str, folder: str | Path, *, days: int = 365) -> tuple[Path, Path]:
    """Make a private key and a self-signed certificate.

    Returns
    -------
    key, certificate : pathlib.Path
        Only its owner can read the key, which never leaves the agency.

    Raises
    ------
    InputError
        If a key of that name exists, or the library `cryptography` is missing.
    """
    required("cryptography", "New keys and certificates (those made elsewhere, in PEM, do as well)")
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    is_file_name = Path(name).name == name and not name.startswith(".")
    if not name.isprintable() or not 0 < len(name) <= LONGEST_NAME or not is_file_name:
        raise InputError(
            f"{name!r} is no name of an agency. Its files get the same name, so it must have 1 to "
            f"{LONGEST_NAME} letters, no slash, and no dot at the beginning."
        )
    if not 1 <= days <= MOST_DAYS:
        raise InputError(f"`days` must lie between 1 and {MOST_DAYS}. Got {days}.")
    folder = Path(folder)
    paths = folder / f"{name}.key", folder / f"{name}.crt"
    if paths[0].exists():
        raise InputError(
            f"{paths[0]} exists already. Take another folder, or remove it first to replace it."
        )
    key = ec.generate_private_key(ec.SECP256R1())
    encoding = serialization.Encoding.PEM
    secret = key.private_bytes(
        encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_text(paths[0], secret.decode(), secret=True)
    write_text(paths[1], _signed(name, key, days).public_bytes(encoding).decode())
    return paths


def _signed(name: str, key: Any, days: int) -> Any:
    """Return a certificate for a name, signed by its own key."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    title = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    public = key.public_key()
    now = datetime.datetime.now(datetime.UTC)
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        x509.CertificateBuilder()
        .subject_name(title)
        .issuer_name(title)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
        .sign(key, hashes.SHA256())
    )


def der_of(certificate: Path) -> bytes:
    """Return the bytes of a certificate.

    Raises
    ------
    InputError
        If the file is not a certificate in PEM format.
    """
    try:
        return ssl.PEM_cert_to_DER_cert(
            existing_file(certificate).read_text(encoding="ascii").strip()
        )
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(
            f"{certificate} is not a certificate in PEM format: {error}. Ask its agency for its "
            ".crt file."
        ) from None


def fingerprint_of(certificate: Path) -> str:
    """Return the SHA-256 digest of a certificate."""
    return hashlib.sha256(der_of(certificate)).hexdigest()
