"""The bar for notebooks: what a search reports, and the share of the time that is used."""

from __future__ import annotations

import tablecloak as tc
from tablecloak.budget import Budget


def test_a_bar_shows_stage_loss_and_the_share_of_the_limit():
    with tc.ProgressBar() as bar, Budget.of(1000.0, progress=bar).interruptible() as budget:
        budget.report("search", 10.0, 5.0, 3)
        shown = bar.bar.desc
    assert shown == "search: loss 10, bound 5, gap 50.0 %, 3 open"
    assert 0 < bar.bar.n < 1000.0 <= round(bar.bar.total)


def test_a_search_with_a_bar_gives_what_it_gives_without():
    problem = tc.examples.cox_rounded()
    with tc.ProgressBar() as bar:
        pattern = tc.suppress(problem, progress=bar)
    assert pattern.loss == tc.suppress(problem).loss
