"""What a call is: a name, the keys that its request may have, and its answer.

A request is a table of JSON. Its keys are sections of a job file, which are read as in a job file,
``files`` (tables and texts, by the names under which the job speaks of them), and parameters of
the call. All three are declared where they are defined: sections by `tablecloak.jobs.schema`,
parameters by the class of the call. Checks, messages, help and the OpenAPI description follow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, get_type_hints

from tablecloak.budget import Progress
from tablecloak.jobs.schema import Job
from tablecloak.registry import Registry

SOURCE = (
    "title", "seed", "solver", "threads", "data", "dimensions", "tables", "variables", "equations",
    "rules", "protection",
)  # fmt: skip
"""Keys of a job file that say what the true table is and which cells are sensitive."""


@dataclass(frozen=True)
class CallQuestion:
    """What a call is asked, besides its parameters.

    Parameters
    ----------
    folder : Path
        Private folder with the files of the request, for this question alone.
    given : Job or None
        The job; None for a call without sections of a job file.
    progress : callable, optional
        Told all reports of a search.
    """

    folder: Path
    given: Job | None = None
    progress: Progress | None = None

    @property
    def job(self) -> Job:
        """The job that the sections of the request describe."""
        assert self.given is not None
        return self.given


@dataclass(frozen=True, kw_only=True)
class Call(ABC):
    """Base class of all calls; the fields of a call are its own parameters.

    Attributes
    ----------
    name : str
        Class variable: the last part of its address.
    sections : tuple of str
        Class variable: keys of a job file that a request may have; with them goes ``files``.
    assumed : tuple of str
        Class variable: sections that are there, with all their defaults, if a request has none.
    """

    name: ClassVar[str]
    sections: ClassVar[tuple[str, ...]] = ()
    assumed: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def of_job(cls) -> tuple[str, ...]:
        """Return the keys of a job file that a request may have."""
        return cls.sections

    @classmethod
    def answer_type(cls) -> Any:
        """Return the type of the answer, which the OpenAPI description is made of."""
        return get_type_hints(cls.answer, include_extras=True)["return"]

    @abstractmethod
    def answer(self, question: CallQuestion) -> Mapping[str, Any]:
        """Return the answer, in types of JSON. Its type is described in `/openapi.json`.

        Raises
        ------
        TablecloakError
            If the question cannot be answered.
        """


CALLS: Registry[Call] = Registry("call", "tablecloak.service.calls")
"""All calls, by name."""
