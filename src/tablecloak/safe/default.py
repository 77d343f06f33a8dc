"""The project of a session: what `safe.crosstab` and the like belong to."""

from __future__ import annotations

from typing import Any

from tablecloak.safe.project import Project
from tablecloak.safe.tables.frame import SafeFrame

_current: list[Project] = []


def project() -> Project:
    """Return the project of this session; it is begun with default limits if there is none."""
    if not _current:
        new_project()
    return _current[0]


def new_project(appetite: Any = None, **options: Any) -> Project:
    """Begin another project for this session; see `Project`."""
    _current[:] = [Project(appetite, **options)]
    return _current[0]


def crosstab(*arguments: Any, project: Project | None = None, **options: Any) -> SafeFrame:
    """`Project.crosstab` of a project, by default that of this session."""
    return (project or _session()).crosstab(*arguments, **options)


def pivot_table(*arguments: Any, project: Project | None = None, **options: Any) -> SafeFrame:
    """`Project.pivot_table` of a project, by default that of this session."""
    return (project or _session()).pivot_table(*arguments, **options)


_session = project

OF_THE_SESSION = frozenset(
    {
        "add_comments", "add_exception", "corr", "custom_output", "extremes", "finalise",
        "histogram", "logit", "logitr", "ols", "olsr", "pie", "print_outputs", "probit", "probitr",
        "quantile", "regression", "remove_output", "rename_output", "surv_func",
    }
)  # fmt: skip
"""Calls of `Project` that are also calls of the safe room: those of the project of the session."""
