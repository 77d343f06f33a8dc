"""Outputs of researchers in a safe room: tables as pandas makes them, checked as one project."""

from tablecloak.safe.appetite import Appetite as Appetite
from tablecloak.safe.output import Outcome as Outcome
from tablecloak.safe.output import Output as Output
from tablecloak.safe.output import Reason as Reason
from tablecloak.safe.project import Project as Project
from tablecloak.safe.tables.publishing import SafeFrame as SafeFrame

from tablecloak.safe.project import crosstab as crosstab  # isort: skip
from tablecloak.safe.project import new_project as new_project  # isort: skip
from tablecloak.safe.project import pivot_table as pivot_table  # isort: skip
from tablecloak.safe.project import project as project  # isort: skip

from tablecloak.safe.project import OF_THE_SESSION  # isort: skip


def __getattr__(name: str) -> object:
    """Return a call of the project of this session, such as ``safe.finalise``."""
    if name in OF_THE_SESSION:
        return getattr(project(), name)
    raise AttributeError(f"module 'tablecloak.safe' has no attribute {name!r}")
