"""Outputs of researchers in a safe room: tables as pandas makes them, checked as one project."""

from typing import Any

from tablecloak.safe.appetite import Appetite as Appetite
from tablecloak.safe.output import Outcome as Outcome
from tablecloak.safe.output import Output as Output
from tablecloak.safe.output import Reason as Reason
from tablecloak.safe.project import Project as Project
from tablecloak.safe.tables.publishing import SafeFrame as SafeFrame

from tablecloak.safe.project import new_project as new_project  # isort: skip
from tablecloak.safe.project import of_the_session  # isort: skip
from tablecloak.safe.project import project as project  # isort: skip


def __getattr__(name: str) -> Any:
    """Return a call of the project of this session, such as ``safe.finalise``."""
    call = of_the_session(name)
    if call is None:
        raise AttributeError(f"module 'tablecloak.safe' has no attribute {name!r}")
    return call
