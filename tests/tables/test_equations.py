"""Equations between variables are read as they are written, or refused at the character."""

from __future__ import annotations

import pytest

import tablecloak as tc


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("active = births + survivors", {"active": -1, "births": 1, "survivors": 1}),
        ("toe = 0.086*gas + 1.0*oil", {"toe": -1, "gas": 0.086, "oil": 1}),
        ("toe=gas * 86e-3+oil", {"toe": -1, "gas": 0.086, "oil": 1}),
        ("a + b = c + d", {"a": -1, "b": -1, "c": 1, "d": 1}),
        ("net = gross - tax", {"net": -1, "gross": 1, "tax": -1}),
        ("- a = - 2*b", {"a": 1, "b": -2}),
        ('"sales (EUR)" = größe', {"sales (EUR)": -1, "größe": 1}),
        ("a = b + b", {"a": -1, "b": 2}),
    ],
)
def test_the_left_side_is_the_total_and_the_right_side_the_parts(text, terms):
    assert tc.Equation(text).terms == pytest.approx(terms)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "a variable is missing at character 1"),
        ("active = births +", "a variable is missing at character 18"),
        ("active births", "expected '+', '-' or '=' at character 8"),
        ("active", "'=' is missing at character 7"),
        ("a = b = c", "there is a second '=' at character 7"),
        ("a = 3", "the number 3 belongs to no variable"),
        ("a = 2*", "a variable is missing at character 7"),
        ("a = b*c", "a number is missing at character 7"),
        ("a = b / 2", "unexpected '/' at character 7"),
        ("a = b 2", "expected '+', '-' or the end at character 7"),
        ("a = a + b", "'a' cancels out"),
    ],
)
def test_a_faulty_equation_is_named_with_the_place_of_the_fault(text, fault):
    with pytest.raises(tc.InputError) as refused:
        tc.Equation(text, name="eq1")
    assert fault in str(refused.value)
    assert f"Equation eq1 ({text!r})" in str(refused.value)


def test_a_plain_sum_is_known_from_other_equations():
    assert tc.Equation("a = b + c").is_sum
    assert not tc.Equation("a + b = c + d").is_sum
    assert tc.Equation("a + b = c + d").is_plain
    assert not tc.Equation("a = 2*b").is_plain


def test_limits_are_codes_of_dimensions():
    assert tc.Equation("a = b", where={"region": "N"}).where == {"region": ("N",)}
    with pytest.raises(tc.InputError, match="`where` gives no code of 'region'"):
        tc.Equation("a = b", where={"region": []})
    with pytest.raises(tc.InputError, match="`tolerance` must be a number of 0 or more. Got -1"):
        tc.Equation("a = b", tolerance=-1)


def test_coefficients_become_whole_by_the_smallest_factor_unless_they_grow_too_large():
    assert tc.Equation("toe = 0.086*gas + 1.02*oil").factor == 500
    assert tc.Equation("a = 1000000*b").factor == 1
    assert tc.Equation("a = 0.5*b").factor == 2
    assert tc.Equation("a = 0.123456789*b + 3000*c").factor == 1
