"""Messages between agencies; docs/secure-sums.md describes their format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

__all__ = [
    "AnyMessage",
    "GivenUpError",
    "Message",
    "Open",
    "Pass",
    "Passed",
    "Stop",
    "Sums",
    "read",
]

PROTOCOL: Final = "tablecloak-sums/1"
"""Name and version of the protocol, which every message carries."""


class Message(BaseModel):
    """Fields of every message."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    protocol: Literal["tablecloak-sums/1"] = PROTOCOL
    study: str = Field(min_length=64, max_length=64)
    session: str = Field(max_length=64)
    sender: str = Field(max_length=100)
    round: int = Field(ge=0, le=1000)


class Open(Message):
    """The leader opens a session."""

    kind: Literal["open"] = "open"


class Pass(Message):
    """Blinded partial sums on their way around the ring."""

    kind: Literal["pass"] = "pass"
    question: str = Field(max_length=20)
    argument: list[float] | None
    share: int = Field(ge=0)
    route: list[str]
    values: list[str]


class Passed(Message):
    """Tells the leader that an agency passes a share on."""

    kind: Literal["passed"] = "passed"
    share: int = Field(ge=0)


class Sums(Message):
    """The sums of a round, from the leader to all agencies."""

    kind: Literal["sums"] = "sums"
    values: list[str]


class Stop(Message):
    """Ends the study for all agencies."""

    kind: Literal["stop"] = "stop"
    reason: str = Field(max_length=300)


AnyMessage = Annotated[Open | Pass | Passed | Sums | Stop, Field(discriminator="kind")]
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
