"""Calls of a project for outputs other than tables: checked alone, then with all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from tablecloak.errors import InputError
from tablecloak.extras import required
from tablecloak.safe.bundle import blocked
from tablecloak.safe.joint.disclosure import Disclosure, failures, unsearched, why_hidden
from tablecloak.safe.ledger import Ledger
from tablecloak.safe.other.correlation import CorrelationOutput
from tablecloak.safe.other.fit import Fit
from tablecloak.safe.other.histogram import Histogram, Pie
from tablecloak.safe.other.kind import Checked, Kind, OutputRecords, finite_numbers
from tablecloak.safe.other.quantiles import Extremes, Quantiles
from tablecloak.safe.other.regression import RegressionOutput
from tablecloak.safe.other.survival import Survival
from tablecloak.safe.output import Outcome, Output, Reason
from tablecloak.storage import checksum, existing_file, require_writable

if TYPE_CHECKING:
    from tablecloak.safe.output import Output

Place = tuple[int, int]

PICTURES = (".png", ".svg", ".pdf", ".jpg")
"""Formats of pictures that are drawn. What else matplotlib writes may hold the data."""

CONDITION = "It follows for whoever knows the other columns of these records"
"""What is said of what follows from sums of products with known columns."""


def ask(
    ledger: Ledger,
    kind: Kind,
    frame: pd.DataFrame,
    command: str,
    values: pd.DataFrame | None = None,
) -> Output:
    """Check an output, alone and with all earlier ones, and record it.

    Parameters
    ----------
    ledger : Ledger
    kind : Kind
    frame : DataFrame
        A row for each record, with the index that records have in the project.
    command : str
        The call as the researcher would write it.
    values : DataFrame, optional
        What else is known of the records, for finding out which they are.
    """
    if not len(frame):
        raise InputError("the output has no records: look at the filter before it")
    whole = frame if values is None else values
    columns = [whole.iloc[:, k] for k in range(whole.shape[1])]
    positions, reasons = ledger.identified(frame, columns)
    reasons += ledger.of_all(frame)
    contributor = ledger.who_is(positions)
    checked = kind.check(OutputRecords(frame, positions, contributor, ledger.appetite))
    checked = jointly(ledger, replace(checked, reasons=(*reasons, *checked.reasons)))
    return record(ledger, kind, command, checked)


def record(ledger: Ledger, kind: Kind, command: str, checked: Checked) -> Output:
    """Add what was checked to a project."""
    return ledger.record(
        kind.label,
        command,
        checked.outcome,
        frames=checked.frames,
        figures=[
            *(counts.shown(checked.hidden)[0] for counts in checked.counts),
            *(counts.shown(set())[0] for counts in checked.conditional),
        ],
        properties=checked.properties,
        cells={rule: [list(at) for at in places] for rule, places in checked.broken.items()},
        lines=checked.lines,
    )


def jointly(ledger: Ledger, checked: Checked) -> Checked:
    """Hide figures until nothing follows from them and earlier outputs together.

    A computation that leads to a small group is broken by hiding one of its figures, the smallest;
    what cannot be hidden makes the output fail. What follows for whoever knows other columns is for
    the checker to decide.
    """
    if not checked.counts:
        return checked
    while True:
        shown = [counts.shown(checked.hidden) for counts in checked.counts]
        findings, undecided = ledger.findings([figures for figures, _ in shown])
        chosen: dict[Place, Disclosure] = {}
        stuck: list[Disclosure] = []
        for finding in findings:
            places = [shown[which][1][figure] for which, figure in finding.new_terms]
            can = [place for place in places if place is not None]
            if not can:
                stuck.append(finding)
            elif not set(can) & chosen.keys():
                sizes = checked.frames[0].to_numpy(dtype=np.float64)
                smallest = min(can, key=lambda at: (float(sizes[at]), at))
                chosen[smallest] = finding
        for place, finding in chosen.items():
            why = why_hidden([finding], [str(checked.frames[0].index[place[0]])])
            checked = checked.hiding([place], "differencing", why)
        if chosen:
            continue
        figures = [figures for figures, _ in shown]
        base = _base(ledger, checked)
        reasons = [*failures(stuck, base), *ledger.doubts(figures)]
        if checked.conditional and not stuck:
            given = [counts.shown(set())[0] for counts in checked.conditional]
            findings, undecided = ledger.findings([*figures, *given])
            # Whom its columns single out, and who weighs most in it, is judged where these are.
            is_judged = any(reason.rule in ("saturated", "threshold") for reason in checked.reasons)
            more = [
                finding
                for finding in findings
                if finding.outputs
                or (finding.rule == "threshold" and not is_judged)
                or (finding.rule != "threshold" and _is_of_part(finding, checked, len(figures)))
            ]
            reasons += [
                replace(reason, status="review", text=f"{reason.text}. {CONDITION}")
                for reason in failures(more, base)
            ]
        return replace(checked, reasons=(*checked.reasons, *reasons, *unsearched(undecided)))


def _is_of_part(finding: Disclosure, checked: Checked, n_shown: int) -> bool:
    """Whether a finding rests on what follows for some of the records alone, such as one sex."""
    followed = [which - n_shown for which, _ in finding.new_terms if which >= n_shown]
    return any(checked.conditional[which].is_of_part for which in followed)


def _base(ledger: Ledger, checked: Checked) -> Callable[[Disclosure], str]:
    """Return what says how other outputs get the records of one."""
    return lambda finding: (
        checked.base if finding.outputs and checked.base
        else ledger.of_same_records(finding.outputs, checked.counts[0].records)
    )  # fmt: skip


class OtherOutputs(Ledger):
    """Outputs other than tables; `Project` has these calls.

    Each call records an output, and returns what may leave of it: hidden figures are missing
    values. What is said of it stands in the output.
    """

    def quantile(
        self, values: pd.Series[Any], q: float | Sequence[float] = 0.5, *, base: float = 0
    ) -> pd.DataFrame:
        """Return quantiles; see `safe.other.quantiles.Quantiles`.

        Parameters
        ----------
        values : Series of numbers
        q : float or sequence of float, default=0.5
        base : float, default=0
            Quantiles are rounded to multiples of it.
        """
        shares = finite_numbers(pd.Series(q, name="q"), "shares of quantiles must be").tolist()
        rounding = f", base={base:g}" if base else ""
        kind, frame = Quantiles(tuple(shares), base), _frame(values)
        return ask(self, kind, frame, f"quantile({_name(values)}, {q}{rounding})").frames[0]

    def extremes(
        self, values: pd.Series[Any], which: Sequence[str] = ("min", "max")
    ) -> pd.DataFrame:
        """Return minimum and maximum; see `safe.other.quantiles.Extremes`."""
        frame = _frame(values)
        kind = Extremes(tuple(which))  # type: ignore[arg-type]
        return ask(self, kind, frame, f"extremes({_name(values)})").frames[0]

    def corr(self, data: pd.DataFrame, method: str = "pearson") -> pd.DataFrame:
        """Return correlations of the columns of a frame, as ``DataFrame.corr`` does."""
        if not isinstance(data, pd.DataFrame) or not isinstance(method, str):
            raise InputError(
                "corr: give one frame with all columns, as data[['turnover', 'wages']]"
            )
        kind = CorrelationOutput(method)  # type: ignore[arg-type]
        names = ", ".join(map(str, data.columns))
        return ask(self, kind, data, f"corr([{names}], {method!r})").frames[0]

    def histogram(
        self: Ledger,
        data: pd.Series[Any] | pd.DataFrame,
        column: str = "",
        bins: int | Sequence[float] = 10,
        *,
        filename: str | Path = "",
    ) -> pd.DataFrame:
        """Return the counts of bins; see `safe.other.histogram.Histogram`.

        Parameters
        ----------
        data : Series of numbers, or DataFrame
        column : str
            Which column of a frame.
        bins : int or sequence of float, default=10
            About how many bins, or their edges.
        filename : str or Path, optional
            Picture of what may leave; it becomes part of the output.
        """
        values = _column(data, column)
        return _drawn(
            self,
            Histogram(_bins(bins)),
            _frame(values),
            f"histogram({_name(values)}, bins={bins})",
            filename,
            data,
        )

    def hist(
        self: Ledger,
        data: pd.DataFrame,
        column: str,
        by_val: Any = None,
        bins: int | Sequence[float] = 10,
        filename: str | Path = "histogram.png",
        **look: Any,
    ) -> pd.DataFrame:
        """Draw a histogram with the arguments of ACRO's `hist`; see `histogram`.

        Parameters
        ----------
        data : DataFrame
        column : str
        by_val : None
            Histograms by groups are not offered.
        bins : int or sequence of float, default=10
        filename : str or Path, default="histogram.png"
        **look
            How pandas would draw it. Not used.
        """
        if by_val is not None:
            raise InputError("hist: `by_val` is not offered: ask for a histogram of each group")
        command, values = f"hist({column}, bins={bins})", _frame(_column(data, column))
        return _drawn(self, Histogram(_bins(bins)), values, command, filename, data)

    def pie(
        self: Ledger,
        data: pd.Series[Any] | pd.DataFrame,
        column: str = "",
        *,
        filename: str | Path = "",
    ) -> pd.DataFrame:
        """Return the counts of categories; see `safe.other.histogram.Pie`.

        Arguments are those of `histogram`.
        """
        values = _column(data, column)
        return _drawn(self, Pie(), _frame(values), f"pie({_name(values)})", filename, data)

    def surv_func(
        self: Ledger,
        time: pd.Series[Any],
        status: pd.Series[Any],
        output: Literal["table", "plot"] = "table",
        *,
        filename: str | Path = "kaplan-meier.png",
    ) -> pd.DataFrame:
        """Return the survival table; see `safe.other.survival.Survival`.

        Parameters
        ----------
        time : Series of numbers
            How long each person was in sight.
        status : Series of 0 and 1
            Whether the event took place at the end of it, with the index of `time`.
        output : {"table", "plot"}, default="table"
            With "plot" there is a picture of the table as well, in the file `filename`.
        """
        if output not in ("table", "plot"):
            raise InputError(f"surv_func: output is {output!r}; give 'table' or 'plot'")
        if not time.index.equals(status.index):
            raise InputError("time and status have different indexes: take both from one frame")
        frame = pd.DataFrame({_name(time): time, _name(status): status}, index=time.index)
        if frame.shape[1] < 2:
            raise InputError(f"time and status have the same name {_name(time)!r}")
        command = f"surv_func({_name(time)}, {_name(status)})"
        return _drawn(self, Survival(), frame, command, filename if output == "plot" else "")

    def custom_output(self, path: str | Path, comment: str = "") -> Output:
        """Ask for a file that was made elsewhere. No rule looks into it: a person has to.

        Raises
        ------
        InputError
            If there is no such file, or files of its kind may not leave.
        """
        path = existing_file(path)
        if blocked(path, self.appetite):
            raise InputError(
                f"{path}: files in {path.suffix} may not leave, because they can hold the data "
                "they were drawn from (blocked_extensions): save it in another format, as .png"
            )
        outcome = Outcome(
            (Reason("review", "custom", "no rule looks into this file: a person has to"),)
        )
        output = self.record("custom", "custom_output()", outcome, files=[path])
        if comment:
            output.comments.append(comment)
        return output

    # -- regressions ------------------------------------------------------------------------

    def regression(self, result: Any, command: str = "") -> Output:
        """Ask for a fitted model: what ``fit()`` of statsmodels returns, or alike.

        Parameters
        ----------
        result : object
            Has ``model.exog``, ``model.endog``, ``params`` and, where known, ``df_resid``, ``bse``,
            ``resid``. Fitted on columns of pandas, the model knows its records.
        command : str, optional
            The call as the researcher would write it.

        Returns
        -------
        Output
            Coefficients, and figures of the fit; see `safe.other.regression.RegressionOutput`.
        """
        fit = Fit.of(result)
        kind = RegressionOutput(fit)
        text = command or f"regression({fit.method}: {', '.join(fit.names)})"
        return ask(self, kind, pd.DataFrame(index=fit.index), text, fit.values)

    def ols(self, endog: Any, exog: Any, **options: Any) -> Any:
        """Fit by least squares with statsmodels, ask for the result, and return it."""
        return _fitted(self, "OLS", endog, exog, options)

    def olsr(self, formula: str, data: pd.DataFrame, **options: Any) -> Any:
        """Fit by least squares from a formula with statsmodels, ask for it, and return it."""
        return _fitted(self, "ols", formula, data, options)

    def logitr(self, formula: str, data: pd.DataFrame, **options: Any) -> Any:
        """Fit a logit from a formula with statsmodels, ask for it, and return it."""
        return _fitted(self, "logit", formula, data, options)

    def probitr(self, formula: str, data: pd.DataFrame, **options: Any) -> Any:
        """Fit a probit from a formula with statsmodels, ask for it, and return it."""
        return _fitted(self, "probit", formula, data, options)

    def logit(self, endog: Any, exog: Any, **options: Any) -> Any:
        """Fit a logit with statsmodels, ask for the result, and return it."""
        return _fitted(self, "Logit", endog, exog, options)

    def probit(self, endog: Any, exog: Any, **options: Any) -> Any:
        """Fit a probit with statsmodels, ask for the result, and return it."""
        return _fitted(self, "Probit", endog, exog, options)


def _fitted(ledger: Any, name: str, what: Any, data: Any, options: dict[str, Any]) -> Any:
    """Fit a model, of two columns or of a formula, ask for the result, and return it."""
    required("statsmodels", "Regressions")
    if not len(data):
        raise InputError("the regression has no records: look at the filter before it")
    is_formula = name.islower()
    library = import_module(f"statsmodels{'.formula' * is_formula}.api")
    model = getattr(library, name)(what, data, **options)
    if is_formula:
        command = f"{name}r({what!r})"
    else:
        columns = ", ".join(map(str, model.exog_names))
        command = f"{name.lower()}({model.endog_names} ~ {columns})"
    # All but least squares print how the search went unless they are told not to.
    result = model.fit() if type(model).__name__ == "OLS" else model.fit(disp=0)
    ledger.regression(result, command)
    return result


def _name(values: pd.Series[Any]) -> str:
    return "values" if values.name is None else str(values.name)


def _frame(values: pd.Series[Any]) -> pd.DataFrame:
    if not isinstance(values, pd.Series):
        raise InputError(
            f"a column of a frame is needed, as data['income']; got {type(values).__name__}"
        )
    return values.to_frame(_name(values))


def _column(data: pd.Series[Any] | pd.DataFrame, column: str) -> pd.Series[Any]:
    if isinstance(data, pd.DataFrame):
        if column not in data.columns:
            known = ", ".join(map(str, data.columns))
            raise InputError(f"the frame has no column {column!r}; it has {known}")
        return data[column]
    return data


def _bins(given: Any) -> int | tuple[float, ...]:
    """Return a number of bins, or their edges."""
    if isinstance(given, int | float | np.number) and given == np.floor(given):
        return int(given)
    if np.ndim(given) == 1:
        try:
            return tuple(float(edge) for edge in given)
        except (TypeError, ValueError):
            pass
    raise InputError(f"bins is {given!r}; give a number of bins, or their edges as numbers")


def _drawn(
    ledger: Ledger,
    kind: Kind,
    frame: pd.DataFrame,
    command: str,
    filename: str | Path,
    data: pd.Series[Any] | pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Ask for counts, and draw a picture of what is left of them."""
    if filename:
        require_writable(filename)
        if blocked(Path(filename), ledger.appetite):
            raise InputError(f"{filename}: files in {Path(filename).suffix} may not leave")
        required("matplotlib", "Pictures")
        if Path(filename).suffix not in PICTURES:
            raise InputError(f"{filename}: a picture is drawn as {', '.join(PICTURES)}")
    whole = data if isinstance(data, pd.DataFrame) else None
    output = ask(ledger, kind, frame, command, whole)
    if filename:
        path = _free_name(Path(filename), ledger)
        _draw(output.frames[0], kind.name, path)
        output.files, output.drawn = (path,), {path: checksum(path)}
    return output.frames[0]


def _free_name(path: Path, ledger: Ledger) -> Path:
    """Return a name that the picture of no other output has: each leaves by its own judgement."""
    taken = {file.resolve() for output in ledger.outputs.values() for file in output.files}
    number, free = 2, path
    while free.resolve() in taken:
        number, free = number + 1, path.with_stem(f"{path.stem}-{number}")
    return free


def _draw(frame: pd.DataFrame, name: str, path: Path) -> None:
    """Draw bars, slices or steps of what is not hidden; no group is named of which nothing is."""
    from matplotlib.figure import Figure

    from tablecloak.storage import replacing

    figure = Figure(layout="constrained")
    axes = figure.subplots()
    if name == "survival":
        frame = frame[np.isfinite(frame.index)]  # The end of an open interval has no place.
        axes.step([0, *frame.index], [1, *frame["survival"]], where="post")
        axes.set(xlabel=str(frame.index.name), ylabel="survival", ylim=(0, 1))
    elif name == "pie":
        counts = frame["count"].iloc[:-1]
        shown = counts[counts > 0]
        axes.pie(shown.to_numpy(dtype=np.float64), labels=[*map(str, shown.index)])
        if len(shown) < len(counts):
            axes.set_xlabel("categories of few are left out")
    else:
        counts = frame["count"].iloc[:-1].fillna(0)
        # Bins without a bar beyond the outermost ones would tell how far amounts go.
        bars = np.flatnonzero(counts > 0)
        counts = counts.iloc[bars[0] : bars[-1] + 1] if len(bars) else counts[:0]
        axes.bar(range(len(counts)), counts.to_numpy(dtype=np.float64), width=1.0)
        axes.set_xticks(range(len(counts)), [*map(str, counts.index)], rotation=90)
        is_cut = "; bins without a bar have few or none" * bool((counts == 0).any())
        axes.set_xlabel(f"{frame.index.name}{is_cut}")
    with replacing(path) as temporary:
        figure.savefig(temporary, metadata={"Software": None} if path.suffix == ".png" else None)
