"""What follows a command, taken piece by piece until nothing is left."""

from __future__ import annotations

import pytest

import tablecloak as tc
from tablecloak.argus.arguments import Arguments


def of(text: str) -> Arguments:
    return Arguments("job.arb, line 7", text)


def test_pieces_are_taken_in_their_order():
    arguments = of('MOD(1, 5.5 ,"a file.csv")')
    assert arguments.word("a method") == "MOD"
    arguments.take("(")
    assert arguments.whole("a table", 0) == 1
    arguments.take(",")
    assert arguments.number("minutes") == 5.5
    arguments.take(",")
    assert arguments.quoted("a file") == "a file.csv"
    arguments.take(")")
    arguments.end()
    assert arguments.is_read


def test_nothing_that_is_left_is_passed_over():
    arguments = of("1, 2")
    arguments.whole("a table", 0)
    with pytest.raises(tc.InputError, match=r"job.arb, line 7: ', 2' was not understood"):
        arguments.end()


def test_a_missing_quotation_mark_is_named():
    with pytest.raises(tc.InputError, match="line 7: a quotation mark is missing"):
        of('"a.csv')


def test_words_without_quotes_stay_together_up_to_the_next_mark():
    arguments = of("my table.csv , x")
    assert arguments.optional() == "my table.csv"
    assert arguments.next_is(",")
    assert not arguments.maybe("|")
    assert arguments.maybe(",")
    assert arguments.left == "x"


@pytest.mark.parametrize("text", ["", ", 1", "|"])
def test_what_may_be_missing_is_empty_and_what_must_not_is_an_error(text):
    assert of(text).optional() == ""
    with pytest.raises(tc.InputError, match="a variable is missing before"):
        of(text).word("a variable")


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("10", 10), ("-3", -3), ("0.5", 0.5), (".5", 0.5), ("-.2", -0.2)]
)
def test_numbers_are_written_as_tau_argus_writes_them(text, number):
    assert of(text).number("a level") == number


@pytest.mark.parametrize("text", ["00", "01", "1e3", "1.", "0x10", "inf", "\u0661", "1_0", "+1"])
def test_other_spellings_may_be_two_numbers_without_their_comma_and_are_refused(text):
    with pytest.raises(tc.InputError, match="a level must be a number"):
        of(text).number("a level")


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0, 10, "from 0 to 10"), (20, float("inf"), "from 20"), (float("-inf"), 3, "to 3")],
)
def test_limits_are_told(low, high, words):
    with pytest.raises(tc.InputError, match=f"a level must be a number {words}, found '11'"):
        of("11").number("a level", low, high)


def test_a_fraction_is_no_whole_number():
    assert of("3").whole("a table", 0) == 3
    with pytest.raises(tc.InputError, match="a table must be a whole number, found 2.5"):
        of("2.5").whole("a table", 0)


@pytest.mark.parametrize(("text", "found"), [("abc", "'abc'"), ("", "'nothing'"), ("(", "'.'")])
def test_what_stands_in_the_place_of_quotes_is_named(text, found):
    with pytest.raises(tc.InputError, match=f"expected a file in quotation marks, found {found}"):
        of(text).quoted("a file")


def test_a_mark_that_does_not_come_is_named():
    with pytest.raises(tc.InputError, match=r"expected '\)', found 'the end of the line'"):
        of("").take(")")
