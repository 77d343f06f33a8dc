"""Secure sums between agencies on machines of their own, over TLS.

Each agency runs the same program on the same study file and its own records. The first agency of
the file leads: it opens rounds, subtracts the random number that it added, and sends the sums to
all. The wire format is in docs/secure-sums.md. Four rules protect each agency:

* connections are TLS with certificates on both sides, and only the certificates of the study
  file are accepted;
* each agency computes for itself which question comes next and refuses any other, so that no
  agency can ask for more than the study contains;
* a share is added once per round, in the order of its route;
* an agency that cannot continue tells all others, without details; no partial sum is ever sent.

Agencies are trusted to follow the protocol and to give true numbers (semi-honest).

References
----------
.. [1] Karr, Sanil: Secure regression over distributed data, 2004; Benaloh: Secret sharing
   homomorphisms, 1987 (secure summation).
"""

from __future__ import annotations

import asyncio
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import InputError, SolverError
from tablecloak.executors import in_thread
from tablecloak.microdata.agencies.agency import Agency, encoded, routes, shares_of
from tablecloak.microdata.agencies.study import Study
from tablecloak.microdata.agencies.wire import (
    GRACE_SECONDS,
    AnyMessage,
    GivenUpError,
    Message,
    OpenMessage,
    PassedMessage,
    PassMessage,
    StopMessage,
    SumsMessage,
    Wire,
)

SAME_ARGUMENT = 1e-6
"""Largest relative difference between a question's argument and the one that an agency computed."""


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
        This agency with its own records; the study must name it.
    key : path
        Private key that belongs to its certificate.
    notify : callable, optional
        Called with lines on the progress, which contain no secret.

    Returns
    -------
    SecureRegression or dict of str to float
        The result, which all agencies get.

    Raises
    ------
    InputError
        If the study does not name this agency, or key and certificate do not match.
    SolverError
        If an agency is late, drops out or breaks the protocol. Only sums of finished rounds were
        revealed.
    ModelError
        If the regression has no solution; all agencies get this error.
    """
    if agency.name not in study.names:
        raise InputError(
            f"The study has no agency {agency.name!r}; it has {', '.join(study.names)}. Give one "
            "of these names."
        )
    kind = _Leader if agency.name == study.names[0] else _Follower
    return asyncio.run(kind(study, agency, Path(key), notify or (lambda _: None)).run())


class _Participant(ABC):
    """An agency during a study."""

    def __init__(
        self, study: Study, agency: Agency, key: Path, notify: Callable[[str], None]
    ) -> None:
        self.study = study
        self.agency = agency
        self.name = agency.name
        self.notify = notify
        self.fingerprint = study.fingerprint()
        self.wire = Wire(study, agency.name, key)
        self.session = ""
        self.number = 0

    @property
    def leader(self) -> str:
        return self.study.names[0]

    @abstractmethod
    async def begin(self) -> None:
        """OpenMessage the study, or wait until the leader opens it."""

    @abstractmethod
    async def one_round(self, question: str, argument: Floats | None) -> Floats:
        """Return the sums over all agencies."""

    async def run(self) -> Any:
        async with self.wire.listening():
            try:
                await self.begin()
                return await self._through()
            except GivenUpError as end:
                if not end.told:
                    await self._stop_all(end.reason)
                raise SolverError(
                    f"The study was given up: {end.reason} Nothing was revealed but the sums of "
                    f"finished rounds ({max(self.number - 1, 0)})."
                ) from None
            except (InputError, SolverError) as error:
                # This agency's own answer failed: only its own user sees the details.
                await self._stop_all(f"Agency {self.name!r} could not answer.")
                raise error

    async def _through(self) -> Any:
        """Ask all questions of the study, and return its result."""
        rounds = self.study.rounds()
        sums: Floats | None = None
        while True:
            try:
                asked = next(rounds) if sums is None else rounds.send(sums)
            except StopIteration as end:
                return end.value
            self.number += 1
            sums = await self.one_round(*asked)

    async def _stop_all(self, reason: str) -> None:
        await self.wire.tell_all(StopMessage(**self.header(), reason=reason[:300]))

    async def next_message(self, late: str) -> AnyMessage:
        """Return the next message of this session; `late` is the reason if none comes."""
        # Others wait a little longer, so that the leader gives up first and tells the reason.
        patience = self.study.timeout + (0 if self.name == self.leader else GRACE_SECONDS)
        message = await self.wire.received(patience, late)
        if message.study != self.fingerprint:
            raise GivenUpError(
                f"Agency {message.sender!r} has another study file: all need the same one."
            )
        is_new = isinstance(message, OpenMessage) and not self.session
        if not is_new and (message.session != self.session or message.round != self.number):
            raise self.broken(message.sender)
        return message

    def header(self) -> dict[str, Any]:
        """Return the fields of every message."""
        return {
            "study": self.fingerprint,
            "session": self.session,
            "sender": self.name,
            "round": self.number,
        }

    def numbers(self, message: Message, values: Sequence[str], length: int) -> list[int]:
        """Return the numbers of a message after checking their count and range."""
        modulus = self.study.arithmetic.modulus
        try:
            numbers = [int(value, 16) for value in values]
        except ValueError:
            raise self.broken(message.sender) from None
        if len(numbers) != length:
            raise GivenUpError(
                f"Agency {message.sender!r} sent {len(numbers)} numbers instead of {length}."
            )
        if not all(0 <= number < modulus for number in numbers):
            raise self.broken(message.sender)
        return numbers

    def written(self, values: Sequence[int]) -> list[str]:
        """Return numbers as texts of one length, since the length of a message can be seen."""
        digits = -(-self.study.modulus_bits // 4)
        return [f"{value:0{digits}x}" for value in values]

    def broken(self, sender: str) -> GivenUpError:
        """Return the error for an agency that broke the protocol."""
        return GivenUpError(
            f"Agency {sender!r} did not keep to the protocol in round {self.number}. Check that "
            "all agencies run the same version of tablecloak."
        )

    def route(self, share: int) -> list[str]:
        """Return the route of a share, which follows from the study, so that no agency chooses."""
        order = routes(len(self.study.agencies), self.study.shares)[share]
        return [self.study.names[at] for at in order]

    def shares(self, question: str, argument: Floats | None) -> list[list[int]]:
        """Return this agency's answer, split into shares."""
        arithmetic, count = self.study.arithmetic, len(self.study.agencies)
        answer = encoded(self.agency, question, argument, arithmetic, count)
        return shares_of(answer, self.study.shares, arithmetic.modulus)


class _Leader(_Participant):
    """The first agency: it opens rounds, blinds its shares, and sends the sums to all."""

    async def begin(self) -> None:
        self.session = secrets.token_hex(16)
        await asyncio.gather(*(self._open(name) for name in self.study.names[1:]))

    async def _open(self, name: str) -> None:
        await self.wire.send(name, OpenMessage(**self.header()), patient=True)
        self.notify(f"agency {name} takes part")

    async def one_round(self, question: str, argument: Floats | None) -> Floats:
        parts = await in_thread(self.shares, question, argument)
        blinds = [await self._pass(at, part, question, argument) for at, part in enumerate(parts)]
        total = await self._collected(blinds)
        told = SumsMessage(**self.header(), values=self.written(total))
        for name in self.study.names[1:]:
            await self.wire.send(name, told)
        self.notify(f"round {self.number}: {len(total)} sums")
        return np.array([self.study.arithmetic.decode(value) for value in total])

    async def _pass(
        self, share: int, part: list[int], question: str, argument: Floats | None
    ) -> list[int]:
        """Send a share to the next agency, and return the random numbers that blind it."""
        modulus = self.study.arithmetic.modulus
        blind = [secrets.randbelow(modulus) for _ in part]
        route = self.route(share)
        message = PassMessage(
            **self.header(),
            question=question,
            argument=None if argument is None else [float(value) for value in argument],
            share=share,
            route=route,
            values=self.written(_added(blind, part, modulus)),
        )
        await self.wire.send(route[1], message)
        return blind

    async def _collected(self, blinds: list[list[int]]) -> list[int]:
        """Wait until every share has returned, and return the sum without the random numbers."""
        modulus, length = self.study.arithmetic.modulus, len(blinds[0])
        waiting = {share: self.route(share)[1:] for share in range(len(blinds))}
        last = {share: route[-1] for share, route in waiting.items()}
        total = [0] * length
        while waiting:
            late = next(route[0] for route in waiting.values())
            message = await self.next_message(f"Agency {late!r} was late in round {self.number}.")
            if not isinstance(message, PassMessage | PassedMessage) or message.share not in waiting:
                raise self.broken(message.sender)
            share = message.share
            if isinstance(message, PassedMessage):
                left = [name for name in waiting[share] if name != message.sender]
                waiting[share] = left or [last[share]]
                continue
            if message.sender != last[share]:
                raise self.broken(message.sender)
            values = self.numbers(message, message.values, length)
            total = [
                (t + v - b) % modulus for t, v, b in zip(total, values, blinds[share], strict=True)
            ]
            del waiting[share]
        return total


class _Follower(_Participant):
    """Any other agency: it adds its shares and passes the sums on."""

    async def begin(self) -> None:
        self.notify(f"agency {self.name} waits for agency {self.leader}")
        first = await self.next_message(f"Agency {self.leader!r} did not open the study.")
        if not isinstance(first, OpenMessage) or first.sender != self.leader:
            raise self.broken(first.sender)
        self.session = first.session

    async def one_round(self, question: str, argument: Floats | None) -> Floats:
        modulus = self.study.arithmetic.modulus
        parts: list[list[int]] | None = None
        done: set[int] = set()
        while True:
            message = await self.next_message(f"No agency sent anything in round {self.number}.")
            if isinstance(message, SumsMessage) and message.sender == self.leader:
                if parts is None or len(done) < self.study.shares:
                    raise self.broken(message.sender)
                total = self.numbers(message, message.values, len(parts[0]))
                self.notify(f"round {self.number}: {len(total)} sums")
                return np.array([self.study.arithmetic.decode(value) for value in total])
            if not isinstance(message, PassMessage) or message.share in done:
                raise self.broken(message.sender)
            after = self._successor(message)
            if message.question != question or not _same(message.argument, argument):
                raise GivenUpError(
                    f"Agency {self.name!r} was asked for something that is not in the study."
                )
            if parts is None:
                parts = await in_thread(self.shares, question, argument)
            done.add(message.share)
            values = self.numbers(message, message.values, len(parts[0]))
            passed = self.written(_added(values, parts[message.share], modulus))
            header = self.header()
            if after != self.leader:
                # The leader is told before the share is passed on, so that it learns of the steps
                # in the order of the route.
                await self.wire.send(self.leader, PassedMessage(**header, share=message.share))
            await self.wire.send(after, message.model_copy(update={**header, "values": passed}))

    def _successor(self, message: PassMessage) -> str:
        """Return the next agency on the route, after checking the route and the sender."""
        route = message.route
        if message.share >= self.study.shares or route != self.route(message.share):
            raise self.broken(message.sender)
        at = route.index(self.name)
        if route[at - 1] != message.sender:
            raise self.broken(message.sender)
        return route[(at + 1) % len(route)]


def _added(values: Sequence[int], part: Sequence[int], modulus: int) -> list[int]:
    return [(value + own) % modulus for value, own in zip(values, part, strict=True)]


def _same(given: Sequence[float] | None, computed: Floats | None) -> bool:
    """Whether a question's argument equals the computed one up to rounding."""
    if given is None or computed is None:
        return given is None and computed is None
    if len(given) != len(computed):
        return False
    return bool(np.allclose(given, computed, rtol=SAME_ARGUMENT, atol=SAME_ARGUMENT))
