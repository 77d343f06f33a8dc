"""Several methods, one after the other, as one method."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pandas as pd
from pydantic import Field

from tablecloak.errors import InputError
from tablecloak.microdata.methods.method import Columns, Method, Release
from tablecloak.microdata.telling_columns import TellingColumnWarning


@dataclass(frozen=True, eq=False)
class ChainRelease:
    """Records after the last of several methods.

    Parameters
    ----------
    frame : pandas.DataFrame
    steps : tuple of Release
        The release of each method; only that of the last may be published.
    notes : tuple of str
        Promises of a method that a later one may have broken.
    """

    frame: Any
    steps: tuple[Release, ...]
    notes: tuple[str, ...]

    def summary(self) -> str:
        """Return the summaries of all steps, and the promises that may be broken, in one line."""
        return "; ".join([*(step.summary() for step in self.steps), *self.notes])


@dataclass(frozen=True)
class Chain(Method[ChainRelease]):
    """Protect records by several methods, one after the other.

    Parameters
    ----------
    steps : sequence of Method
        Each protects what the one before it released. Random numbers of all of them come from one
        seed.

    Raises
    ------
    InputError
        If there is no step, or a step is no method.

    Notes
    -----
    A method of which the release has `verify`, such as `LocalSuppression`, promises something of
    its keys. If a later step changes one of them, the release says that the promise was made
    before. Name such a method last.

    Examples
    --------
    >>> import pandas as pd
    >>> from tablecloak.microdata import Chain, CovarianceNoise, Topcoding
    >>> staff = pd.DataFrame({"age": [30, 41, 52, 97], "wage": [21.0, 34.0, 28.0, 25.0]})
    >>> both = Chain([Topcoding("age", threshold=80), CovarianceNoise(["wage"], 0.1)])
    >>> both.protect(staff, seed=1).frame.age.tolist()
    [30, 41, 52, 80]
    """

    name: ClassVar[str] = "chain"

    steps: Annotated[Sequence[Method[Any]], Field(description="Methods, the first one first.")]

    def __post_init__(self) -> None:
        super().__post_init__()
        odd = [each for each in self.steps if not isinstance(each, Method)]
        if odd or not self.steps:
            got = f"Got {odd[0]!r}." if odd else "Got none."
            raise InputError(f"`steps` must be a list of one or more methods for records. {got}")

    def uses(self, known: Sequence[str]) -> Columns:
        """Return what the steps use together; a column that one step reads as numbers is read so.

        Raises
        ------
        InputError
            If steps change units of different kinds, such as households and records.
        """
        parts = [step.uses(known) for step in self.steps]
        numbers = _all([part.numbers for part in parts])
        return Columns(
            changed=_all([part.changed for part in parts]),
            categories=[
                name for name in _all([part.categories for part in parts]) if name not in numbers
            ],
            numbers=numbers,
            keys=_all([part.keys for part in parts]),
            unit=next((part.unit for part in parts if part.unit is not None), None),
            sensitive=_all([part.sensitive for part in parts]),
            weight=next((part.weight for part in parts if part.weight is not None), None),
        )

    def apply(self, frame: pd.DataFrame, random: Any) -> ChainRelease:
        """Protect the records by each method in turn.

        Raises
        ------
        TablecloakError
            As the step raises it, with the step's number and name in front.
        """
        known = [str(name) for name in frame.columns]
        releases: list[Release] = []
        notes = []
        promised: dict[str, set[str]] = {}
        current = frame
        for number, step in enumerate(self.steps, start=1):
            try:
                with warnings.catch_warnings():
                    # What the last release tells is said of all steps together.
                    warnings.simplefilter("ignore", TellingColumnWarning)
                    release = step.protect(current, seed=random)
            except InputError as error:
                raise InputError(f"Step {number} ({step.name}): {error}") from None
            columns = step.uses(known)
            for earlier, keys in promised.items():
                broken = sorted(keys & set(columns.changed))
                if broken:
                    notes.append(
                        f"step {number} ({step.name}) changed {', '.join(broken)} after {earlier}, "
                        "whose promise held before"
                    )
            if hasattr(release, "verify"):
                promised[f"step {number} ({step.name})"] = set(columns.keys or columns.changed)
            releases.append(release)
            current = release.frame
        return ChainRelease(current, tuple(releases), tuple(notes))


def _all(parts: Sequence[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part))
