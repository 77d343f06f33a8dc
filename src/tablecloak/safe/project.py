"""A project: everything one researcher asks for, checked as one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Integers
from tablecloak.errors import InputError, listed
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.bundle import BundleFormat, write_bundle
from tablecloak.safe.checking.names import require_file_name
from tablecloak.safe.figures import Figures
from tablecloak.safe.joint.audit import JointAudit
from tablecloak.safe.joint.finding import Finding
from tablecloak.safe.other.calls import OtherOutputs
from tablecloak.safe.outcome import Outcome, Reason
from tablecloak.safe.output import Output
from tablecloak.safe.tables.calls import TableOutputs


class Project(OtherOutputs, TableOutputs):
    """All outputs that one researcher makes from the same records.

    Parameters
    ----------
    appetite : Appetite, path or dict, optional
        Limits of the data centre: an `Appetite`, its YAML file, or limits by name.
    contributor : Series, optional
        Who stands behind each record, with the index of the records. Without it each record is
        one contributor.

    Notes
    -----
    Records are known by their index: whoever filters a frame keeps it, and an output of a filtered
    frame is then compared with those of the whole. If a column comes again with other values at the
    same index, records were renumbered; the output is then sent to review.
    """

    def __init__(
        self,
        appetite: Appetite | str | Path | dict[str, Any] | None = None,
        *,
        contributor: pd.Series[Any] | None = None,
    ) -> None:
        self.appetite = _appetite(appetite)
        self.outputs: dict[str, Output] = {}
        self._index = pd.Index([])
        self._columns: dict[str, pd.Series[Any]] = {}
        self._contributor = contributor
        self._joint = JointAudit(self.appetite)
        self._n_named = 0
        self._bundles: dict[Path, list[Output]] = {}

    # -- records ----------------------------------------------------------------------------

    def positions(self, index: pd.Index) -> Integers:
        """Return where records stand in the project; records seen for the first time are added.

        Raises
        ------
        InputError
            If a label of the index occurs twice.
        """
        if not index.is_unique:
            twice = index[index.duplicated()][0]
            raise InputError(
                f"the index has {twice!r} more than once, so that records cannot be told apart: "
                "call reset_index(drop=True) once on the whole frame, before it is filtered"
            )
        found = self._index.get_indexer(index)
        if (found < 0).any():
            fresh = index[found < 0]
            self._index = fresh if self._index.empty else self._index.append(fresh)
            found = self._index.get_indexer(index)
        return np.asarray(found, dtype=np.int64)

    def renumbered(self, columns: Sequence[pd.Series[Any]]) -> list[Reason]:
        """Return reasons for review where a column has other values than before."""
        reasons = []
        for column in columns:
            name = str(column.name)
            known = self._columns.get(name)
            if known is None:
                self._columns[name] = column
                continue
            common = column.index.intersection(known.index)
            now, before = column.reindex(common), known.reindex(common)
            is_same = (now.astype(object) == before.astype(object)) | (now.isna() & before.isna())
            if not bool(is_same.all()):
                reasons.append(
                    Reason(
                        "review",
                        "records",
                        f"{name} has other values at {int((~is_same).sum())} records than in an "
                        "earlier output: records were renumbered, or the column was changed under "
                        "its old name, so that outputs cannot be compared",
                    )
                )
            elif len(column) > len(known):
                self._columns[name] = column
        return reasons

    @property
    def contributors(self) -> Integers | None:
        """Code of the contributor of each record of the project; None if records contribute."""
        if self._contributor is None:
            return None
        given = self._contributor.reindex(self._index)
        if given.isna().any():
            missing = self._index[given.isna()][:3].tolist()
            raise InputError(f"no contributor is given for the records {listed(missing)}")
        return pd.factorize(given)[0].astype(np.int64)

    # -- outputs ----------------------------------------------------------------------------

    def findings(self, figures: Sequence[Figures]) -> tuple[list[Finding], list[str]]:
        """Return what figures disclose together with all outputs so far, and what is undecided."""
        own = list(self.outputs.values())
        # What a checker was given may leave, even if it was taken back since.
        given = [each for some in self._bundles.values() for each in some if each not in own]
        earlier = {f"{each.name} (handed over)": each.figures for each in given if each.figures}
        earlier |= {name: each.figures for name, each in self.outputs.items() if each.figures}
        return self._joint.findings(
            figures, earlier, n_records=len(self._index), contributors=self.contributors
        )

    def record(
        self,
        kind: str,
        command: str,
        outcome: Outcome,
        *,
        frames: Sequence[pd.DataFrame] = (),
        figures: Sequence[Figures] = (),
        files: Sequence[Path] = (),
        properties: dict[str, Any] | None = None,
        cells: dict[str, list[list[int]]] | None = None,
    ) -> Output:
        """Add an output whose outcome is settled, under the next name."""
        name = f"output_{self._n_named}"
        self._n_named += 1
        output = Output(
            name,
            kind,
            command,
            outcome,
            tuple(frames),
            tuple(figures),
            tuple(files),
            properties or {},
            cells or {},
            timestamp=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        self.outputs[name] = output
        return output

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
        told = "\n\n".join(output.told() for output in self.outputs.values())
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

        Parameters
        ----------
        path : str or Path, default="outputs"
            Folder that is made.
        ext : {"json", "xlsx"}, default="json"
            With "xlsx" there is a workbook as well.
        interactive : bool, default=False
            Whether to ask, for each output that did not pass, why it is wanted all the same.
        overwrite : bool, default=False
            Whether a bundle that nobody has decided on yet may be replaced.
        """
        if interactive:
            for output in self.outputs.values():
                if output.outcome.status != "pass" and not output.exception:
                    output.exception = input(f"{output.told()}\nWhy is it needed all the same? ")
        folder = write_bundle(self.outputs, self.appetite, path, form=ext, overwrite=overwrite)
        self._bundles[folder.resolve()] = list(self.outputs.values())
        return folder


def _appetite(given: Appetite | str | Path | dict[str, Any] | None) -> Appetite:
    if given is None:
        return Appetite()
    if isinstance(given, Appetite):
        return given
    if isinstance(given, dict):
        return Appetite.of(given)
    return Appetite.read(given)
