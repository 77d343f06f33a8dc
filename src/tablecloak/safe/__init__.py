"""Outputs of researchers in a safe room: tables as pandas makes them, checked as one project."""

from tablecloak.safe.appetite import Appetite as Appetite
from tablecloak.safe.outcome import Outcome as Outcome
from tablecloak.safe.outcome import Reason as Reason
from tablecloak.safe.output import Output as Output
from tablecloak.safe.project import Project as Project
