"""Secure sums and regressions: exact values, what messages tell, and refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

import tablecloak as tc
from tablecloak.microdata.agencies.agency import Agency, FixedPoint, Ring, routes, secure_sum
from tablecloak.microdata.agencies.regression import secure_regression

MILLION = FixedPoint(modulus=10**6, fraction_bits=0)
VALUES = (1234, 499999, -777, 42)


def test_messages_of_the_worked_example_and_its_overflow():
    """The true sum 500,498 passes M/2: signed decoding would return -499,502."""
    modulus, passed, messages = 10**6, 739201, []
    for value in VALUES:
        passed = (passed + value) % modulus
        messages.append(passed)
    assert messages == [740435, 240434, 239657, 239699]
    assert (239699 - 739201) % modulus == 500498
    assert MILLION.decode(500498) == -499502
    with pytest.raises(tc.InputError, match="could exceed the limit of the modulus"):
        secure_sum(VALUES, arithmetic=MILLION)


def test_messages_are_those_of_the_protocol():
    sent = []
    values = (1234, 99999, -777, 42)
    found = secure_sum(
        values,
        arithmetic=MILLION,
        draw=lambda modulus: 739201,
        listener=lambda sender, receiver, numbers: sent.append((sender, receiver, *numbers)),
    )
    assert found == sum(values)
    assert [message[2] for message in sent] == [740435, 840434, 839657, 839699]
    assert sent[-1][:2] == ("agency 4", "agency 1")


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=3, max_size=8),
    st.integers(1, 4),
)
def test_secure_sum_equals_the_sum(values, shares):
    exact = [value / 64 for value in values]
    assert secure_sum(exact, shares=shares) == sum(exact)


@pytest.mark.parametrize("shares", [1, 3])
def test_messages_are_uniform_whatever_the_values(shares):
    seen = []
    for _ in range(400):
        secure_sum(
            (5, 7, 11, 13),
            shares=shares,
            listener=lambda sender, receiver, numbers: seen.append((sender, numbers[0])),
        )
    modulus = FixedPoint().modulus
    for name in ("agency 1", "agency 2", "agency 3"):
        share = [number / modulus for sender, number in seen if sender == name]
        assert kstest(share, "uniform").pvalue > 1e-4


def computed_by(
    pair: tuple[int, int], messages: list, values: list[float], shares: int
) -> dict[int, float]:
    """Numbers of others that two agencies can compute from the messages they see in a round."""
    arithmetic, found, k = FixedPoint(), {}, len(values)
    names = [f"agency {at + 1}" for at in range(k)]
    ours = {names[at] for at in pair}
    for victim in set(range(k)) - set(pair):
        # The leader puts a random number in at its start; its own number follows from the sum.
        total, seen = (0 if victim else arithmetic.encode(sum(values))), 0
        for share in range(shares):
            way = messages[share * k : (share + 1) * k]
            sent = [m for m in way if m[0] == names[victim] and m[1] in ours]
            got = [m for m in way if m[1] == names[victim] and m[0] in ours]
            if sent and got:
                seen += 1
                total += sent[0][2] - got[0][2]
        if seen == shares:
            found[victim] = arithmetic.decode(total % arithmetic.modulus)
    return found


@pytest.mark.parametrize("k", [4, 5, 6, 9, 12])
def test_with_two_shares_no_two_agencies_compute_the_number_of_a_third(k):
    values = [float(3 * at + 1) for at in range(k)]
    attacked = {1: 0, 2: 0, 3: 0}
    for shares in attacked:
        for _ in range(12 if shares > 1 else 1):
            messages: list = []
            secure_sum(
                values,
                shares=shares,
                listener=lambda *message, to=messages: to.append((*message[:2], message[2][0])),
            )
            for pair in itertools.combinations(range(k), 2):
                computed = computed_by(pair, messages, values, shares)
                assert all(computed[at] == values[at] for at in computed)
                attacked[shares] += len(computed)
    # The attack sees something where there is something to see.
    assert attacked[1] > 0
    assert attacked[2] == attacked[3] == 0


@pytest.mark.parametrize("shares", [1, 2, 3])
def test_every_agency_has_as_many_neighbours_as_the_shares_allow(shares):
    for k in range(3, 13):
        ways = routes(k, shares)
        assert all(sorted(way) == list(range(k)) and way[0] == 0 for way in ways)
        beside = [
            {w[(w.index(at) + step) % k] for w in ways for step in (-1, 1)} for at in range(k)
        ]
        assert min(map(len, beside)) >= min(2 * min(shares, 2), k - 1)
        assert routes(k, shares) == ways[:shares]


def test_two_agencies_are_refused():
    with pytest.raises(tc.InputError, match="At least 3 are needed"):
        secure_sum([1, 2])


@pytest.fixture(scope="session")
def engineers(instances):
    frame = pd.read_csv(instances / "prgeng.csv.gz")
    frame = frame[frame.occ.between(100, 109)]
    x = np.column_stack(
        [frame.age, frame.sex, frame.wkswrkd, frame.educ == 14, frame.educ == 16]
    ).astype(float)
    return x, frame.wageinc.to_numpy(dtype=float)


NAMES = ("age", "sex", "wkswrkd", "ms", "phd")


def split(data, k):
    x, y = data
    return [(x[part], y[part]) for part in np.array_split(np.arange(len(y)), k)]


@pytest.mark.parametrize("k", [3, 4, 10])
def test_regression_of_the_engineers(engineers, k):
    found = secure_regression(split(engineers, k), NAMES)
    expected = [-10228.170772, 469.060204, -9338.737604, 1302.517788, 14976.486680, 20527.513548]
    assert np.allclose(found.coefficients, expected, rtol=0, atol=1e-6)
    errors = [1812.344855, 30.059385, 737.056475, 22.369026, 814.919212, 1908.630622]
    assert np.allclose(found.standard_errors, errors, rtol=0, atol=1e-6)
    assert found.n == 16411
    assert found.sigma == pytest.approx(41988.345352, abs=1e-6)
    assert found.r2 == pytest.approx(0.21719903, abs=1e-8)
    assert found.adjusted_r2 == pytest.approx(0.21696045, abs=1e-8)
    x, y = engineers
    pooled = np.linalg.lstsq(np.column_stack([np.ones(len(y)), x]), y, rcond=None)[0]
    assert np.allclose(found.coefficients, pooled, rtol=1e-12)


def test_moments_of_the_engineers(engineers):
    x, y = engineers
    full = np.column_stack([np.ones(len(y)), x])
    diagonal = np.diag(full.T @ full)
    assert np.allclose(diagonal, [16411, 26843493.4, 29908, 36710785, 3383, 508], atol=0.05)
    assert y @ y == 92937872966300


def test_fewer_bits_cost_digits(engineers):
    coarse = FixedPoint(fraction_bits=16)
    found = secure_regression(split(engineers, 4), NAMES, arithmetic=coarse)
    exact = secure_regression(split(engineers, 4), NAMES)
    error = np.max(np.abs(found.coefficients / exact.coefficients - 1))
    assert 1e-12 < error < 1e-8


def test_logistic_regression_equals_that_of_pooled_records():
    random = np.random.default_rng(1)
    x = random.normal(size=(3000, 2))
    y = (random.random(3000) < 1 / (1 + np.exp(-(0.5 + x @ [1.0, -2.0])))).astype(float)
    parts = split((x, y), 3)
    found = secure_regression(parts, ["a", "b"], logistic=True)
    full, beta = np.column_stack([np.ones(3000), x]), np.zeros(3)
    for _ in range(30):
        chance = 1 / (1 + np.exp(-full @ beta))
        information = full.T @ (full * (chance * (1 - chance))[:, None])
        beta = beta + np.linalg.solve(information, full.T @ (y - chance))
    assert np.allclose(found.coefficients, beta, rtol=1e-7)
    assert np.allclose(found.standard_errors, np.sqrt(np.diag(np.linalg.inv(information))))
    assert np.abs(found.coefficients - [0.5, 1, -2]).max() < 0.4
    separated = [(a, (a[:, 0] > 0).astype(float)) for a, _ in parts]
    with pytest.raises(tc.ModelError, match="separate"):
        secure_regression(separated, ["a", "b"], logistic=True)


def test_columns_on_very_different_scales_are_scaled_first():
    random = np.random.default_rng(2)
    x = np.column_stack([random.normal(5000, 1, 900), random.normal(0, 0.01, 900)])
    y = 3 + 2 * x[:, 0] - 7 * x[:, 1] + random.normal(0, 0.1, 900)
    found = secure_regression(split((x, y), 3), ["a", "b"])
    pooled = np.linalg.lstsq(np.column_stack([np.ones(900), x]), y, rcond=None)[0]
    assert np.allclose(found.coefficients[1:], pooled[1:], rtol=1e-6)


def test_failures_reveal_nothing():
    secret = "7123.25"

    def broken(question, argument):
        raise ValueError(f"cannot read {secret}")

    def good(question, argument):
        return [1.0]

    sent = []
    ring = Ring(
        [Agency("one", good), Agency("two", broken), Agency("three", good)],
        listener=lambda *message: sent.append(message),
    )
    with pytest.raises(tc.SolverError, match="'two' did not answer") as caught:
        ring.sums("value")
    assert secret not in str(caught.value)
    assert caught.value.__cause__ is None
    assert not sent
    longer = Ring([Agency("one", good), Agency("two", good), Agency("three", lambda q, a: [1, 2])])
    with pytest.raises(tc.SolverError, match="2 numbers instead of 1"):
        longer.sums("value")


def test_what_does_not_fit_is_refused_before_anything_is_sent():
    sent = []
    with pytest.raises(tc.InputError, match="Nothing was sent"):
        secure_sum([1e30, 1, 1], listener=lambda *message: sent.append(message))
    assert not sent
    with pytest.raises(tc.InputError, match="their sum would be wrong"):
        Ring([Agency(n, lambda q, a: [1]) for n in "abc"], MILLION, largest=2e5)
    with pytest.raises(tc.InputError, match="missing or infinite"):
        secure_regression([(np.array([[np.nan]]), [1.0])] * 3, ["a"])
    collinear = [(np.ones((5, 1)), np.arange(5.0))] * 3
    with pytest.raises(tc.ModelError, match="linearly dependent"):
        secure_regression(collinear, ["a"])


# -- against least squares on pooled records ----------------------------------------------


@given(seed=st.integers(0, 1000), k=st.integers(3, 5), p=st.integers(1, 3))
def test_coefficients_and_errors_are_those_of_pooled_least_squares(seed, k, p):
    random = np.random.default_rng(seed)
    x = random.normal(10, 3, (40, p))
    y = 2 + x @ random.normal(size=p) + random.normal(size=40)
    parts = np.array_split(np.arange(40), k)
    found = secure_regression([(x[at], y[at]) for at in parts], [f"x{i}" for i in range(p)])
    full = np.column_stack([np.ones(40), x])
    beta, *_ = np.linalg.lstsq(full, y, rcond=None)
    residual = y - full @ beta
    sigma2 = residual @ residual / (40 - p - 1)
    assert found.coefficients == pytest.approx(beta, rel=1e-6, abs=1e-7)
    errors = np.sqrt(sigma2 * np.diag(np.linalg.inv(full.T @ full)))
    assert found.standard_errors == pytest.approx(errors, rel=1e-5)
    assert found.n == 40
    assert found.r2 == pytest.approx(1 - residual @ residual / np.sum((y - y.mean()) ** 2))


def test_the_number_of_shares_does_not_change_the_result():
    random = np.random.default_rng(3)
    data = [(random.normal(size=(10, 1)), random.normal(size=10)) for _ in range(4)]
    one, three = (secure_regression(data, ["x"], shares=shares) for shares in (1, 3))
    assert np.array_equal(one.coefficients, three.coefficients)


def test_a_column_that_is_a_sum_of_others_is_refused():
    random = np.random.default_rng(3)
    x = random.normal(size=(30, 2))
    x = np.column_stack([x, x.sum(axis=1)])
    data = [(x[at], random.normal(size=10)) for at in np.array_split(np.arange(30), 3)]
    with pytest.raises(tc.ModelError, match="linearly dependent"):
        secure_regression(data, ["a", "b", "c"])


def test_predictors_that_separate_the_response_have_no_logistic_fit():
    x = np.linspace(-1, 1, 30)[:, None]
    y = (x[:, 0] > 0).astype(float)
    data = [(x[at], y[at]) for at in np.array_split(np.arange(30), 3)]
    with pytest.raises(tc.ModelError, match="separate the response"):
        secure_regression(data, ["x"], logistic=True)
