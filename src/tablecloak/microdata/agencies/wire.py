"""Messages between agencies, and the connections that carry them.

Agencies are identified by their certificates alone; docs/secure-sums.md describes the format.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from tablecloak.budget import Budget
from tablecloak.errors import InputError
from tablecloak.microdata.agencies.study import Study, der_of
from tablecloak.storage import existing_file

PROTOCOL: Final = "tablecloak-sums/1"
"""Name and version of the protocol, which every message carries."""

LARGEST_MESSAGE = 1 << 24
"""Most bytes of a message; longer ones are refused before they are read."""

RETRY_SECONDS = 0.2
"""Seconds between attempts to reach an agency that does not listen yet."""

CLOSING_SECONDS = 1.0
"""Seconds that connections may take to close at the end."""

GRACE_SECONDS = 2.0
"""Seconds to wait for an explanation when an agency can no longer be reached."""


class Message(BaseModel):
    """Fields of every message."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    protocol: Literal["tablecloak-sums/1"] = PROTOCOL
    study: str = Field(min_length=64, max_length=64)
    session: str = Field(max_length=64)
    sender: str = Field(max_length=100)
    round: int = Field(ge=0, le=1000)


class OpenMessage(Message):
    """The leader opens a session."""

    kind: Literal["open"] = "open"


class PassMessage(Message):
    """Blinded partial sums on their way around the ring."""

    kind: Literal["pass"] = "pass"
    question: str = Field(max_length=20)
    argument: list[float] | None
    share: int = Field(ge=0)
    route: list[str]
    values: list[str]


class PassedMessage(Message):
    """Tells the leader that an agency passes a share on."""

    kind: Literal["passed"] = "passed"
    share: int = Field(ge=0)


class SumsMessage(Message):
    """The sums of a round, from the leader to all agencies."""

    kind: Literal["sums"] = "sums"
    values: list[str]


class StopMessage(Message):
    """Ends the study for all agencies."""

    kind: Literal["stop"] = "stop"
    reason: str = Field(max_length=300)


AnyMessage = Annotated[
    OpenMessage | PassMessage | PassedMessage | SumsMessage | StopMessage,
    Field(discriminator="kind"),
]
_ADAPTER: TypeAdapter[AnyMessage] = TypeAdapter(AnyMessage)


def read(text: bytes) -> AnyMessage:
    """Return the message in a text.

    Raises
    ------
    ValueError
        If the text is not a message.
    """
    return _ADAPTER.validate_json(text)


@dataclass(frozen=True)
class GivenUpError(Exception):
    """The reason why the study ends without a result, in words that reveal nothing."""

    reason: str
    told: bool = False
    """Whether the reason came from another agency, which has told all of them."""


class Wire:
    """The connections of one agency: messages received, with verified senders, and messages sent.

    Connections are TLS with certificates on both sides; only those of the study are accepted.

    Parameters
    ----------
    study : Study
    name : str
        Name of this agency.
    key : Path
        Private key that belongs to its certificate.

    Raises
    ------
    InputError
        If key and certificate do not match.
    """

    def __init__(self, study: Study, name: str, key: Path) -> None:
        self.name = name
        self.timeout = study.timeout
        self.addresses = {entry.name: entry for entry in study.agencies}
        self.pinned = {entry.name: der_of(entry.certificate) for entry in study.agencies}
        self._server_side = self._context(ssl.PROTOCOL_TLS_SERVER, key)
        self._client_side = self._context(ssl.PROTOCOL_TLS_CLIENT, key)
        self._inbox: asyncio.Queue[AnyMessage | GivenUpError] = asyncio.Queue()
        self._receiving: set[asyncio.Task[None]] = set()

    def _context(self, protocol: int, key: Path) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # Certificates are compared byte by byte instead.
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_cert_chain(self.addresses[self.name].certificate, existing_file(key))
        except (OSError, ssl.SSLError) as error:
            raise InputError(
                f"{key} cannot be used as the private key of agency {self.name!r}: {error}. Give "
                f"the .key file that was made with {self.addresses[self.name].certificate}."
            ) from None
        for entry in self.addresses.values():
            context.load_verify_locations(entry.certificate)
        return context

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Receive messages while the study runs."""
        host, port = self.addresses[self.name].place

        async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._receive(reader, writer))
            self._receiving.add(task)
            task.add_done_callback(self._receiving.discard)
            await task

        try:
            server = await asyncio.start_server(
                receive, host, port, ssl=self._server_side, limit=LARGEST_MESSAGE
            )
        except OSError as error:
            raise InputError(
                f"Agency {self.name!r} cannot listen on {host}:{port}: {error.strerror}. Give its "
                "entry in the study file an address of this machine and a free port."
            ) from None
        try:
            yield
        finally:
            server.close()
            if self._receiving:
                await asyncio.wait(self._receiving, timeout=CLOSING_SECONDS)
            # The event loop must run once more to close the remaining connections.
            await asyncio.sleep(CLOSING_SECONDS / 10)

    async def received(self, patience: float, late: str) -> AnyMessage:
        """Return the next message.

        Parameters
        ----------
        patience : float
            Seconds to wait.
        late : str
            Reason to give if no message comes.

        Raises
        ------
        GivenUpError
            If no message comes, or an agency ends the study.
        """
        try:
            message = await asyncio.wait_for(self._inbox.get(), patience)
        except TimeoutError:
            raise GivenUpError(f"{late} The others waited for {self.timeout:g} s.") from None
        if isinstance(message, GivenUpError):
            raise message
        if isinstance(message, StopMessage):
            raise GivenUpError(message.reason, told=True)
        return message

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Receive one message from a connection; its certificate must be that of the sender."""
        sender = self._peer(writer)
        try:
            async with asyncio.timeout(self.timeout):
                (length,) = struct.unpack(">I", await reader.readexactly(4))
                if not sender or length > LARGEST_MESSAGE:
                    raise ValueError
                message = read(await reader.readexactly(length))
                if message.sender != sender:
                    raise ValueError
            self._inbox.put_nowait(message)
            writer.write(b"\x01")
            await writer.drain()
        except (ValueError, asyncio.IncompleteReadError, TimeoutError, OSError):
            if sender:
                self._inbox.put_nowait(
                    GivenUpError(
                        f"Agency {sender!r} sent what is not a message of the protocol. Check that "
                        "all agencies run the same version of tablecloak."
                    )
                )
        finally:
            writer.close()
            with contextlib.suppress(OSError, ssl.SSLError):
                await writer.wait_closed()

    def _peer(self, writer: asyncio.StreamWriter) -> str:
        """Return the name of the agency at the other end; empty for anyone else."""
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return next((name for name, known in self.pinned.items() if known == certificate), "")

    async def send(self, name: str, message: Message, *, patient: bool = False) -> None:
        """Send a message; with `patient`, keep trying while the agency does not listen yet."""
        budget = Budget.of(self.timeout)
        while True:
            try:
                async with asyncio.timeout(budget.left):
                    await self._deliver(name, message)
                return
            except (OSError, ssl.SSLError, asyncio.IncompleteReadError, TimeoutError):
                if not patient or budget.left <= RETRY_SECONDS:
                    gone = f"Agency {name!r} could not be reached."
                    end = GivenUpError(gone) if patient else await self._explained(gone)
                    raise end from None
                await asyncio.sleep(RETRY_SECONDS)

    async def _explained(self, reason: str) -> GivenUpError:
        """Return the reason that another agency tells soon, otherwise the given one."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(GRACE_SECONDS, self.timeout)):
                while True:
                    message = await self._inbox.get()
                    if isinstance(message, StopMessage):
                        return GivenUpError(message.reason, told=True)
        return GivenUpError(reason)

    async def _deliver(self, name: str, message: Message) -> None:
        host, port = self.addresses[name].place
        reader, writer = await asyncio.open_connection(host, port, ssl=self._client_side)
        try:
            if self._peer(writer) != name:
                raise GivenUpError(
                    f"The certificate presented at the address of agency {name!r} is not its own. "
                    "Check its address and certificate in the study file."
                )
            text = message.model_dump_json().encode()
            writer.write(struct.pack(">I", len(text)) + text)
            await writer.drain()
            await reader.readexactly(1)
        finally:
            writer.close()
            with contextlib.suppress(OSError, ssl.SSLError):
                await writer.wait_closed()

    async def tell_all(self, message: StopMessage) -> None:
        """Send a message to all others that can be reached soon."""

        async def tell(name: str) -> None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._deliver(name, message), min(5, self.timeout))

        await asyncio.gather(*(tell(name) for name in self.addresses if name != self.name))
