"""The study file, on which all agencies agree beforehand, and their keys and certificates."""

from __future__ import annotations

import hashlib
import json
import ssl
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from tablecloak.arrays import Floats
from tablecloak.errors import InputError
from tablecloak.extras import required
from tablecloak.microdata.agencies.agency import LEAST_AGENCIES, FixedPoint
from tablecloak.microdata.agencies.regression import Rounds, regression_rounds
from tablecloak.storage import existing_file, write_text
from tablecloak.toml_file import read_toml

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


class AgencyAddress(BaseModel):
    """Name, address and certificate of an agency."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=100)
    address: str = Field(pattern=r"^.+:\d+$", description="host:port")
    certificate: Path

    @field_validator("address")
    @classmethod
    def _known_port(cls, address: str) -> str:
        if not 0 < int(address.rpartition(":")[2]) < 2**16:
            raise ValueError("a port must be a number from 1 to 65535")
        return address

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.address.rpartition(":")
        return host, int(port)


class Study(BaseModel):
    """Questions, agencies and arithmetic of a study; all agencies have the same file.

    Attributes
    ----------
    kind : {"regression", "logistic", "sum"}
    response : str, default=""
        Column of the response; not used for sums.
    predictors : list of str
        Columns of the predictors, or columns to be summed.
    agencies : list of AgencyAddress
        At least three; the first one leads.
    shares : int, default=2
        Number of shares into which each number is split. With at least two shares and four
        agencies, no two colluding agencies learn the number of a third: see
        `tablecloak.microdata.agencies.agency.routes`.
    modulus_bits, fraction_bits : int, default=128, 32
        Binary digits of the modulus, and of numbers after the point: see `FixedPoint`.
    timeout : float, default=120
        Seconds after which the study is given up if an agency does not answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["regression", "logistic", "sum"]
    response: str = ""
    predictors: list[str] = Field(min_length=1)
    agencies: list[AgencyAddress]
    shares: int = Field(default=2, ge=1, le=16)
    modulus_bits: int = Field(default=128, ge=16, le=4096)
    fraction_bits: int = Field(default=32, ge=0, le=1024)
    timeout: float = Field(default=120.0, gt=0)

    @property
    def names(self) -> list[str]:
        """Names of the agencies."""
        return [agency.name for agency in self.agencies]

    @property
    def arithmetic(self) -> FixedPoint:
        """The arithmetic of the sums."""
        return FixedPoint(1 << self.modulus_bits, self.fraction_bits)

    def fingerprint(self) -> str:
        """Digest of all entries that must be equal at all agencies, so without any paths."""
        agreed = self.model_dump(mode="json", exclude={"agencies", "timeout"})
        agreed["agencies"] = [
            (agency.name, fingerprint_of(agency.certificate)) for agency in self.agencies
        ]
        return hashlib.sha256(json.dumps(agreed, sort_keys=True).encode()).hexdigest()

    def rounds(self) -> Rounds[Any]:
        """Return the generator of the study's questions and its result."""
        if self.kind == "sum":
            return _sum_round(self.predictors)
        return regression_rounds(self.predictors, logistic=self.kind == "logistic")


def _sum_round(names: Sequence[str]) -> Generator[tuple[str, None], Floats, dict[str, float]]:
    sums = yield "sums", None
    return dict(zip(names, map(float, sums), strict=True))


def read_study(path: str | Path) -> Study:
    """Read a study from a TOML file; paths of certificates are relative to its folder.

    Raises
    ------
    InputError
        Names the file and the entry.
    """
    path = Path(path)
    entries = read_toml(path)[1]
    try:
        entries["agencies"] = entries.pop("agency", [])
        study = Study.model_validate(entries)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])).replace("agencies", "agency")
        raise InputError(f"{path}: {place}: {first['msg']}.") from None
    if len(study.agencies) < LEAST_AGENCIES:
        raise InputError(
            f"{path}: {len(study.agencies)} agencies are too few: with two, each learns the "
            f"number of the other by subtraction. At least {LEAST_AGENCIES} are needed."
        )
    if len(set(study.names)) < len(study.names):
        twice = sorted({name for name in study.names if study.names.count(name) > 1})
        raise InputError(f"{path}: two agencies have the same name {twice[0]!r}. Rename one.")
    if study.kind != "sum" and not study.response:
        raise InputError(
            f"{path}: a regression needs `response`, the column to explain, such as "
            'response = "wage".'
        )
    beside = [
        agency.model_copy(update={"certificate": path.parent / agency.certificate})
        for agency in study.agencies
    ]
    for agency in beside:
        if not agency.certificate.is_file():
            raise InputError(
                f"{path}: there is no certificate of agency {agency.name!r} at "
                f"{agency.certificate}. Each agency makes its own with `tablecloak agencies "
                f"certificate NAME` and sends the others the .crt file, never the .key file."
            )
    return study.model_copy(update={"agencies": beside})
