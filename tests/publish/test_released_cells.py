"""What a release says of each cell, whoever wrote it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from hand_tables import one_row
from tablecloak.publish.released_cells import read_previous, read_release, rows_in_table_order

PROBLEM = one_row([50, 60, 70], {"a": (3, 5)})
CODES = ["a", "b", "c", "Total"]


def frame(value=(50, 60, 70, 180), **columns) -> pd.DataFrame:
    return pd.DataFrame({"code": CODES, "value": list(value), **columns})


def blank(**columns) -> pd.DataFrame:
    return frame(value=[np.nan, np.nan, 70, 180], **columns)


def hidden(**status: str) -> list[str]:
    return [status.get(code, "published") for code in CODES]


def test_words_for_suppressed_and_published_cells_are_understood():
    for word in ("suppressed", "primary", "secondary", "X", " u ", "m"):
        suppressed, values = read_release(PROBLEM, blank(status=hidden(a=word, b=word)))
        assert suppressed.tolist() == [True, True, False, False], word
        assert values is None
    for word in ("published", "S", "safe", "v", "z"):
        assert not read_release(PROBLEM, frame(status=[word] * 4))[0].any(), word


@pytest.mark.parametrize("name", ["value", PROBLEM.table.name, "turnover"])
def test_a_value_in_a_gap_is_refused_whatever_its_status_says(tmp_path, name):
    """Readers see the value; the word beside it hides nothing."""
    filled = frame(value=[50, np.nan, 70, 180], status=hidden(a="x", b="x"))
    filled = filled.rename(columns={"value": name})
    filled.to_csv(tmp_path / "table.csv", index=False)
    message = "1 of 2 suppressed rows show a value.*: .*a.*Blank these values, or mark"
    for release in (filled, tmp_path / "table.csv"):
        for read in (tc.audit, lambda problem, given: tc.read_published(given, problem)):
            with pytest.raises(tc.InputError, match=message) as error:
                read(PROBLEM, release)
            assert error.value.cells == (0,)
    beside = filled.assign(**{name: [np.nan, np.nan, 70, 180], "other": 1.0})
    assert read_release(PROBLEM, beside)[0].sum() == 2


def test_values_beside_every_status_are_warned_of_but_read():
    """Frames and files that stay inside have them: `to_frame`, files of other programs."""
    every = frame(status=hidden(a="x", b="x"))
    with pytest.warns(tc.TablecloakWarning, match="2 rows say suppressed but show a value"):
        assert tc.audit(PROBLEM, every).verdicts
    assert read_release(PROBLEM, every, of_table=True)[0].sum() == 2


def test_zeros_may_stand_for_hidden_values_but_not_for_hidden_zeros():
    zeros = frame(value=[0, 0, 70, 180], status=hidden(a="x", b="x"))
    assert read_release(PROBLEM, zeros)[0].sum() == 2
    problem = one_row([0, 60, 70], {"a": (3, 5)})
    told = frame(value=[0, np.nan, 70, 130], status=hidden(a="x", b="x"))
    with pytest.raises(tc.InputError, match="1 of 2 suppressed rows show a value"):
        read_release(problem, told)


def test_an_unknown_word_is_named_by_its_row():
    with pytest.raises(tc.InputError, match="release, row 2: status 'supressed' is not known. Did"):
        read_release(PROBLEM, frame(status=hidden(b="supressed")))


def test_rows_of_a_frame_are_counted_whatever_its_labels():
    named = blank(status=hidden(a="x", b="supressed")).set_axis(list("wxyz"))
    with pytest.raises(tc.InputError, match="release, row 2: status 'supressed' is not known"):
        read_release(PROBLEM, named)
    with pytest.raises(tc.InputError, match="previous, row 2: status 'supressed' is not known"):
        read_previous(PROBLEM, named)


def test_rows_may_come_in_any_order():
    shuffled = frame([np.nan, 60, np.nan, 180], status=hidden(a="x", c="x")).iloc[[3, 2, 0, 1]]
    assert read_release(PROBLEM, shuffled)[0].tolist() == [True, False, True, False]
    assert rows_in_table_order(PROBLEM, shuffled, ["code"], "f").tolist() == [2, 3, 1, 0]


def test_without_statuses_empty_values_are_suppressed_and_full_ones_adjusted():
    suppressed, values = read_release(PROBLEM, frame(value=[np.nan, np.nan, 70, 180]))
    assert suppressed.tolist() == [True, True, False, False]
    assert values is None
    suppressed, values = read_release(PROBLEM, frame(value=[55, 55, 70, 180]))
    assert suppressed is None
    assert values.tolist() == [55, 55, 70, 180]


def test_a_column_named_like_the_measure_holds_the_values():
    renamed = frame(value=[55, 55, 70, 180]).rename(columns={"value": PROBLEM.table.name})
    assert read_release(PROBLEM, renamed)[1].tolist() == [55, 55, 70, 180]


def test_cells_may_be_named_by_their_numbers():
    numbered = pd.DataFrame({"cell": [3, 1, 2, 0], "value": [180, 60, 70, 55]})
    assert read_release(PROBLEM, numbered)[1].tolist() == [55, 60, 70, 180]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (frame().iloc[:3], "1 cells of the original are missing, the first is .*Total"),
        (pd.concat([frame(), frame().iloc[:1]]), "is given twice"),
        (frame().replace("b", "q"), "is not in the original table"),
        (frame().drop(columns="code"), "the cells are not named. Give the columns code"),
        (frame().drop(columns="value"), "neither a column 'status' nor a column 'value'"),
        (frame(value=[50, "many", 70, 180]), "row 2: the value is 'many', which is no number"),
    ],
)
def test_a_release_that_is_not_one_of_this_table_is_refused(given, message):
    with pytest.raises(tc.InputError, match=message):
        read_release(PROBLEM, given)


def test_a_problem_without_codes_is_refused_for_a_release_with_codes(tmp_path):
    tc.write_problem(PROBLEM, tmp_path / "problem.jj")
    with pytest.raises(tc.InputError, match="no codes .* in .jj. Name one in .csv"):
        read_release(tc.read_problem(tmp_path / "problem.jj"), frame())


def test_a_pattern_publishes_true_values():
    wrong = frame(value=[np.nan, np.nan, 71, 180], status=hidden(a="x", b="x"))
    with pytest.raises(
        tc.InputError, match="1 published cells do not have their true value.*of another year"
    ) as error:
        read_release(PROBLEM, wrong)
    assert error.value.cells == (2,)


def test_values_of_hidden_cells_need_not_be_the_true_ones():
    shown = frame(value=[-999, 0, 70, 180], status=hidden(a="x", b="x"))
    with pytest.warns(tc.TablecloakWarning, match="2 rows say suppressed"):
        assert read_release(PROBLEM, shown)[0].sum() == 2


def test_measurements_may_be_published_with_fewer_digits_but_not_others():
    thirds = one_row([100 / 3, 200 / 7, 300 / 11], {"a": (3, 5)})
    values = np.round(thirds.table.values, 9)
    values[:2] = np.nan
    status = hidden(a="x", b="x")
    assert read_release(thirds, frame(value=values, status=status))[0].sum() == 2
    with pytest.raises(tc.InputError, match="do not have their true value"):
        read_release(thirds, frame(value=np.round(values, 0), status=status))


def test_a_file_is_read_like_a_frame(tmp_path):
    path = tmp_path / "release.csv"
    frame(value=["", "", 70, 180], status=hidden(a="x", b="x")).to_csv(path, index=False)
    assert read_release(PROBLEM, path)[0].tolist() == [True, True, False, False]
    with pytest.raises(tc.InputError, match="does not exist"):
        read_release(PROBLEM, tmp_path / "gone.csv")


@pytest.mark.parametrize("end", ["x", None])
def test_intervals_have_two_numbers_for_each_cell_in_earlier_releases_too(end):
    ends = frame().assign(
        lower=[40, 55, 70, 180], upper=pd.Series([60, end, 70, 180], dtype=object)
    )
    message = "every cell needs a number as `lower` and as `upper`, but .*b.* lacks one"
    with pytest.raises(tc.InputError, match=message):
        tc.audit(PROBLEM, ends)
    with pytest.raises(tc.InputError, match=message):
        tc.read_published(ends, PROBLEM)


def test_frames_of_polars_and_pandas_are_read_like_files(tmp_path):
    pl = pytest.importorskip("polars")
    problem = tc.examples.cox_rounded()
    pattern = tc.suppress(problem)
    keys = list(problem.table.keys.columns)
    cell = int(np.flatnonzero(pattern.suppressed)[0])
    every = pattern.to_frame()
    for frame in (pl.from_pandas(pattern.release()), pl.from_pandas(pattern.release()).to_arrow()):
        assert tc.audit(problem, frame).is_safe
        assert tc.explain(problem, frame, cell, time_limit=5).text()
        read = tc.read_published(frame, problem)
        assert np.array_equal(read.lower < read.upper, pattern.suppressed)
    table = tc.Table.from_frame(pl.from_pandas(every).lazy(), keys, problem.table.name)
    assert np.array_equal(np.sort(table.values), np.sort(problem.table.values))
    for frame in (every, pl.from_pandas(every)):
        assert np.array_equal(tc.read_previous(problem, frame), pattern.suppressed)
    with pytest.raises(tc.InputError, match="previous: there is no column 'status'"):
        tc.read_previous(problem, every.drop(columns="status"))


def previous(tmp_path, rows, columns=("code", "status")):
    path = tmp_path / "last.csv"
    pd.DataFrame(rows, columns=list(columns)).to_csv(path, index=False)
    return read_previous(PROBLEM, path)


def test_cells_are_matched_by_their_codes(tmp_path):
    rows = [("c", "secondary"), ("a", "primary"), ("b", "published"), ("Total", "published")]
    assert previous(tmp_path, rows).tolist() == [True, False, True, False]


def test_cells_of_other_periods_are_passed_over_and_new_ones_count_as_published(tmp_path):
    rows = [("a", "suppressed"), ("gone", "suppressed")]
    assert previous(tmp_path, rows).tolist() == [True, False, False, False]


def test_cells_of_last_period_may_be_named_by_their_numbers(tmp_path):
    flags = previous(tmp_path, [(1, "x"), (3, "published")], ("cell", "status"))
    assert flags.tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([("a", 1)], ("code", "value"), "there is no column 'status'"),
        ([("q", "x")], ("code", "status"), "none of its cells is in this table"),
        ([("a", "gone")], ("code", "status"), "line 2: status 'gone' is not known"),
        ([("a", "x")], ("town", "status"), "the cells are not named"),
    ],
)
def test_a_file_that_says_nothing_of_this_table_is_refused(tmp_path, rows, columns, message):
    with pytest.raises(tc.InputError, match=message):
        previous(tmp_path, rows, columns)


def test_a_workbook_reads_back_as_the_pattern_it_was_made_of(tmp_path):
    problem = tc.examples.cox_rounded()
    pattern = tc.suppress(problem, time_limit=1000)
    path = pattern.write(tmp_path / "table.xlsx")
    assert np.array_equal(read_release(problem, path)[0], pattern.suppressed)
    assert tc.audit(problem, path).is_safe


def test_intervals_in_a_workbook_are_audited_as_those_in_csv(tmp_path):
    problem = tc.examples.cox_rounded()
    pattern = tc.publish_intervals(problem, time_limit=1000)
    tc.write_release(pattern, tmp_path, formats=["csv", "excel"])
    assert tc.audit(problem, tmp_path / "table.xlsx").is_safe
