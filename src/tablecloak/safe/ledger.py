"""The records of a project and the outputs made of them, each compared with all earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Integers
from tablecloak.errors import InputError, listed
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.joint.audit import JointAudit
from tablecloak.safe.joint.disclosure import Disclosure
from tablecloak.safe.output import Figures, Outcome, Output, Reason


class Ledger:
    """What every call of a project needs: who stands behind records, and all outputs so far.

    Parameters
    ----------
    appetite : Appetite
    contributor : Series, optional
        Who stands behind each record, with the index of the records. Without it each record is
        one contributor.
    """

    def __init__(self, appetite: Appetite, contributor: pd.Series[Any] | None) -> None:
        self.appetite = appetite
        self.outputs: dict[str, Output] = {}
        self._index = pd.Index([])
        self._columns: dict[str, pd.Series[Any]] = {}
        self._contributor = contributor
        self._joint = JointAudit(appetite)
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

    def findings(self, figures: Sequence[Figures]) -> tuple[list[Disclosure], list[str]]:
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
