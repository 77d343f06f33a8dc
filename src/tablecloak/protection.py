"""The ways to protect a table: what each declares, and what everything else asks of it.

A way is one class in one file: of `tablecloak.protections`, or, for cell keys and noise of records,
of the folder `protections` beside their methods. It is the model of its section in a job file;
options of the command, inputs of the form and parameters of the service derive from the same
fields. Its hooks say how its releases are audited, explained, written, drawn, compared and
certified, so that nothing outside knows a way by name, or a release by its class::

    @PROTECTIONS.register
    class Rounding(Protection):
        "Round all cells to multiples of a base."

        name: ClassVar[str] = "rounding"
        releases: ClassVar[tuple[type, ...]] = (RoundedTable,)
        base: Annotated[int, Field(ge=2, description="Values become multiples of it.")] = 5

        def prepare(self, material): ...

Hooks on releases are class methods: a release that is given without its parameters is known by its
class. This module lies below all that asks, and names the package of the ways without importing it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Progress
from tablecloak.cta.risk.risk import TruthGuesses
from tablecloak.errors import InputError
from tablecloak.history import History
from tablecloak.registered import Section
from tablecloak.registry import Registry
from tablecloak.results import Result
from tablecloak.tables.changes.earlier_releases import Published
from tablecloak.tables.leaving import Leaving
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import Rule
from tablecloak.tables.table import SensitivityRule


class Judgement(Protocol):
    """An audit of any release, or what stands for one."""

    @property
    def is_safe(self) -> bool:
        """Whether every sensitive cell is protected, as far as that is promised."""
        ...

    def summary(self) -> str:
        """Say in one line how it went."""
        ...


class Search(Protocol):
    """A search that is ready to start: all that it needs has been read and checked."""

    def __call__(self, *, progress: Progress | None = None) -> Any:
        """Search, and return a verified release."""
        ...


def _no_column(name: str) -> Floats:
    raise InputError(f"There is no column {name!r}: the problem was given without its data.")


def _no_records() -> Any:
    raise InputError("Records are needed, but the problem was given without its data.")


@dataclass(frozen=True, eq=False)
class Records:
    """Records and the tables that are made of them.

    Parameters
    ----------
    data : object
        What `tabulate` accepts.
    tables : sequence of mapping
        Dimensions of each table.
    value : str or None
    weight : str or None
        Columns with the variable and with sampling weights.
    rules : sequence of rules
        Which cells get extra noise.
    decimals : int or None
        Digits to publish.
    engine : str
    """

    data: Any
    tables: Sequence[Mapping[str, Any]]
    value: str | None = None
    weight: str | None = None
    rules: Sequence[SensitivityRule[Any]] = ()
    decimals: int | None = None
    engine: str = "duckdb"


@dataclass(frozen=True, eq=False)
class Material:
    """What ways to protect work on: a table, and what else its data tell.

    Parameters
    ----------
    tabulated : callable
        Returns the problem. Ways that protect records never call it, and others call it once.
    parts : callable, optional
        Returns the problem of each variable, whose cells are those of the problem in this order;
        by default the problem alone.
    earlier : callable, optional
        Returns earlier releases that everybody has, or None.
    sums : callable, optional
        Returns the absolute sum of a column of the data in each cell, by its name.
    records : callable, optional
        Returns the records and the tables to be made of them.
    contributions : callable, optional
        Returns what each contributor adds to the table; None if the data do not tell.
    roles : sequence of str
        Roles of columns of the data, such as contributor.
    group_rules : sequence of Rule
        Rules that hold for sums of cells as well.
    floor, lower_factor : float
        How protection levels follow from rules; see `protect`.
    file : Path or None
        That of the data, for messages.
    unit : str
        Of the values.
    seed : int
    is_seeded : bool
        Whether the seed was chosen. One that is the same everywhere would be known to everybody.
    threads : int or None
    progress : callable, optional
        Called by attacks with stage, loss, bound and what is still open.
    """

    tabulated: Callable[[], ProtectionProblem]
    parts: Callable[[], tuple[ProtectionProblem, ...]] | None = None
    earlier: Callable[[ProtectionProblem], Published | None] | None = None
    sums: Callable[[str], Floats] = _no_column
    records: Callable[[], Any] = _no_records
    contributions: Callable[[], Any] = _no_records
    roles: Sequence[str] = ()
    group_rules: Sequence[Rule] = ()
    floor: float = 1.0
    lower_factor: float = 1.0
    file: Path | None = None
    unit: str = ""
    seed: int = 0
    is_seeded: bool = False
    threads: int | None = None
    progress: Progress | None = None

    @classmethod
    def of(cls, problem: ProtectionProblem, **others: Any) -> Material:
        """Return a problem alone."""
        return cls(lambda: problem, **others)

    @cached_property
    def problem(self) -> ProtectionProblem:
        """The table with its sensitive cells and levels."""
        return self.tabulated()

    @cached_property
    def published(self) -> Published | None:
        """Earlier releases."""
        return None if self.earlier is None else self.earlier(self.problem)

    @property
    def variables(self) -> tuple[ProtectionProblem, ...]:
        """The problem of each variable."""
        return (self.problem,) if self.parts is None else self.parts()

    @property
    def secret_seed(self) -> int | None:
        """The seed if one was chosen; else None, for one that nobody knows."""
        return self.seed if self.is_seeded else None


@dataclass(frozen=True)
class Attackers:
    """Who attacks releases in an audit besides the external intruder, and for how long.

    Parameters
    ----------
    intruders : sequence of str
    groups : sequence of Rule
        Rules that sums of hidden cells must satisfy as well.
    time_limit : float
    """

    intruders: Sequence[str] = ()
    groups: Sequence[Rule] = ()
    time_limit: float = np.inf


@dataclass(frozen=True, eq=False)
class Product:
    """A release with its audit and the history of its search.

    Parameters
    ----------
    release : release
        Of any way to protect.
    audit : audit or None
    history : History or None
    """

    release: Any
    audit: Any = None
    history: History | None = None

    @property
    def way(self) -> type[Protection]:
        """The way to protect that made the release."""
        return required_way(self.release)


class Protection(Section, BaseModel, ABC):
    """A way to protect a table; its fields are what a user may choose."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: ClassVar[str]
    """Of its section in a job file, its folder of a release, and of it in messages."""

    releases: ClassVar[tuple[type, ...]]
    """Classes of its releases.

    Each has its `problem`, or is made of records. `summary()` says in one line what was found,
    and `release()` returns the frame that may be published, which commands write and the service
    answers. What a search found is a `tablecloak.results.Result` as well, with loss and bound.
    """

    makers: ClassVar[str]
    """Functions that make such releases, for messages: "patterns of `suppress`"."""

    place: ClassVar[int] = 100
    """Position among the ways, wherever they are listed."""

    noun: ClassVar[str]
    """What people call it, in comparisons and reports; by default its name."""

    function: ClassVar[str] = ""
    """Public function of the package that does the same, for programs that the app writes."""

    command: ClassVar[str] = ""
    """Name of its command, if that is another than its own."""

    target: ClassVar[str] = "release"
    """Variable of such a program."""

    note: ClassVar[str] = ""
    """What figures mean that only its releases have, for pages that compare."""

    is_alone: ClassVar[bool] = False
    """Whether a job of it has no other way: its records are changed, not the table of them."""

    is_proved: ClassVar[bool] = True
    """Whether a safe audit proves protection from an external intruder."""

    needs_rules: ClassVar[bool] = True
    """Whether it protects the cells that rules find sensitive."""

    told_with: ClassVar[str] = ""
    """What readers are told beside the values, if bounds follow from both: "base"."""

    method_name: ClassVar[str] = ""
    """What readers are told of the method, if bounds follow from it."""

    sections: ClassVar[tuple[str, ...]] = ()
    """Further sections of a job file that are for it: published, transmission, derived."""

    kinds: ClassVar[tuple[str, Registry[Any]] | None] = None
    """Key and registry, if its section describes one of several registered kinds."""

    is_suggested: ClassVar[bool] = False
    """Whether it is ticked when a form is first shown."""

    is_on_bench: ClassVar[bool] = False
    """Whether it is offered beside others where a person works on a table."""

    @classmethod
    def __pydantic_init_subclass__(cls, **others: Any) -> None:
        super().__pydantic_init_subclass__(**others)
        if "name" in vars(cls) and "noun" not in vars(cls):
            cls.noun = cls.name

    # -- what a user asks for -----------------------------------------------------------------

    @classmethod
    def of_section(cls, given: Any) -> Protection:
        """Read the section of a job file."""
        return cls.model_validate(given)

    @classmethod
    def section_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of the section."""
        return cls.model_json_schema()

    def as_section(self) -> dict[str, Any]:
        """Return what `of_section` reads."""
        return self.model_dump(mode="json")

    @property
    def paths(self) -> list[Path]:
        """Files that it reads."""
        return []

    def below(self, folder: Path) -> Protection:
        """Return the same with paths relative to a folder."""
        del folder
        return self

    def check(self, job: Any) -> None:
        """Refuse a job that it does not fit.

        Raises
        ------
        ValueError
            Says why, and what to change.
        """
        del job

    @classmethod
    def unfit(cls, problem: ProtectionProblem) -> str:
        """Return why it does not fit a table; nothing if it does."""
        del problem
        return ""

    @classmethod
    def program(cls, options: dict[str, Any], roles: Sequence[str]) -> dict[str, Any]:
        """Return the arguments of `function` for a section of a job on data with some roles."""
        del roles
        return options

    # -- what it does -------------------------------------------------------------------------

    @abstractmethod
    def prepare(self, material: Material) -> Search:
        """Read and check all that is asked, and return the search, which is yet to start.

        Raises
        ------
        TablecloakError
            If the material lacks something.
        """

    def run(self, material: Material, progress: Progress | None = None) -> Any:
        """Protect, and return a verified release."""
        return self.prepare(material)(progress=progress)

    def protects_against(self, material: Material) -> list[str]:
        """Return the kinds of insiders against whom a release is to protect."""
        del material
        return []

    def kept_out(self, material: Material, attackers: Attackers) -> list[str]:
        """Return the kinds of insiders whose attacks must fail before a release counts as safe."""
        del material
        return list(attackers.intruders)

    def on_bench(self, material: Material, before: Any, progress: Progress) -> Any:
        """Protect beside other ways that a person looks at.

        Parameters
        ----------
        material : Material
            Its problem has the decisions of the person, and the costs that count.
        before : release or None
            What the way made of the table before some of these decisions.
        progress : callable
        """
        del before
        return self.run(material, progress)

    @abstractmethod
    def audited(self, release: Any, material: Material, attackers: Attackers) -> Judgement:
        """Attack a release as a stranger would, or measure its risk where nothing is proved."""

    # -- what a release tells -----------------------------------------------------------------

    @classmethod
    def hidden(cls, release: Any) -> Flags | None:
        """Return the cells of which readers see no value; None if all have one."""
        del release
        return None

    @classmethod
    def intervals(cls, release: Any) -> tuple[Floats, Floats] | None:
        """Return the ends of what each published cell stands for; None if it stands for itself."""
        del release
        return None

    @classmethod
    def values(cls, release: Any) -> Floats | None:
        """Return the values that readers see instead of true ones; None if these are shown."""
        del release
        return None

    def told_by_values(self, problem: ProtectionProblem, values: Floats) -> tuple[Floats, Floats]:
        """Return the ends of what values of anybody tell, if they were made with `told_with`.

        Raises
        ------
        InputError
            If they cannot have been made so; names the first cell.
        """
        raise NotImplementedError

    @classmethod
    @abstractmethod
    def leaving(cls, release: Any) -> Leaving:
        """Return what leaves the office."""

    @classmethod
    def secrets(
        cls, product: Product
    ) -> Iterator[tuple[str, pd.DataFrame | Callable[[Path], object]]]:
        """Yield the files of the internal folder: a name, and a frame or what writes it."""
        yield from ()
        del product

    @classmethod
    def certificate(cls, product: Product) -> Any:
        """Return what proves the release, as `write_certificate` takes it; None if nothing does."""
        del product

    # -- what is said of it -------------------------------------------------------------------

    @classmethod
    def lines(cls, product: Product) -> Iterator[str]:
        """Yield what was done, and how the audit went. Secret."""
        release = product.release
        yield release.verdict() if isinstance(release, Result) else release.summary()
        if product.audit is not None:
            yield product.audit.summary()

    @classmethod
    def promise(cls) -> str:
        """Return what is proved of a safe release, and what is not; empty where nothing is."""
        promises = (getattr(release, "promise", "") for release in cls.releases)
        return next(filter(None, promises), ATTACKED) if cls.is_proved else ""

    @classmethod
    def statements(cls, product: Product) -> Iterator[str]:
        """Yield sentences about a safe release beyond its promise."""
        yield from ()
        del product

    @classmethod
    def refusal(cls, product: Product) -> str:
        """Return what is said of a release that is not safe."""
        del product
        return "NOT SAFE: see the audit in the internal folder."

    @classmethod
    def summary(cls, product: Product) -> str:
        """Say in one line what was found. Secret."""
        return str(product.release.summary())

    @classmethod
    def describe(cls, page: Any, problem: ProtectionProblem, product: Product) -> None:
        """Add what those who made a release want to see of it to a page. Secret.

        Parameters
        ----------
        page : tablecloak.render.page.Page
        problem : ProtectionProblem
            As it was asked; that of the release may have more cells.
        product : Product
        """
        del page, problem, product

    @classmethod
    def report(cls, product: Product, title: str, settings: pd.DataFrame, source: str) -> Any:
        """Return a page of its own where the usual report does not fit; else None."""
        del product, title, settings, source

    @classmethod
    def answer(cls, product: Product, problem: ProtectionProblem) -> pd.DataFrame:
        """Return what the service tells of each cell: by default true and released values. Secret.

        Parameters
        ----------
        product : Product
        problem : ProtectionProblem
            As it was asked; that of the release may have more cells.
        """
        table, values = problem.table, cls.values(product.release)
        frame = table.to_frame()
        if values is not None:
            frame = frame.assign(released=values[: table.n_cells])
        return frame[~table.rests]

    # -- how it is explained ------------------------------------------------------------------

    @classmethod
    def searched(cls, release: Any) -> ProtectionProblem | None:
        """Return the problem of the search where it tells more than the one that was given."""
        del release
        return None

    @classmethod
    def open_insiders(cls, release: Any) -> int:
        """Return how many insiders succeed, or are not settled, against whom it was to hold."""
        del release
        return 0

    @classmethod
    def insiders(cls, release: Any) -> Sequence[str]:
        """Return the kinds of insiders against whom a release was asked to protect."""
        del release
        return ()

    @classmethod
    def question(cls, release: Any, intruders: Sequence[Any], budget: Any) -> Any:
        """Return the question of an explanation that knows the proofs of a release, or None."""
        del release, intruders, budget

    @classmethod
    def explained(cls, release: Any, question: Any, cell: int) -> Any:
        """Return an explanation of its own for a cell, or None for the usual one."""
        del release, question, cell

    # -- how it is compared -------------------------------------------------------------------

    @classmethod
    def methods(cls, time_limit: float) -> Mapping[str, Callable[[ProtectionProblem], Any]]:
        """Return the methods that are compared by default, by their names."""
        del time_limit
        return {}

    @classmethod
    def methods_for_counts(
        cls, time_limit: float
    ) -> Mapping[str, Callable[[ProtectionProblem], Any]]:
        """Return the methods that are compared as well if the table is one of counts."""
        del time_limit
        return {}

    @classmethod
    def methods_for_records(cls, records: Any) -> Mapping[str, Callable[[ProtectionProblem], Any]]:
        """Return the methods that are compared as well if the records of the table are given."""
        del records
        return {}

    @classmethod
    def ends(cls, release: Any) -> tuple[Floats, Floats]:
        """Return between which values each cell lies for a reader, shape (n_cells,) each."""
        shown = np.asarray(cls.values(release), dtype=np.float64)
        return shown, shown

    @classmethod
    @abstractmethod
    def protects(
        cls, problem: ProtectionProblem, release: Any, lower: Floats, upper: Floats
    ) -> bool:
        """Tell whether a release protects every sensitive cell as a problem asks.

        Parameters
        ----------
        problem : ProtectionProblem
            Its levels count, also if the release was made for others.
        release : release
        lower, upper : numpy.ndarray of float, shape (n_cells,)
            What `ends` returns.
        """

    @classmethod
    def lost(cls, release: Any, shown: Floats) -> tuple[Flags, Floats]:
        """Return which cells are published exactly, and how much of each value is lost.

        Parameters
        ----------
        release : release
        shown : numpy.ndarray of float, shape (n_cells,)
            What the analyst sees.
        """
        problem = release.problem
        change = np.abs(shown - problem.table.values)
        return change <= UNCHANGED * problem.unit, change

    @classmethod
    def possible(
        cls, release: Any, lower: Floats, upper: Floats, time_limit: float
    ) -> tuple[Integers, Integers] | tuple[Floats, Floats] | None:
        """Return between which whole numbers each true count lies for an intruder.

        Parameters
        ----------
        release : release
            Of a table of counts.
        lower, upper : numpy.ndarray of float, shape (n_cells,)
            What `ends` returns.
        time_limit : float
            Seconds.

        Returns
        -------
        lower, upper : numpy.ndarray of int, shape (n_cells,)
            Only those of sensitive cells need be narrow. None if the method tells nothing of how
            far true counts can lie from published ones.
        """
        del release, lower, upper, time_limit
        return None

    @classmethod
    def figures(cls, problem: ProtectionProblem, release: Any) -> dict[str, float]:
        """Return figures that only its releases have; others have NaN.

        Parameters
        ----------
        problem : ProtectionProblem
            Its levels count, also if the release was made for others.
        release : release
        """
        del problem, release
        return {}

    @classmethod
    def guesses(cls, release: Any, shown: Floats, *, knows: str, time_limit: float) -> TruthGuesses:
        """Return an intruder's guesses of the sensitive cells; by default what the analyst sees."""
        del knows, time_limit
        return TruthGuesses(release.problem, shown[release.problem.sensitive])


ATTACKED = "An attack by an external intruder found every sensitive cell protected."
"""What is said of safe releases that promise nothing themselves."""

UNCHANGED = 1e-9
"""Change, as a share of the median level, below which a value counts as published exactly."""

PROTECTIONS: Registry[Protection] = Registry(
    "way to protect",
    (
        "tablecloak.protections",
        "tablecloak.cellkey.protections",
        "tablecloak.microdata.protections",
    ),
    order=lambda way: way.place,
)
"""All ways, by name."""


def usual_way() -> type[Protection]:
    """Return the way that is taken where none is asked for."""
    return next(way for way in PROTECTIONS if way.is_suggested)


def made_by(given: Protection | str) -> Protection:
    """Return the way that made the values of a file, such as that of "rounding:5".

    Raises
    ------
    InputError
        If there is no such way, or what its readers are told lacks.
    """
    if isinstance(given, Protection):
        return given
    name, _, text = given.partition(":")
    names = [way.name for way in PROTECTIONS if way.told_with]
    if name not in names or not text:
        forms = " or ".join(f"{way}:{PROTECTIONS[way].told_with}" for way in names)
        raise InputError(f"{given!r} does not say how values were made. Give {forms}.")
    number = int(text) if text.isdecimal() else text
    return PROTECTIONS.build(name, **{PROTECTIONS[name].told_with: number})


def made_as(about: Mapping[str, Any]) -> str | None:
    """Return how values were made by what readers are told of a release, as in "rounding:5"."""
    for way in PROTECTIONS:
        if way.told_with in about and about.get("method") == way.method_name:
            return f"{way.name}:{about[way.told_with]}"
    return None


def way_of(release: object) -> type[Protection] | None:
    """Return the way that makes such releases, or None."""
    return next((way for way in PROTECTIONS if isinstance(release, way.releases)), None)


def required_way(release: object, what: str = "is used here") -> type[Protection]:
    """Return the way that makes such releases.

    Raises
    ------
    InputError
        If there is none; lists what can be given.
    """
    way = way_of(release)
    if way is None:
        *first, last = [sibling.makers for sibling in PROTECTIONS]
        raise InputError(
            f"A {type(release).__name__} cannot be {what}; give {', '.join(first)}, or {last}."
        )
    return way
