"""A verdict says what is proved of a release, and never less than an attack on it finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.certificates.verifier import read, verify
from tablecloak.protection import PROTECTIONS


def counts(seed, shape=(4, 5)):
    """Random counts with some small ones, as the problem of a minimum frequency of 3."""
    random = np.random.default_rng(seed)
    sizes = random.choice([1, 2, 4, 7, 12, 30], shape)
    cells = [(f"r{i}", f"c{j}") for (i, j), n in np.ndenumerate(sizes) for _ in range(n)]
    return tc.tabulate(pd.DataFrame(cells, columns=["r", "c"]), ["r", "c"]).protect(
        tc.MinimumFrequency(3)
    )


@pytest.mark.parametrize("method", [tc.controlled_rounding, tc.small_count_rounding])
def test_a_rounding_says_what_an_attack_on_every_sensitive_cell_finds(method):
    seen = set()
    for seed, base in ((0, 2), (0, 5), (1, 3), (2, 3)):
        rounded = method(counts(seed), base=base)
        audits = [tc.audit(problem, rounded) for problem in {counts(seed), rounded.problem}]
        first, *_, last = rounded.verdict().splitlines()
        said = [f"{a.count(tc.Verdict.PROTECTED)} of {len(a.verdicts)} sensitive" for a in audits]
        assert any(words in first for words in said)
        is_safe = all(audit.is_safe for audit in audits if audit.verdicts)
        assert first.startswith(f"{'Safe' if is_safe else 'NOT SAFE'} against all who know")
        assert ("do not publish" in last) != is_safe
        seen.add(is_safe)
    assert seen == {True, False}


def test_intervals_say_against_whom_and_how_many_cells_are_proved():
    found = tc.publish_intervals(tc.examples.cox_rounded(), blur=0)
    assert found.verdict().startswith("Safe against all who know the published intervals")
    assert "proved for 7 of 7 sensitive cells" in found.verdict()
    upper = tc.publish_intervals(tc.examples.cox_rounded(), require="upper")
    assert "only upper" in upper.verdict()


def test_an_adjustment_warns_first_of_all_where_most_cells_are_guessed_and_says_what_to_do():
    adjusted = tc.adjust(tc.examples.cox_rounded())
    assert tc.attack_adjustment(adjusted, knows="levels").share_recovered == 1
    first, second, *_, last = adjusted.verdict().splitlines()
    assert first.startswith(
        "WARNING: 7 of 7 sensitive cells are guessed to within their protection"
    )
    assert second.startswith("Protected against all who take the published values for true")
    assert "7 of 7 sensitive cells" in second and "Safe" not in adjusted.verdict()
    assert "publish this release only if nobody can learn the levels" in last
    assert "`recovery = 0.1`" in last and "cell suppression" in last
    assert "`tablecloak audit --knows levels`" in first


def test_an_adjustment_by_chance_says_how_many_are_guessed_and_what_chance_costs():
    adjusted = tc.adjust(tc.examples.cox_rounded(), recovery=0.1, seed=1)
    guessed = tc.attack_adjustment(adjusted).recovered.sum()
    first, second, *_ = adjusted.verdict().splitlines()
    assert first.startswith("Protected against all who take")
    assert second.startswith(f"{guessed} of 7 sensitive cells are guessed")
    assert "other attacks may guess more" in second and "10 %" in second
    assert "chance costs" in adjusted.verdict() and "larger categories" not in adjusted.verdict()


def test_an_adjustment_that_no_attack_undid_says_that_nothing_is_known(monkeypatch):
    def fails(*args, **options):
        raise tc.ModelError("no table lies that far from the published one")

    monkeypatch.setattr("tablecloak.publish.audit.attack_adjustment", fails)
    _, second, *_ = tc.adjust(tc.examples.cox_rounded()).verdict().splitlines()
    assert second.startswith("Not known: how many sensitive cells are guessed")


def test_where_nothing_is_sensitive_the_next_step_is_to_check_the_rules():
    table = counts(0).table
    problem = table.protect(tc.MinimumFrequency(1))
    assert not problem.n_sensitive
    for made in (
        tc.suppress(problem), tc.adjust(problem), tc.publish_intervals(problem),
        tc.controlled_rounding(problem),
    ):  # fmt: skip
        lines = made.verdict().splitlines()
        assert "no cell is sensitive" in lines[0].lower()
        assert lines[-1].startswith("Next: check the rules")
        assert "as safe" not in made.verdict()


def test_more_time_is_advised_only_where_the_limit_ended_the_search():
    problem = tc.examples.cox_rounded()
    cut = tc.suppress(problem, method="sequential", time_limit=0)
    assert "time limit above 0 s" in cut.verdict()
    # Either ends by itself with an open gap: a heuristic, and protection against insiders.
    whole = tc.suppress(problem, method="sequential", time_limit=1e4)
    held = tc.suppress(problem, protect_against="any-cell", hold="possible", time_limit=1e4)
    for by_itself in (whole, held):
        assert by_itself.avoidable_gap > 0.5 and not by_itself.ran_out
        assert "time limit above" not in by_itself.verdict()
        assert "tried all that it can try" in by_itself.verdict()


def test_how_long_a_search_took_does_not_tell_whether_its_time_ended_it():
    pattern = tc.suppress(tc.examples.cox_rounded(), method="sequential")
    late = replace(pattern, seconds=0.9 * pattern.time_limit)
    early = replace(pattern, seconds=0.0, ran_out=True)
    assert late.verdict() == pattern.verdict() != early.verdict()


def test_small_counts_say_of_their_search_what_it_says():
    assert tc.small_count_rounding(counts(0), base=3, time_limit=0).ran_out
    assert not tc.small_count_rounding(counts(0), base=3, time_limit=1e4).ran_out


def test_a_pattern_that_hides_nearly_everything_says_so_first():
    pattern = tc.suppress(tc.examples.cox_rounded())
    everything = replace(pattern, suppressed=~pattern.problem.frozen, time_limit=60.0, ran_out=True)
    first = everything.verdict().splitlines()[0]
    assert first.startswith("WARNING: all 45 cells that may be hidden are hidden")
    assert "raise the time limit" in first
    assert "WARNING" not in pattern.verdict()


def test_docs_jobs_and_the_app_promise_what_the_releases_say_and_nothing_else():
    page = (Path(__file__).parents[1] / "docs" / "guarantees.md").read_text("utf-8")
    ways = [way for way in PROTECTIONS if way.is_proved]
    assert len(ways) == 5
    for way in ways:
        assert f"| {way.promise()} |" in page
    assert all(not way.promise() for way in PROTECTIONS if not way.is_proved)


def test_a_certificate_is_short_to_look_at_and_writes_itself(tmp_path):
    proof = tc.suppress(tc.examples.cox_rounded()).certificate
    assert len(repr(proof)) < 200 and "7 sensitive cells" in repr(proof)
    proof.write(tmp_path / "proof.npz")
    assert any("7 sensitive cells" in line for line in verify(read(tmp_path / "proof.npz")))
