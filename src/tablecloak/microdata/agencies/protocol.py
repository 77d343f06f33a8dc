"""Secure sums between agencies on machines of their own, over TLS.

Each agency runs the same program on the same study file and its own records. The first agency of
the file leads: it opens rounds, removes the random number it put in, and tells all the sums. The
wire format is in docs/secure-sums.md. What makes it safe to take part:

* connections are TLS with certificates on both sides, and only the certificates of the study
  file are accepted;
* each agency computes for itself which question comes next and refuses any other, so that nobody
  can ask for more than the study;
* a share is added once per round, and only where the route says so;
* who cannot go on says so to all, without the reason's details; no partial sum is ever sent.

Agencies are trusted to follow the protocol and to give true numbers (semi-honest).

References
----------
.. [1] Karr, Sanil: Secure regression over distributed data, 2004; Benaloh: Secret sharing
   homomorphisms, 1987 (secure summation).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import secrets
import ssl
import struct
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from tablecloak.errors import InputError, SolverError
from tablecloak.microdata.agencies.secure_regression import (
    LEAST_AGENCIES,
    Agency,
    FixedPoint,
    Rounds,
    encoded,
    regression_rounds,
    routes,
    shares_of,
)
from tablecloak.storage import write_text
from tablecloak.toml_file import read_toml

__all__ = ["AgencyAddress", "Study", "make_certificate", "read_study", "take_part"]

Floats = npt.NDArray[np.float64]

OneRound: TypeAlias = Callable[[str, Floats | None], Awaitable[Floats]]
"""Given question and argument, the sums over all agencies."""

PROTOCOL: Final = "tablecloak-sums/1"

LARGEST_MESSAGE = 1 << 24
"""Bytes."""

LONGEST_NAME = 64
"""Letters in the name of a certificate, by X.509."""

MOST_DAYS = 36_500
"""Days that a certificate may be valid."""

RETRY_SECONDS = 0.2

CLOSING_SECONDS = 1.0

GRACE_SECONDS = 2.0
"""How long to wait for an explanation when an agency cannot be reached any more."""

SAME_ARGUMENT = 1e-6
"""Relative difference between the argument that an agency is asked and the one it computed."""


class AgencyAddress(BaseModel):
    """Where an agency listens, and the certificate by which the others know it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=100)
    address: str = Field(pattern=r"^.+:\d+$", description="host:port")
    certificate: Path

    @field_validator("address")
    @classmethod
    def _known_port(cls, address: str) -> str:
        if not 0 < int(address.rpartition(":")[2]) < 2**16:
            raise ValueError("a port is a number from 1 to 65535")
        return address

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.address.rpartition(":")
        return host, int(port)


class Study(BaseModel):
    """What the agencies agree on beforehand; all have the same file.

    Parameters
    ----------
    kind : {"regression", "logistic", "sum"}
    response : str, default=""
        Column of the response; for sums not used.
    predictors : list of str
        Columns of the predictors, or columns to be summed.
    agencies : list of AgencyAddress
        At least three; the first one leads.
    shares : int, default=2
        Into how many shares each number is split. With two or more, and four agencies or more,
        no two agencies who collude learn the number of a third: see
        `tablecloak.microdata.agencies.secure_regression.routes`.
    modulus_bits, fraction_bits : int, default=128, 32
    timeout : float, default=120
        Seconds after which a silent agency is given up.
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
        """Arithmetic that was agreed on."""
        return FixedPoint(1 << self.modulus_bits, self.fraction_bits)

    def fingerprint(self) -> str:
        """Digest of what must be the same everywhere; where certificates lie need not be."""
        agreed = self.model_dump(mode="json", exclude={"agencies", "timeout"})
        agreed["agencies"] = [(agency.name, _fingerprint(agency)) for agency in self.agencies]
        return hashlib.sha256(json.dumps(agreed, sort_keys=True).encode()).hexdigest()

    def rounds(self) -> Rounds[Any]:
        """Return the questions of the study, one after another, and its result."""
        if self.kind == "sum":
            return _sum_round(self.predictors)
        return regression_rounds(self.predictors, logistic=self.kind == "logistic")


def _sum_round(names: Sequence[str]) -> Generator[tuple[str, None], Floats, dict[str, float]]:
    sums = yield "sums", None
    return dict(zip(names, map(float, sums), strict=True))


def read_study(path: str | Path) -> Study:
    """Read a study from a TOML file; certificates lie beside it.

    Raises
    ------
    InputError
        Names the file and the entry.
    """
    path = Path(path)
    found = read_toml(path)[1]
    try:
        found["agencies"] = found.pop("agency", [])
        study = Study.model_validate(found)
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
        raise InputError(f"{path}: two agencies have the same name.")
    if study.kind != "sum" and not study.response:
        raise InputError(f"{path}: a regression needs `response`, the column to explain.")
    beside = [
        agency.model_copy(update={"certificate": path.parent / agency.certificate})
        for agency in study.agencies
    ]
    for agency in beside:
        if not agency.certificate.is_file():
            raise InputError(
                f"{path}: there is no certificate of agency {agency.name!r} at "
                f"{agency.certificate}. Each agency makes its own with `tablecloak securesum "
                f"certificate NAME` and sends the others the .crt file, never the .key file."
            )
    return study.model_copy(update={"agencies": beside})


def make_certificate(name: str, folder: str | Path, *, days: int = 365) -> tuple[Path, Path]:
    """Make a private key and a certificate that an agency signs itself.

    Returns
    -------
    key, certificate : pathlib.Path
        The key is readable by its owner alone and never leaves the agency.

    Raises
    ------
    InputError
        If there is a key of that name, or the library `cryptography` is missing.
    """
    import datetime

    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise InputError(
            "Certificates need the library cryptography: pip install 'tablecloak[agencies]'. "
            "Keys and self-signed certificates (PEM) made otherwise do as well."
        ) from None
    if not name.isprintable() or not 0 < len(name) <= LONGEST_NAME or Path(name).name != name:
        raise InputError(
            f"{name!r} is no name of an agency. It names a file too: 1 to {LONGEST_NAME} letters, "
            f"without slashes."
        )
    if not 1 <= days <= MOST_DAYS:
        raise InputError(f"`days` must lie between 1 and {MOST_DAYS}. Got {days}.")
    folder = Path(folder)
    paths = folder / f"{name}.key", folder / f"{name}.crt"
    if paths[0].exists():
        raise InputError(f"{paths[0]} exists already. Remove it first if it should be replaced.")
    key = ec.generate_private_key(ec.SECP256R1())
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
    signed = (
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
    encoding = serialization.Encoding.PEM
    secret = key.private_bytes(
        encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_text(paths[0], secret.decode(), secret=True)
    write_text(paths[1], signed.public_bytes(encoding).decode())
    return paths


class _Message(BaseModel):
    """What every message says."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    protocol: Literal["tablecloak-sums/1"] = PROTOCOL
    study: str = Field(min_length=64, max_length=64)
    session: str = Field(max_length=64)
    sender: str = Field(max_length=100)
    round: int = Field(ge=0, le=1000)


class _Open(_Message):
    """The leader opens a session."""

    kind: Literal["open"] = "open"


class _Pass(_Message):
    """Blinded partial sums on their way around the ring."""

    kind: Literal["pass"] = "pass"
    question: str = Field(max_length=20)
    argument: list[float] | None
    share: int = Field(ge=0)
    route: list[str]
    values: list[str]


class _Passed(_Message):
    """An agency tells the leader that it passes a share on."""

    kind: Literal["passed"] = "passed"
    share: int = Field(ge=0)


class _Sums(_Message):
    """The leader tells all the sums of a round."""

    kind: Literal["sums"] = "sums"
    values: list[str]


class _Stop(_Message):
    """An agency cannot go on."""

    kind: Literal["stop"] = "stop"
    reason: str = Field(max_length=300)


_AnyMessage = Annotated[_Open | _Pass | _Passed | _Sums | _Stop, Field(discriminator="kind")]
_ADAPTER: TypeAdapter[_AnyMessage] = TypeAdapter(_AnyMessage)


def take_part(
    study: Study,
    agency: Agency,
    key: str | Path,
    *,
    notify: Callable[[str], None] | None = None,
) -> Any:
    """Run the study as one of its agencies, and return its result.

    Parameters
    ----------
    study : Study
    agency : Agency
        With its own records; its name is in the study.
    key : path
        Private key that belongs to its certificate.
    notify : callable, optional
        Told of progress; nothing that is secret.

    Returns
    -------
    SecureRegression or dict of str to float
        The same for all agencies.

    Raises
    ------
    InputError
        If the study does not name this agency, or key and certificate do not match.
    SolverError
        If an agency is late, drops out or breaks the protocol. Nothing was revealed.
    ModelError
        If the regression has no answer; all agencies find that by themselves.
    """
    if agency.name not in study.names:
        raise InputError(
            f"The study has no agency {agency.name!r}; it has {', '.join(study.names)}."
        )
    return asyncio.run(_Participant(study, agency, Path(key), notify or (lambda _: None)).run())


@dataclass(frozen=True)
class _GivenUpError(Exception):
    """Why the study ends without a result, in words that reveal nothing."""

    reason: str
    told: bool = False
    """Whether another agency said so, which then tells all."""


class _Participant:
    """One agency while a study runs."""

    def __init__(
        self, study: Study, agency: Agency, key: Path, notify: Callable[[str], None]
    ) -> None:
        self.study = study
        self.agency = agency
        self.name = agency.name
        self.notify = notify
        self.fingerprint = study.fingerprint()
        self.addresses = {entry.name: entry for entry in study.agencies}
        self.pinned = {entry.name: _der(entry) for entry in study.agencies}
        self.server_side = self._context(ssl.PROTOCOL_TLS_SERVER, key)
        self.client_side = self._context(ssl.PROTOCOL_TLS_CLIENT, key)
        self.inbox: asyncio.Queue[_AnyMessage | _GivenUpError] = asyncio.Queue()
        self.receiving: set[asyncio.Task[None]] = set()
        self.session = ""
        self.number = 0

    def _context(self, protocol: int, key: Path) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # The very certificate is compared instead.
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_cert_chain(self.addresses[self.name].certificate, key)
        except (OSError, ssl.SSLError) as error:
            raise InputError(
                f"{key} cannot be used as the private key of agency {self.name!r}: {error}"
            ) from None
        for entry in self.study.agencies:
            context.load_verify_locations(entry.certificate)
        return context

    @property
    def leader(self) -> str:
        return self.study.names[0]

    async def run(self) -> Any:
        host, port = self.addresses[self.name].place

        async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._receive(reader, writer))
            self.receiving.add(task)
            task.add_done_callback(self.receiving.discard)
            await task

        try:
            server = await asyncio.start_server(
                receive, host, port, ssl=self.server_side, limit=LARGEST_MESSAGE
            )
        except OSError as error:
            raise InputError(
                f"Agency {self.name!r} cannot listen on {host}:{port}: {error.strerror}."
            ) from None
        try:
            try:
                return await (self._lead() if self.name == self.leader else self._follow())
            except _GivenUpError as end:
                if not end.told:
                    await self._stop_all(end.reason)
                raise SolverError(
                    f"The study was given up: {end.reason} Nothing was revealed but the sums of "
                    f"finished rounds ({max(self.number - 1, 0)})."
                ) from None
            except (InputError, SolverError) as error:
                # Its own answer failed: what exactly went wrong is told here alone.
                await self._stop_all(f"Agency {self.name!r} could not answer.")
                raise error
        finally:
            server.close()
            if self.receiving:
                await asyncio.wait(self.receiving, timeout=CLOSING_SECONDS)
            # Connections that are being closed need the loop once more.
            await asyncio.sleep(CLOSING_SECONDS / 10)

    async def _lead(self) -> Any:
        self.session = secrets.token_hex(16)
        await asyncio.gather(*(self._open(name) for name in self.study.names[1:]))
        return await self._through(self._lead_round)

    async def _through(self, one_round: OneRound) -> Any:
        """Go through the questions of the study."""
        rounds = self.study.rounds()
        sums: Floats | None = None
        while True:
            try:
                asked = next(rounds) if sums is None else rounds.send(sums)
            except StopIteration as end:
                return end.value
            self.number += 1
            sums = await one_round(*asked)

    async def _open(self, name: str) -> None:
        await self._send(name, _Open(**self._header()), patient=True)
        self.notify(f"agency {name} takes part")

    async def _lead_round(self, question: str, argument: Floats | None) -> Floats:
        modulus = self.study.arithmetic.modulus
        parts = await asyncio.to_thread(self._shares, question, argument)
        length = len(parts[0])
        blinds, waiting = [], {}
        for share, part in enumerate(parts):
            rest = self._route(share)[1:]
            blind = [secrets.randbelow(modulus) for _ in range(length)]
            blinds.append(blind)
            waiting[share] = list(rest)
            message = _Pass(
                **self._header(),
                question=question,
                argument=None if argument is None else [float(value) for value in argument],
                share=share,
                route=[self.name, *rest],
                values=_written(_added(blind, part, modulus)),
            )
            await self._send(rest[0], message)
        total = [0] * length
        routes = {share: list(route) for share, route in waiting.items()}
        while waiting:
            late = next(route[0] for route in waiting.values())
            found = await self._next(f"Agency {late!r} was late in round {self.number}.")
            if not isinstance(found, _Pass | _Passed) or found.share not in waiting:
                raise self._broken(found.sender)
            last = routes[found.share][-1]
            if isinstance(found, _Passed):
                waiting[found.share] = [n for n in waiting[found.share] if n != found.sender]
                waiting[found.share] = waiting[found.share] or [last]
                continue
            if found.sender != last:
                raise self._broken(found.sender)
            values = self._read(found, found.values, length)
            blind = blinds[found.share]
            total = [(t + v - b) % modulus for t, v, b in zip(total, values, blind, strict=True)]
            del waiting[found.share]
        told = _Sums(**self._header(), values=_written(total))
        for name in self.study.names[1:]:
            await self._send(name, told)
        self.notify(f"round {self.number}: {length} sums")
        return np.array([self.study.arithmetic.decode(value) for value in total])

    async def _follow(self) -> Any:
        self.notify(f"agency {self.name} waits for agency {self.leader}")
        first = await self._next(f"Agency {self.leader!r} did not open the study.")
        if not isinstance(first, _Open) or first.sender != self.leader:
            raise self._broken(first.sender)
        self.session = first.session
        return await self._through(self._follow_round)

    async def _follow_round(self, question: str, argument: Floats | None) -> Floats:
        modulus = self.study.arithmetic.modulus
        parts: list[list[int]] | None = None
        done: set[int] = set()
        while True:
            message = await self._next(f"No agency sent anything in round {self.number}.")
            if isinstance(message, _Sums) and message.sender == self.leader:
                if parts is None or len(done) < self.study.shares:
                    raise self._broken(message.sender)
                total = self._read(message, message.values, len(parts[0]))
                self.notify(f"round {self.number}: {len(total)} sums")
                return np.array([self.study.arithmetic.decode(value) for value in total])
            if not isinstance(message, _Pass) or message.share in done:
                raise self._broken(message.sender)
            after = self._successor(message)
            if message.question != question or not _same(message.argument, argument):
                raise _GivenUpError(
                    f"Agency {self.name!r} was asked for something that is not in the study."
                )
            if parts is None:
                parts = await asyncio.to_thread(self._shares, question, argument)
            done.add(message.share)
            values = self._read(message, message.values, len(parts[0]))
            passed = _written(_added(values, parts[message.share], modulus))
            header = self._header()
            if after != self.leader:
                # Before it is passed on, so that the leader learns it in the order of the route.
                await self._send(self.leader, _Passed(**header, share=message.share))
            await self._send(after, message.model_copy(update={**header, "values": passed}))

    def _successor(self, message: _Pass) -> str:
        """Return who comes next on the route, after checking the way so far."""
        route = message.route
        if message.share >= self.study.shares or route != self._route(message.share):
            raise self._broken(message.sender)
        at = route.index(self.name)
        if route[at - 1] != message.sender:
            raise self._broken(message.sender)
        return route[(at + 1) % len(route)]

    def _route(self, share: int) -> list[str]:
        """Return the way of a share, which no agency can choose."""
        order = routes(len(self.study.agencies), self.study.shares)[share]
        return [self.study.names[at] for at in order]

    def _shares(self, question: str, argument: Floats | None) -> list[list[int]]:
        arithmetic, count = self.study.arithmetic, len(self.study.agencies)
        answer = encoded(self.agency, question, argument, arithmetic, count)
        return shares_of(answer, self.study.shares, arithmetic.modulus)

    def _header(self) -> dict[str, Any]:
        return {
            "study": self.fingerprint,
            "session": self.session,
            "sender": self.name,
            "round": self.number,
        }

    def _read(self, message: _Message, values: Sequence[str], length: int) -> list[int]:
        """Return the numbers of a message."""
        modulus = self.study.arithmetic.modulus
        try:
            numbers = [int(value, 16) for value in values]
        except ValueError:
            raise self._broken(message.sender) from None
        if len(numbers) != length:
            raise _GivenUpError(
                f"Agency {message.sender!r} sent {len(numbers)} numbers instead of {length}."
            )
        if not all(0 <= number < modulus for number in numbers):
            raise self._broken(message.sender)
        return numbers

    def _broken(self, sender: str) -> _GivenUpError:
        return _GivenUpError(f"Agency {sender!r} did not keep to the protocol.")

    async def _next(self, late: str) -> _AnyMessage:
        """Return the next message of this session."""
        # The leader gives up first and says why.
        patience = self.study.timeout + (0 if self.name == self.leader else GRACE_SECONDS)
        try:
            found = await asyncio.wait_for(self.inbox.get(), patience)
        except TimeoutError:
            raise _GivenUpError(f"{late} It was waited for {self.study.timeout:g} s.") from None
        if isinstance(found, _GivenUpError):
            raise found
        if isinstance(found, _Stop):
            raise _GivenUpError(found.reason, told=True)
        if found.study != self.fingerprint:
            raise _GivenUpError(f"Agency {found.sender!r} has another study file.")
        is_new = isinstance(found, _Open) and not self.session
        if not is_new and (found.session != self.session or found.round != self.number):
            raise self._broken(found.sender)
        return found

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one message from a connection; who sent it is told by its certificate."""
        sender = self._peer(writer)
        try:
            async with asyncio.timeout(self.study.timeout):
                (length,) = struct.unpack(">I", await reader.readexactly(4))
                if not sender or length > LARGEST_MESSAGE:
                    raise ValueError
                message = _ADAPTER.validate_json(await reader.readexactly(length))
                if message.sender != sender:
                    raise ValueError
            self.inbox.put_nowait(message)
            writer.write(b"\x01")
            await writer.drain()
        except (ValueError, asyncio.IncompleteReadError, TimeoutError, OSError):
            if sender:
                self.inbox.put_nowait(
                    _GivenUpError(f"Agency {sender!r} sent what is not a message of the protocol.")
                )
        finally:
            writer.close()
            with contextlib.suppress(OSError, ssl.SSLError):
                await writer.wait_closed()

    def _peer(self, writer: asyncio.StreamWriter) -> str:
        """Name of the agency at the other end; empty for anybody else."""
        found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return next((name for name, known in self.pinned.items() if known == found), "")

    async def _send(self, name: str, message: _Message, *, patient: bool = False) -> None:
        """Send a message; with `patient`, wait for an agency that does not listen yet."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.study.timeout
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    await self._deliver(name, message)
                return
            except (OSError, ssl.SSLError, asyncio.IncompleteReadError, TimeoutError):
                if not patient or loop.time() + RETRY_SECONDS >= deadline:
                    gone = f"Agency {name!r} could not be reached."
                    end = _GivenUpError(gone) if patient else await self._explained(gone)
                    raise end from None
                await asyncio.sleep(RETRY_SECONDS)

    async def _explained(self, reason: str) -> _GivenUpError:
        """Return why an agency is gone: what another one says soon, or else the given reason."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(GRACE_SECONDS, self.study.timeout)):
                while True:
                    found = await self.inbox.get()
                    if isinstance(found, _Stop):
                        return _GivenUpError(found.reason, told=True)
        return _GivenUpError(reason)

    async def _deliver(self, name: str, message: _Message) -> None:
        host, port = self.addresses[name].place
        reader, writer = await asyncio.open_connection(host, port, ssl=self.client_side)
        try:
            if self._peer(writer) != name:
                raise _GivenUpError(f"Another than agency {name!r} answers at its address.")
            text = message.model_dump_json().encode()
            writer.write(struct.pack(">I", len(text)) + text)
            await writer.drain()
            await reader.readexactly(1)
        finally:
            writer.close()
            with contextlib.suppress(OSError, ssl.SSLError):
                await writer.wait_closed()

    async def _stop_all(self, reason: str) -> None:
        """Tell all others, as far as they can be reached soon."""
        message = _Stop(**self._header(), reason=reason[:300])

        async def tell(name: str) -> None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._deliver(name, message), min(5, self.study.timeout))

        await asyncio.gather(*(tell(name) for name in self.study.names if name != self.name))


def _added(values: Sequence[int], part: Sequence[int], modulus: int) -> list[int]:
    return [(value + own) % modulus for value, own in zip(values, part, strict=True)]


def _written(values: Sequence[int]) -> list[str]:
    return [f"{value:x}" for value in values]


def _same(given: Sequence[float] | None, computed: Floats | None) -> bool:
    """Whether an argument is the one that the study asks for next, but for rounding."""
    if given is None or computed is None:
        return given is None and computed is None
    if len(given) != len(computed):
        return False
    return bool(np.allclose(given, computed, rtol=SAME_ARGUMENT, atol=SAME_ARGUMENT))


def _der(agency: AgencyAddress) -> bytes:
    try:
        return ssl.PEM_cert_to_DER_cert(agency.certificate.read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise InputError(
            f"{agency.certificate} is not a certificate in PEM format: {error}"
        ) from None


def _fingerprint(agency: AgencyAddress) -> str:
    return hashlib.sha256(_der(agency)).hexdigest()
