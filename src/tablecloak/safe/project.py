"""A project: everything one researcher asks for, checked as one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.errors import InputError, listed
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.bundle import BundleFormat, require_file_name, write_bundle
from tablecloak.safe.ledger import BEGIN
from tablecloak.safe.origins import ProjectData
from tablecloak.safe.other.calls import OtherOutputs
from tablecloak.safe.output import Output
from tablecloak.safe.tables.calls import TableOutputs

NO_DATA = (
    "nobody said which data these are: ask whether each column tells of its own record alone, and "
    "not of a group's mean, the wave before, or a household"
)
"""What a checker is told where a project was begun without data."""


class Project(OtherOutputs, TableOutputs):
    """All outputs that one researcher makes from the same records.

    Parameters
    ----------
    appetite : Appetite, path or dict, optional
        Limits of the data centre: an `Appetite`, its YAML file, or limits by name.
    config : str, default="default"
        ACRO's name for the limits: "default", or the YAML file without its ending.
    contributor : Series or str, optional
        Who stands behind each record: a column of `data` by its name, or one with the index of the
        records. Without it each record is one contributor.
    data : DataFrame, str or Path, optional
        The file that all outputs are made from, or its whole frame. Its columns then say from the
        first output on which records are meant, and a column that is none of them, and no formula
        of them for each record, goes to review: it may tell of other records.
    suppress : bool, default=True
        Whether tables hide unsafe cells unless a call says otherwise.

    Notes
    -----
    Records are known by their index, as long as a column has the values it had before. Whoever
    renumbers them is found out: they are then known by all their values; see `safe.records`.
    """

    def __init__(
        self,
        appetite: Appetite | str | Path | dict[str, Any] | None = None,
        *,
        contributor: pd.Series[Any] | str | None = None,
        data: pd.DataFrame | str | Path | None = None,
        config: str = "default",
        suppress: bool = True,
    ) -> None:
        if config != "default":
            if appetite is not None:
                raise InputError("`config` names the limits: leave out `appetite`, or `config`")
            appetite = config if config.endswith((".yaml", ".yml")) else f"{config}.yaml"
        if appetite is None or isinstance(appetite, dict):
            appetite = Appetite.of(appetite or {})
        elif not isinstance(appetite, Appetite):
            appetite = Appetite.read(appetite)
        super().__init__(appetite, contributor, data)
        self.hides = suppress

    # -- data ------------------------------------------------------------------------------

    @property
    def data(self) -> pd.DataFrame:
        """A copy of the data, and of all that was computed with `compute`.

        Raises
        ------
        InputError
            If none were given.
        """
        return self._declared_data().frame.copy()

    def compute(self, name: str, formula: str) -> pd.Series[Any]:
        """Compute a column of the data for each record from its own columns alone.

        Outputs of the column pass as those of the data do; the checker is told the formula.

        Parameters
        ----------
        name : str
            What the column is called in later formulas, and in what the checker reads.
        formula : str
            Such as ``where(persons > 1, income / persons, income)``: columns, numbers of at most
            three digits, dates that begin or end a month, arithmetic, comparisons, ``and``, ``or``,
            ``not``, ``in [...]``, letters as in ``code[:2]``, and the functions of
            `safe.formulas.FUNCTIONS`.

        Returns
        -------
        Series
            With the index of the data.

        Raises
        ------
        InputError
            If no data were given, they have another column of that name, or the formula cannot be
            computed.
        """
        return self._declared_data().add(name, formula).copy()

    def _declared_data(self) -> ProjectData:
        if self.declared is None:
            raise InputError(f"the project has no data: begin it with {BEGIN}")
        return self.declared

    # -- outputs ---------------------------------------------------------------------------

    def output(self, name: str) -> Output:
        """Return an output by its name.

        Raises
        ------
        InputError
            If there is none.
        """
        if name not in self.outputs:
            known = listed(list(self.outputs)) or "none"
            raise InputError(f"there is no output {name!r}; the project has {known}")
        return self.outputs[name]

    def rename_output(self, old: str, new: str) -> None:
        """Give an output another name."""
        output = self.output(old)
        require_file_name(new, "the output", "its files are called by it")
        if new in self.outputs:
            raise InputError(f"there is an output {new!r} already: choose another name")
        output.name = new
        # Findings name the outputs they follow from. A name that is a word may be one in a text.
        word = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)")
        for each in self.outputs.values() if not old.isalpha() else ():
            each.outcome = each.outcome.with_text(lambda text: word.sub(lambda _: new, text))
        self.outputs = {new if name == old else name: kept for name, kept in self.outputs.items()}

    def remove_output(self, name: str) -> None:
        """Take an output back: it will not leave, and later ones are not compared with it.

        If it stands in a bundle already, it is compared with all the same.
        """
        self.output(name)
        del self.outputs[name]

    def add_comments(self, name: str, comment: str) -> None:
        """Tell the checker something about an output."""
        self.output(name).comments.append(comment)

    def add_exception(self, name: str, reason: str) -> None:
        """Ask for an output although it did not pass, and say why."""
        self.output(name).exception = reason

    # -- handing over -----------------------------------------------------------------------

    def print_outputs(self) -> str:
        """Print all outputs with what is said of them, and return what was printed."""
        told = "\n\n".join(one.told(self.said_of(one)) for one in self.outputs.values())
        print(told or "the project has no outputs")
        return told

    def finalise(
        self,
        path: str | Path = "outputs",
        ext: BundleFormat = "json",
        interactive: bool = False,
        *,
        overwrite: bool = False,
    ) -> Path:
        """Write everything the checker needs into one folder; see `safe.bundle.write_bundle`.

        Outputs that were rejected in an earlier bundle are left out.

        Parameters
        ----------
        path : str or Path, default="outputs"
            Folder that is made.
        ext : {"json", "xlsx"}, default="json"
            With "xlsx" there is a workbook as well.
        interactive : bool, default=False
            Whether to ask, for each output that did not pass, why it is wanted all the same.
        overwrite : bool, default=False
            Whether a bundle that nobody has decided on yet may be replaced. What stood in it counts
            as handed over all the same, since there may be copies.
        """
        if interactive:
            for output in self.outputs.values():
                if output.outcome.status != "pass" and not output.exception:
                    output.exception = input(f"{output.told()}\nWhy is it needed all the same? ")
        self.judged_anew()
        outputs = self.submitted()
        data = self.declared.said if self.declared is not None else NO_DATA
        folder = write_bundle(
            outputs, self.appetite, path, data=data, form=ext, overwrite=overwrite
        )
        before = self._bundles.get(folder.resolve(), {})
        self._replaced += [one for one in before.values() if one not in outputs.values()]
        self._bundles[folder.resolve()] = outputs
        return folder


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


def of_the_session(name: str) -> Any:
    """Return a call of the project of this session, such as `crosstab`; None if there is none."""
    is_call = any(name in vars(owner) for owner in (Project, OtherOutputs, TableOutputs))
    return None if name.startswith("_") or not is_call else getattr(project(), name)
