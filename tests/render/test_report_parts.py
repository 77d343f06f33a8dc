"""Parts of the internal report, one by one."""

from __future__ import annotations

import pytest

import tablecloak as tc
from tablecloak import showing
from tablecloak.history import History
from tablecloak.protection import Product
from tablecloak.render.report import _search_figure, internal_report


@pytest.fixture(scope="module")
def pattern():
    return tc.suppress(tc.examples.cox_rounded())


def test_a_report_without_releases_says_what_was_to_be_protected():
    problem = tc.examples.cox_rounded()
    text = internal_report("t", problem, []).html()
    assert "7 cells are sensitive, and 5 are frozen: they must be published as they are." in text
    assert "How it was done" in text
    assert "<h2>Suppression</h2>" not in text


def test_one_release_is_not_compared(pattern):
    text = internal_report("t", pattern.problem, [Product(pattern)]).html()
    assert "<h2>Suppression</h2>" in text
    assert "Risk and utility" not in text
    places = [text.index(line) for line in (*pattern.verdict().splitlines(), pattern.summary())]
    assert places == sorted(places)


def test_a_comparison_can_be_left_out(pattern):
    adjusted = tc.adjust(pattern.problem)
    findings = [Product(pattern), Product(adjusted)]
    text = internal_report("t", pattern.problem, findings, compared=False).html()
    assert "<h2>Adjustment</h2>" in text
    assert "Risk and utility" not in text


def test_shares_of_a_comparison_have_four_digits_and_losses_all(pattern):
    shown = tc.compare(pattern.problem, {"pattern": pattern}).measures()["pattern"]
    assert shown["loss"] == 3076
    shares = [entry for entry in shown if isinstance(entry, float) and entry % 1]
    assert shares and all(entry == float(f"{entry:.4g}") for entry in shares)


def test_an_audit_is_told_and_drawn(pattern):
    audit = tc.audit(pattern.problem, pattern, detail="intervals")
    text = internal_report("t", pattern.problem, [Product(pattern, audit)]).html()
    assert "Intervals of the 7 sensitive cells" in text and "is left with (exact)" in text
    assert "<figure>" in text


def test_settings_and_versions_stand_at_the_end(pattern):
    text = internal_report("t", pattern.problem, [], settings={"seed <1>": 5}).html()
    assert "seed &lt;1&gt;" in text
    assert "highspy" in text


def test_the_history_of_a_search_is_two_staircases():
    history = History()
    for loss, bound in ((10.0, 2.0), (8.0, 2.0), (8.0, 8.0)):
        history("search", loss, bound, 0)
    axes = _search_figure(history).axes[0]
    lines = {line.get_label(): line.get_ydata() for line in axes.lines}
    assert lines["loss"].tolist()[-1] == 8
    assert lines["bound"].tolist()[-1] == 8
    assert list(lines["loss"]) == sorted(lines["loss"], reverse=True)


def test_the_history_ends_at_the_loss_as_released():
    """What protection against insiders adds is no better answer of the search."""
    history = History()
    for loss, bound in ((1e6, 2e5), (8e5, 8e5)):
        history("search", loss, bound, 0)
    axes = _search_figure(history, 1.2e6).axes[0]
    (end,) = [line for line in axes.lines if line.get_label() == "loss as released"]
    assert end.get_ydata().tolist() == [1.2e6]
    assert axes.yaxis.get_major_formatter()(1_200_000, 0) == "1,200,000"
    same = _search_figure(history, 8e5).axes[0]
    assert [line.get_label() for line in same.lines] == ["loss", "bound"]


@pytest.mark.parametrize("draw", ["pattern", "adjusted", "audit", "map", "history"])
def test_a_legend_covers_nothing_that_is_drawn(pattern, draw):
    problem, history = pattern.problem, History()
    history("search", 3.0, 1.0, 0)
    figure = {
        "pattern": pattern.plot,
        "adjusted": lambda: tc.adjust(problem).plot(),
        "audit": lambda: tc.audit(problem, pattern).plot(),
        "map": lambda: tc.compare(problem, {"pattern": pattern}).plot(),
        "history": lambda: _search_figure(history),
    }[draw]()
    figure.draw_without_rendering()
    (legend,), (axes,) = figure.legends, figure.axes
    assert axes.get_legend() is None
    assert legend.get_window_extent().y1 <= axes.get_tightbbox().y0


def test_cells_of_a_pattern_are_counted_in_whole_numbers(pattern):
    (axes,) = pattern.plot().axes
    assert all(tick % 1 == 0 for tick in axes.get_yticks())


def test_the_axes_of_an_audit_reach_no_farther_than_its_widths(pattern):
    audit = tc.audit(pattern.problem, pattern)
    (axes,) = audit.plot().axes
    assert axes.get_xlim()[0] >= audit.to_frame()["required_width"].min() / 2


def test_a_table_without_a_drawing_of_its_own_shows_its_summary_and_first_rows():
    table = tc.examples.cox_rounded().table
    text = showing.html(table)
    assert table.summary() in text
    # Twenty of its cells and a head.
    assert text.count("<tr") == 21
