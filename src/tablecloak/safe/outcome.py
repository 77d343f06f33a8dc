"""What is said of an output: pass, review or fail, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import pandas as pd

Status = Literal["pass", "review", "fail"]
ORDER: tuple[Status, ...] = ("pass", "review", "fail")


@dataclass(frozen=True)
class Reason:
    """Why an output, or a cell of it, is not simply passed.

    Parameters
    ----------
    status : {"review", "fail"}
        "fail" if something would be disclosed; "review" if a person has to decide.
    rule : str
        Short name of what was broken: "threshold", "p-ratio", "nk-rule", "missing", "zeros",
        "differencing", "degrees of freedom".
    text : str
        One sentence for the checker. It names numbers of contributors, never their values.
    cells : tuple of str, default=()
        Labels of the cells it concerns; none if it concerns the whole output.
    """

    status: Status
    rule: str
    text: str
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The verdict on one output.

    Parameters
    ----------
    reasons : tuple of Reason
        Everything that speaks against the output as it would leave.
    notes : tuple of str, default=()
        What was done and what was proved: cells hidden, intervals proved, what was not searched.
    cells : DataFrame, optional
        Shaped like the output: what was found of each cell before it was protected, "ok" or the
        rules it broke, joined by "; ".
    """

    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    cells: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def status(self) -> Status:
        """The worst status of all reasons; "pass" if there are none."""
        return max((reason.status for reason in self.reasons), key=ORDER.index, default="pass")

    @property
    def summary(self) -> str:
        """One line: the status and why."""
        said = [reason.text for reason in self.reasons] or list(self.notes[:1])
        return "; ".join([self.status, *said])

    def with_text(self, said: Callable[[str], str]) -> Outcome:
        """Return the outcome with its sentences said anew, as after an output was renamed."""
        reasons = tuple(replace(reason, text=said(reason.text)) for reason in self.reasons)
        return Outcome(reasons, tuple(map(said, self.notes)), self.cells)
