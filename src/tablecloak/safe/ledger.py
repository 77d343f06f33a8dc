"""The records of a project and the outputs made of them, each compared with all earlier ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import AnyIntegers, Integers
from tablecloak.errors import InputError, listed
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.decisions import decision_in
from tablecloak.safe.echoes import Echoes
from tablecloak.safe.joint.audit import JointAudit
from tablecloak.safe.joint.disclosure import HANDED_OVER, Disclosure, failures
from tablecloak.safe.joint.waves import varying, waves_of
from tablecloak.safe.origins import ProjectData
from tablecloak.safe.output import RENUMBERED, Figures, Outcome, Output, Reason
from tablecloak.safe.records import IdentifiedRecords, KnownRecords
from tablecloak.safe.values import in_order, may_be_amounts, shared_by_all

BEGIN = "Project(data=...), with the file or the whole frame"

KEEP = (
    "keep the index of the whole frame when it is merged, sorted or filtered, and begin with "
    "Project(data=frame), or set the person as index and give Project(contributor=...)"
)


class Ledger:
    """What every call of a project needs: who stands behind records, and all outputs so far.

    Parameters
    ----------
    appetite : Appetite
    contributor : Series or str, optional
        Who stands behind each record: a column of the data by its name, or one with the index of
        the records. Without it each record is one contributor.
    data : DataFrame, str or Path, optional
        The frame or file that all outputs are made from.

    Raises
    ------
    InputError
        If `contributor` is no column, or `data` neither, or its index has a label twice.
    """

    def __init__(self, appetite: Appetite, contributor: Any, data: Any = None) -> None:
        self.declared = ProjectData(data) if data is not None else None
        if self.declared is not None and isinstance(contributor, str):
            contributor = self.declared[contributor]
        if not isinstance(contributor, pd.Series | None):
            column = repr(contributor) if isinstance(contributor, str) else "..."
            raise InputError(
                "contributor is no column with the index of the records: give it as "
                f"contributor=data[{column}], of the frame that the outputs are made from"
            )
        self.appetite = appetite
        self.outputs: dict[str, Output] = {}
        self.hides = True
        self._records = KnownRecords()
        self._contributor: pd.Series[Any] | None = contributor
        self._echoes = Echoes(self._records, contributor)
        if self.declared is not None:
            frame = self.declared.frame
            columns = [frame[name] for name in frame]
            located = self._records.identified(columns, frame.index, contributor)
            self._echoes.add_totals(columns, frame.index)
            self._positions = located.positions
        self._joint = JointAudit(appetite)
        self._n_named = 0
        self._bundles: dict[Path, dict[str, Output]] = {}
        self._replaced: list[Output] = []

    # -- records ----------------------------------------------------------------------------

    def positions(self, index: pd.Index) -> Integers:
        """Return where labels stand in the project; see `KnownRecords.positions`."""
        return self._records.positions(index)

    def identified(
        self, used: pd.DataFrame, columns: Sequence[pd.Series[Any]]
    ) -> tuple[Integers, list[Reason]]:
        """Return where the records of an output stand in the project, and what is to be reviewed.

        Nothing but labels, or values that several records share, may say which records these are.
        They may then be those of any figures of earlier outputs but a few.

        Parameters
        ----------
        used : DataFrame
            What the output shows of each record.
        columns : sequence of Series
            All that is known of these records.
        """
        located = self._records.identified(columns, used.index, self._contributor)
        names = {str(name) for name in used} or {str(column.name) for column in columns}
        shown = {str(column.name): column for column in columns if str(column.name) in names}
        codes = {name: located.codes[name] for name in shown}
        echoes = self._echoes.among(codes, located.positions)
        if located.is_sure:
            self._echoes.add_totals(columns, used.index)
        reasons = []
        if located.is_repeated:
            text = "each record stands there several times, so that few persons count as many"
            reasons.append(Reason("review", "records", text))
        reasons += self._of_columns(shown, located)
        for echo in echoes:
            text = (
                f"a column has the values of another at other records ({echo}): compare who is in "
                "both"
            )
            reasons.append(Reason("review", "records", text))
        if located.is_sure:
            return located.positions, reasons
        others = [name for name, entry in self.leaving().items() if entry.figures]
        if not others:
            return located.positions, reasons
        text = f"no column says whether records of this output are those of {listed(others)}"
        rule = RENUMBERED if located.are_mixed else "records"
        return located.positions, [*reasons, Reason("review", rule, f"{text}: {KEEP}")]

    def _of_columns(
        self, shown: Mapping[str, pd.Series[Any]], located: IdentifiedRecords
    ) -> list[Reason]:
        """Return reasons for review where a column may tell of other records than its own."""
        if self.declared is None:
            must = self.appetite.data_must_be_declared
            text = f"nobody said which data these are: begin with {BEGIN}"
            return [Reason("review", "data", text)] if must else []
        unknown = [
            name.strip("_")
            for name, column in shown.items()
            if not self.declared.gives(column, located.codes[name], located.positions)
        ]
        text = (
            "is no column of the data, and no formula was recognised that gives it for each record "
            "from its own: it may tell of others. Compute it with project.compute(name, formula), "
            "or, where it counts or compares records, say by project.add_exception how it was made"
        )
        reasons = [Reason("review", "data", f"{name} {text}") for name in unknown]
        if chosen := self.declared.chosen_by(located.positions):
            text = (
                f"which codes of {chosen} are there seems to follow from what their records have, "
                "and tells of those left out: keep all, since lines of few do not leave, or say "
                "which list they are of"
            )
            reasons.append(Reason("review", "data", text))
        elif cut := self.declared.cut_by(located.positions):
            text = (
                f"which records are there seems to follow from {cut} of one of them, and how many "
                "there are tells its rank: filter at a number of two digits, or a usual percentile"
            )
            reasons.append(Reason("review", "data", text))
        return reasons

    def in_order(self, key: pd.Series[Any], positions: Integers) -> list[Any]:
        """Return the codes of a key in their order, or in that which the data give them."""
        is_categorical = isinstance(key.dtype, pd.CategoricalDtype)
        has_order = self.declared.has_order if self.declared and is_categorical else None
        return in_order(key, is_given=has_order is not None and has_order(key, positions))

    def powers(
        self, columns: Mapping[Hashable, pd.Series[Any]], positions: Integers
    ) -> dict[Hashable, float]:
        """Return how many times as fast as an amount of the data each column grows, if known."""
        if self.declared is None:
            return {}
        return {name: self.declared.power(one, positions) for name, one in columns.items()}

    def of_all(self, columns: pd.DataFrame) -> list[Reason]:
        """Return a reason for review if all records have the same flag, where that discloses."""
        text = shared_by_all(columns) if self.appetite.zeros_are_disclosive else ""
        return [Reason("review", "zeros", text)] if text else []

    def _are_close(self, sizes: Iterable[int], others: Iterable[int]) -> bool:
        """Whether one number of records is nearly another, or the same."""
        there = np.sort(np.fromiter(others, dtype=np.int64))
        given = np.fromiter(sizes, dtype=np.int64)
        lowest, highest = (
            np.searchsorted(there, given - self.appetite.safe_threshold, side="right"),
            np.searchsorted(there, given + self.appetite.safe_threshold, side="left"),
        )
        return bool((highest > lowest).any())

    def _beside_doubtful(self, figures: Sequence[Figures]) -> list[Reason]:
        """Return a reason for review if outputs may leave of which nobody knows the records."""
        names = [
            name
            for name, entry in self.leaving().items()
            if entry.is_in_doubt
            and (
                self._are_close(_sizes(figures), [len(entry.figures[0].records)])
                or self._are_close([len(figures[0].records)], _sizes(entry.figures))
            )
        ]
        if not names:
            return []
        text = (
            f"this output or a figure has nearly as many records as {listed(names)}, and which "
            f"these are nobody knows: take that back and ask anew: {KEEP}"
        )
        return [Reason("review", RENUMBERED, text)]

    @property
    def contributors(self) -> Integers | None:
        """Code of the contributor of each record of the project; None if records contribute.

        Records of which it is not known have one of their own, with codes from the number of
        records on; no output has these.
        """
        if self._contributor is None:
            return None
        codes = pd.factorize(self._contributor.reindex(self._records.index))[0].astype(np.int64)
        alone = np.flatnonzero(codes < 0)
        codes[alone] = len(codes) + np.arange(len(alone))
        return codes

    def who_is(self, positions: Integers) -> Integers:
        """Return the contributor of each of some records; without contributors the record.

        Raises
        ------
        InputError
            If no contributor is given for some.
        """
        codes = self.contributors
        if codes is None:
            return positions
        who = codes[positions]
        if (alone := who >= len(codes)).any():
            missing = self._records.index[positions[alone]][:3].tolist()
            if any(isinstance(label, tuple) for label in missing):
                raise InputError(
                    "no contributor is known for records of a frame that was renumbered: keep the "
                    "index of the whole frame, or give each file labels of its own and Project("
                    "contributor=...) for all of these"
                )
            raise InputError(f"no contributor is given for the records {listed(missing)}")
        return who

    # -- outputs ----------------------------------------------------------------------------

    def findings(
        self, figures: Sequence[Figures], beside: Mapping[str, Output] | None = None
    ) -> tuple[list[Disclosure], list[str]]:
        """Return what figures disclose together with all that leaves, and what is undecided.

        Parameters
        ----------
        figures : sequence of Figures
        beside : mapping of str to Output, optional
            What they are judged with; by default all outputs that did or may leave.
        """
        leaving = self.leaving() if beside is None else beside
        earlier = {name: entry.figures for name, entry in leaving.items() if entry.figures}
        n_records = len(self._records.index)
        return self._joint.findings(
            figures,
            earlier,
            n_records=n_records,
            contributors=self.contributors,
            waves=None if self._waves is None else self._of_project(self._waves, n_records),
            codes=[self._of_project(column, n_records) for column in self._varying],
        )

    @cached_property
    def _waves(self) -> Integers | None:
        """Wave of each record of the data; None if they are no panel."""
        if self.declared is None or self.contributors is None:
            return None
        return waves_of(self.declared.codes, self.contributors[self._positions])

    @cached_property
    def _varying(self) -> list[Integers]:
        """Columns of the data with few codes of which a contributor has several, and years."""
        if self.declared is None or self.contributors is None:
            return []
        frame = self.declared.frame
        years = [
            frame[name].dt.year.fillna(0).to_numpy(np.int64)
            for name in frame
            if pd.api.types.is_datetime64_any_dtype(frame[name])
        ]
        return varying([*years, *self.declared.codes], self.contributors[self._positions])

    def _of_project(self, column: Integers, n_records: int) -> Integers:
        """Return a column of the data for all records of the project; -1 where it is not known."""
        codes = np.full(n_records, -1, dtype=np.int64)
        codes[self._positions] = column
        return codes

    def of_same_records(self, names: Iterable[str], records: AnyIntegers) -> str:
        """Return of how many records an output and those it fails beside are, if not of the same.

        Parameters
        ----------
        names : iterable of str
        records : array of int
            Positions of those of the output.
        """
        here, leaving = np.sort(records), self.leaving()
        others = {name: np.sort(leaving[name].figures[0].records) for name in names}
        differ = [
            f"{name} has {len(other)}"
            for name, other in others.items()
            if not np.array_equal(here, other)
        ]
        if not differ:
            return ""
        return (
            f"Or make them all from the same records: this output has {len(here)}, "
            f"{listed(differ, limit=20)}"
        )

    def leaving(self) -> dict[str, Output]:
        """Return the outputs that did or may leave, by name.

        An output that failed leaves only if a checker approves it all the same; one that was
        rejected does not leave.
        """
        given, doubtful = self._handed_over()
        refused = {id(entry) for entry in doubtful.values()}
        kept = list(self.outputs.values())
        taken_back = {name: entry for name, entry in given.items() if entry not in kept}
        may_leave = {
            name: entry
            for name, entry in self.outputs.items()
            if id(entry) not in refused
            and (entry.outcome.status != "fail" or entry in given.values())
        }
        return taken_back | may_leave

    def submitted(self) -> dict[str, Output]:
        """Return the outputs for the next bundle: all but those that a checker rejected."""
        rejected = [
            output
            for folder, outputs in self._bundles.items()
            for name, output in outputs.items()
            if decision_in(folder, name).state == "rejected"
        ]
        return {name: entry for name, entry in self.outputs.items() if entry not in rejected}

    def said_of(self, output: Output) -> list[str]:
        """Return what checkers decided on an output, and what they wrote of it."""
        decisions = [
            decision_in(folder, name)
            for folder, outputs in self._bundles.items()
            for name, entry in outputs.items()
            if entry is output
        ]
        return [
            f"{one.state or 'not decided yet'}{', ' * bool(one.who)}{one.who}"
            f"{': ' * bool(one.comment)}{one.comment}"
            f"{'. It is left out of further bundles' * (one.state == 'rejected')}"
            for one in decisions
            if one.state or one.comment
        ]

    def _handed_over(self) -> tuple[dict[str, Output], dict[str, Output]]:
        """Return what stands in bundles and leaves, and what leaves only if a file is wrong.

        Who wrote the decisions beside a bundle is not known here. Outputs that were rejected there,
        and outputs that failed and that nobody decided on, are doubtful.
        """
        # Somebody may have a copy of a bundle that was written anew.
        given = {f"{output.name}, replaced{HANDED_OVER}": output for output in self._replaced}
        doubtful: dict[str, Output] = {}
        for folder, outputs in self._bundles.items():
            for name, output in outputs.items():
                state = decision_in(folder, name).state
                failed = output.outcome.status == "fail"
                is_doubtful = state == "rejected" or (failed and state != "approved")
                (doubtful if is_doubtful else given)[f"{name}{HANDED_OVER}"] = output
        return given, doubtful

    def doubts(self, figures: Sequence[Figures]) -> list[Reason]:
        """Return reasons for review: what figures disclose with outputs that may have left."""
        _, doubtful = self._handed_over()
        if not doubtful or not figures:
            return []
        texts = {finding.text for finding in self.findings(figures)[0]}
        located, _ = self.findings(figures, self.leaving() | doubtful)
        return [
            Reason(
                "review",
                "differencing",
                f"{entry.text}: approve only if {listed(entry.outputs, limit=20)} did not leave",
            )
            for entry in located
            if entry.text not in texts
        ]

    def judged_anew(self) -> None:
        """Say of outputs that failed what they tell beside everything that came after them."""
        for output in self.outputs.values():
            if output.outcome.status != "fail" or not output.figures:
                continue
            for beside in (self.leaving(), self.outputs):
                others = {name: entry for name, entry in beside.items() if entry is not output}
                located, _ = self.findings(output.figures, others)
                said = {reason.text for reason in output.outcome.reasons}
                more = [reason for reason in failures(located) if reason.text not in said]
                reasons = (*output.outcome.reasons, *more)
                output.outcome = replace(output.outcome, reasons=reasons)

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
        lines: tuple[AnyIntegers, AnyIntegers] | None = None,
    ) -> Output:
        """Add an output whose outcome is settled, under the next name."""
        name = f"output_{self._n_named}"
        self._n_named += 1
        if figures and all(reason.rule != RENUMBERED for reason in outcome.reasons):
            reasons = (*outcome.reasons, *self._beside_doubtful(figures))
            outcome = replace(outcome, reasons=reasons)
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
            lines,
            timestamp=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        texts = [text for frame in output.leaving for text in _texts(frame)]
        if may_be_amounts(texts, self.appetite.listed_codes) and all(
            reason.rule != "labels" for reason in outcome.reasons
        ):
            text = "names or labels have numbers that may be amounts: choose others"
            reasons = (*outcome.reasons, Reason("review", "labels", text))
            output.outcome = replace(outcome, reasons=reasons)
        self.outputs[name] = output
        return output


def _sizes(figures: Sequence[Figures]) -> Integers:
    """Return how many records an output has, and each figure and what it leaves out."""
    sizes = [np.array([len(figures[0].records)])]
    for one in figures:
        sizes += [one.sizes, len(one.records) - one.sizes]
    return np.concatenate(sizes)


def _texts(frame: pd.DataFrame) -> list[str]:
    """Return all labels of a frame that are texts, and the names of its axes."""
    texts: list[Any] = []
    for axis in (frame.index, frame.columns):
        texts += [
            *axis.names,
            *(part for label in axis.to_flat_index() for part in np.ravel(label)),
        ]
    return [text for text in texts if isinstance(text, str)]
