"""What outputs of one project disclose together, beside a naive attack on their records."""

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.safe import Outcome, Project
from tablecloak.safe.joint.audit import MOST_EXPLAINED
from tablecloak.safe.output import Figures

THRESHOLD = 4


def figures_of(keys, chosen, amounts=None, *, hidden=0.0, margin=True, rng=None):
    """Figures of a table of chosen records by some keys, a part of its cells hidden."""
    records = np.flatnonzero(chosen)
    _, group = np.unique(keys[records], axis=0, return_inverse=True)
    group = group.reshape(-1)
    n = group.max() + 1
    rows = np.eye(n)
    if rng is not None:
        rows = rows[rng.random(n) >= hidden]
    if margin:
        rows = np.vstack([rows, np.ones(n)])
    labels = tuple(f"figure {row}" for row in range(len(rows)))
    told = None if amounts is None else amounts[records]
    name = "records" if amounts is None else "turnover"
    return Figures(records, group, csr_array(rows), labels, told, name)


def random_project(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 12))
    keys = rng.integers(0, 3, (n, 3))
    amounts = rng.integers(1, 100, n).astype(float)
    outputs = []
    for _ in range(int(rng.integers(3, 11))):
        columns = rng.permutation(3)[: rng.integers(1, 3)]
        chosen = np.ones(n, dtype=bool)
        if rng.random() < 0.6:
            chosen = keys[:, rng.integers(3)] != rng.integers(3)
        if not chosen.any():
            continue
        values = amounts if rng.random() < 0.4 else None
        outputs.append(
            figures_of(keys[:, columns], chosen, values, hidden=rng.random() * 0.9, rng=rng)
        )
    return n, outputs


def stacked(n, outputs, variable):
    rows = [np.zeros((0, n))]
    for figures in outputs:
        if figures.variable == variable:
            within = np.zeros((figures.sums.shape[1], n))
            within[figures.group, figures.records] = 1
            rows.append(figures.sums.toarray() @ within)
    return np.vstack(rows)


def small_sets(n, matrix, earlier, contributor):
    """Every minimal group of too few contributors that follows now and did not before."""
    groups = np.arange(1, 2**n)[:, None] >> np.arange(n) & 1
    stands_behind = contributor[:, None] == np.unique(contributor)
    groups = groups[(groups @ stands_behind > 0).sum(axis=1) < THRESHOLD]
    groups = groups[follow(matrix, groups) & ~follow(earlier, groups)]
    found = []
    for group in groups[np.argsort(groups.sum(axis=1), kind="stable")]:
        some = set(np.flatnonzero(group).tolist())
        if not any(known <= some for known in found):
            found.append(some)
    return {tuple(sorted(some)) for some in found}


def follow(matrix, groups):
    """Whether each group is a combination of rows: its projection on them is the group itself."""
    onto = np.linalg.pinv(matrix) @ matrix if len(matrix) else np.zeros((groups.shape[1],) * 2)
    return np.abs(groups @ onto - groups).max(axis=1) < 1e-9


def begun(n, **limits):
    appetite = {"safe_threshold": THRESHOLD, "safe_pratio_p": 0.0, "safe_nk_k": 1.0} | limits
    project = Project(appetite)
    project.positions(pd.RangeIndex(n))
    return project


def test_verdicts_equal_those_of_a_naive_attack():
    n_disclosing = n_safe = 0
    for seed in range(10):
        n, outputs = random_project(seed)
        project = begun(n)
        for number, figures in enumerate(outputs):
            now = stacked(n, outputs[: number + 1], figures.variable)
            before = stacked(n, outputs[:number], figures.variable)
            expected = small_sets(n, now, before, np.arange(n))
            found, undecided = project.findings([figures])
            assert not undecided
            told = {tuple(finding.records.tolist()) for finding in found}
            assert told <= expected, (seed, number)
            assert bool(told) == bool(expected), (seed, number, expected)
            if len(expected) < 20:
                assert told == expected, (seed, number)
            for finding in found[:MOST_EXPLAINED]:
                assert_computed(n, finding, figures, project)
            n_disclosing += bool(expected)
            n_safe += not expected
            # Recorded all the same, so that later outputs are asked beside unsafe ones as well.
            project.record("table", "", Outcome(), figures=[figures])
    assert n_disclosing >= 12
    assert n_safe >= 12


def assert_computed(n, finding, asked, project):
    """The sum that is told gives the group that is told, and needs what is asked about."""
    total = np.zeros(n)
    for term in finding.terms:
        figures = project.outputs[term.output].figures[0] if term.output else asked
        within = np.zeros((figures.sums.shape[1], n))
        within[figures.group, figures.records] = 1
        row = figures.labels.index(term.label)
        total += term.coefficient * (figures.sums.toarray() @ within)[row]
    indicator = np.zeros(n)
    indicator[finding.records] = 1
    assert np.abs(total - indicator).max() < 1e-6
    assert finding.new_terms


def told(project, *figures):
    found, _ = project.findings(figures)
    return sorted(tuple(finding.records.tolist()) for finding in found)


def recorded(project, *figures):
    assert told(project, *figures) == []
    project.record("table", "", Outcome(), figures=figures)


def whole(n, chosen=None, amounts=None):
    """The total of chosen records."""
    chosen = np.ones(n, dtype=bool) if chosen is None else chosen
    return figures_of(np.zeros((n, 1)), chosen, amounts, margin=False)


def without(n, *records):
    chosen = np.ones(n, dtype=bool)
    chosen[list(records)] = False
    return chosen


def test_a_total_with_and_without_one_person():
    project = begun(20)
    recorded(project, whole(20))
    found, _ = project.findings([whole(20, without(20, 7))])
    assert [finding.records.tolist() for finding in found] == [[7]]
    assert found[0].text == (
        "output_0 [figure 0] - this output [figure 0] = records of 1 contributor, fewer than 4"
    )


def test_two_thresholds_of_age():
    age = np.arange(20)
    project = begun(20)
    recorded(project, whole(20, age >= 5))
    assert told(project, whole(20, age >= 8)) == [(5, 6, 7)]
    assert told(project, whole(20, age >= 9)) == []


def test_a_sub_population_and_its_complement():
    is_member = np.arange(20) < 17
    project = begun(20)
    recorded(project, whole(20))
    recorded(project, whole(20, np.arange(20) < 10))
    assert told(project, whole(20, is_member)) == [(17, 18, 19)]
    # The complement itself is a small group whatever came before.
    assert told(project, whole(20, ~is_member)) == [(17, 18, 19)]


def test_a_mean_and_a_count():
    """The mean of all times their count, less the same without one person, is that person's."""
    amounts = np.random.default_rng(0).integers(1, 100, 20).astype(float)
    project = begun(20)
    recorded(project, whole(20, amounts=amounts), whole(20))
    chosen = without(20, 3)
    found, _ = project.findings([whole(20, chosen, amounts), whole(20, chosen)])
    assert {finding.text.split(" = ")[1] for finding in found} == {
        "turnover of 1 contributor, fewer than 4",
        "records of 1 contributor, fewer than 4",
    }


def test_amounts_in_another_unit_or_on_another_scale_are_the_same_variable():
    amounts = np.random.default_rng(0).integers(1, 100, 20).astype(float)
    project = begun(20)
    recorded(project, whole(20, amounts=amounts))
    in_thousands = whole(20, without(20, 3), amounts / 1000)
    assert told(project, in_thousands) == [(3,)]
    squares = whole(20, without(20, 3), amounts**2)
    assert told(project, squares) == [(3,)]
    others = whole(20, without(20, 3), (amounts * 37) % 101)
    assert told(project, others) == []


def test_three_outputs_together():
    """Two halves and all but one of them: none of the three tells anything beside one other."""
    half = np.arange(20) < 10
    project = begun(20)
    recorded(project, whole(20, half))
    recorded(project, whole(20, ~half))
    assert told(project, whole(20, without(20, 4, 15))) == [(4, 15)]


def test_what_followed_before_is_not_blamed_on_a_new_output():
    project = begun(20)
    recorded(project, whole(20))
    leak = whole(20, without(20, 7))
    assert told(project, leak) == [(7,)]
    project.record("table", "", Outcome(), figures=[leak])
    assert told(project, whole(20, np.arange(20) < 10)) == []
    project.remove_output("output_1")
    assert told(project, leak) == [(7,)]


def test_records_of_one_contributor_count_once():
    """Five records of one firm are one contributor, in one class or in several."""
    firm = pd.Series(np.concatenate([np.zeros(5), np.arange(1, 16)]))
    project = Project({"safe_threshold": 4, "safe_pratio_p": 0, "safe_nk_k": 1}, contributor=firm)
    project.positions(firm.index)
    recorded(project, whole(20))
    found, _ = project.findings([whole(20, np.arange(20) >= 5)])
    assert [(f.n_contributors, f.records.tolist()) for f in found] == [(1, [0, 1, 2, 3, 4])]


def test_contributors_with_several_records_beside_a_naive_attack():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, outputs = random_project(seed)
        firm = rng.integers(0, 6, n)
        project = Project(
            {"safe_threshold": THRESHOLD, "safe_pratio_p": 0, "safe_nk_k": 1},
            contributor=pd.Series(firm),
        )
        project.positions(pd.RangeIndex(n))
        for number, figures in enumerate(outputs):
            now = stacked(n, outputs[: number + 1], figures.variable)
            before = stacked(n, outputs[:number], figures.variable)
            expected = small_sets(n, now, before, firm)
            assert bool(told(project, figures)) == bool(expected)
            project.record("table", "", Outcome(), figures=[figures])


def test_a_group_that_one_contributor_dominates():
    """Enough contributors follow by differencing, but one of them holds nearly all."""
    amounts = np.random.default_rng(0).uniform(1, 2, 40)
    amounts[[5, 6, 7, 30]] = 1000
    project = begun(40, safe_pratio_p=0.1, safe_nk_k=0.9)
    recorded(project, whole(40, amounts=amounts))
    found, _ = project.findings([whole(40, np.arange(40) < 30, amounts)])
    assert [(f.rule, f.n_contributors) for f in found] == [("p-ratio", 10)]


def naive_estimates(matrix, amounts, share):
    """Records whose amount somebody estimates within a share: one program for each two records."""
    from scipy.optimize import linprog

    n = len(amounts)
    told = matrix @ amounts
    close = set()
    for record in range(n):
        for attacker in [None, *(other for other in range(n) if other != record)]:
            bounds = [(0, None)] * n
            if attacker is not None:
                bounds[attacker] = (amounts[attacker], amounts[attacker])
            cost = np.zeros(n)
            cost[record] = -1
            answer = linprog(cost, A_eq=matrix, b_eq=told, bounds=bounds, method="highs")
            if answer.status == 0 and -answer.fun < (1 + share) * amounts[record] * (1 - 1e-6):
                close.add(record)
                break
    return close


def test_estimates_equal_those_of_a_naive_attack():
    n_close = n_safe = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n = 8
        keys = rng.integers(0, 3, (n, 2))
        # Nobody knows more of the smallest than that it is not negative.
        amounts = np.round(rng.lognormal(3, 1.5, n)) + 1
        amounts -= amounts.min()
        project = begun(n, safe_threshold=1, safe_pratio_p=0.2)
        shown, known = [], set()
        for _ in range(4):
            columns = rng.permutation(2)[: rng.integers(1, 3)]
            chosen = np.ones(n, dtype=bool)
            if rng.random() < 0.5:
                chosen = keys[:, 0] != rng.integers(3)
            if not chosen.any():
                continue
            figures = figures_of(keys[:, columns], chosen, amounts, hidden=0.7, rng=rng)
            shown.append(figures)
            close = naive_estimates(stacked(n, shown, "turnover"), amounts, 0.2)
            found = told(project, figures)
            if close - known:
                assert found
            # A group that follows now, where its members were only estimated before, is told again.
            assert all(set(group) & close for group in found)
            n_close += bool(close - known)
            n_safe += not found
            known |= close
            project.record("table", "", Outcome(), figures=[figures])
    assert n_close
    assert n_safe
