"""What follows a command, taken piece by piece until nothing is left."""

from __future__ import annotations

import pytest

import tablecloak as tc
from tablecloak.argus.lines import (
    Arguments,
    Command,
    SuppressionLine,
    read_rules,
    read_specification,
    read_writing,
)
from tablecloak.argus.methods import read_suppression
from tablecloak.argus.run import read_batch


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


def given(text: str) -> Arguments:
    return Arguments("job.arb, line 3", text)


def batch(tmp_path, text: str) -> list[Command]:
    path = tmp_path / "job.arb"
    path.write_text(text)
    return read_batch(path)


def test_commands_keep_their_line_and_what_follows(tmp_path):
    found = batch(tmp_path, '// a job\n<openTableData> "x.tab"\n\n<SILENT>\n')
    assert [(c.line, c.name, c.text) for c in found] == [
        (2, "OPENTABLEDATA", '"x.tab"'),
        (4, "SILENT", ""),
    ]


def test_a_comment_ends_a_line_but_not_within_quotes(tmp_path):
    found = batch(tmp_path, '<LOGBOOK> "a//b.txt" // keep it\n')
    assert found[0].text == '"a//b.txt"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("OPENTABLEDATA x\n", "line 1: expected <COMMAND>, found 'OPENTABLEDATA x'"),
        ("\n<SUPRESS> MOD(1)\n", "line 2: <SUPRESS> is not known. Did you mean 'SUPPRESS'"),
        ("// nothing\n", "no command was found"),
    ],
)
def test_lines_that_are_no_commands_are_refused(tmp_path, text, message):
    with pytest.raises(tc.InputError, match=message):
        batch(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a"|"v"', (["a"], "v", "", "", 1.0)),
        ('"a""b"|v', (["a", "b"], "v", "", "", 1.0)),
        ('"a"|"v"|"s"|"c"', (["a"], "v", "s", "c", 1.0)),
        ('"a"|"v"||"-2",0', (["a"], "v", "", "-2", 0.0)),
        ('"a"|"<freq>"||"-1",0.5', (["a"], "<freq>", "", "-1", 0.5)),
    ],
)
def test_specifications_name_dimensions_response_shadow_and_costs(text, expected):
    found = read_specification(given(text))
    assert (found.dimensions, found.response, found.shadow, found.cost, found.power) == expected


@pytest.mark.parametrize("text", ["a|v", '"a"', '"a"|', '"a"|"v"|"s"|"c",-1', '"a"|"v" x'])
def test_specifications_that_lack_something_are_refused(text):
    with pytest.raises(tc.InputError, match="job.arb, line 3"):
        read_specification(given(text))


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", []),
        ("P(10,1)", ["P(10,1)"]),
        ("p(20)|freq(3,30)|", ["P(20)", "FREQ(3,30)"]),
        ("NK(3,75)|NK(1,60)|ZERO(20)|WGT(1)", ["NK(3,75)", "NK(1,60)", "ZERO(20)", "WGT(1)"]),
        ("P(10,20,2)", ["P(10,20,2)"]),
        ("REQ(70,80,3,4)", ["REQ(70,80,3,4)"]),
    ],
)
def test_rules_have_their_numbers(text, rules):
    assert [str(rule) for rule in read_rules(given(text))] == rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Q(10)", "there is no rule 'Q'"),
        ("P 10", "is no rule such as"),
        ("REQ(15,5,3)", "REQ takes 4 numbers, found 3; write REQ.k1,k2,n,r.: per cents"),
        ("NK(80,2)", "did you mean NK.2,80."),
        ("P(10,1,2,3)", "P takes 1 to 3 numbers, found 4"),
        ("FREQ(3)", "FREQ takes 2 numbers, found 1; write FREQ.n,r."),
        ("FREQ(2.5,10)", "number 1 of FREQ must be whole, found 2.5"),
        ("P(10,1.5)", "number 2 of P must be whole"),
        ("NK(3,-5)", "number 2 of NK must be a number from 0"),
        ("MIS(2)", "MIS takes 0 or 1, found 2"),
        ("ZERO(1)|ZERO(2)", "there are too many rules ZERO"),
        ("P(1)|P(2)|P(3)|P(4)|P(5)", "there are too many rules P"),
        ("P(10", r"expected '\)'"),
        ("P(10) FREQ(3,1)", r"expected '\|'"),
    ],
)
def test_rules_that_are_none_are_refused(text, message):
    with pytest.raises(tc.InputError, match=message):
        read_rules(given(text))


def test_a_method_keeps_the_numbers_that_were_given_by_their_names():
    found = read_suppression(given("MOD(1,5,1,1,1)"))
    assert found.method == "MOD"
    assert found.table == 1
    assert next(iter(found.numbers)) == "minutes"
    assert found.has(*found.numbers)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CKM(1)", "cell keys .CKM. are not supported"),
        ("MOX(1)", "the method 'MOX' is not known. Did you mean 'MOD'"),
        ("MOD,1", r"expected '\('"),
        ("MOD(-1)", "the number of a table must be a number from 0"),
        ("OPT(1,1,1,1,1,1,1,1,1,1)", "OPT takes at most"),
        ("MOD(1) x", "'x' was not understood"),
    ],
)
def test_methods_that_are_none_are_refused(text, message):
    with pytest.raises(tc.InputError, match=message):
        read_suppression(given(text))


def test_nothing_was_asked_for_that_was_not_given():
    assert not SuppressionLine("MOD", 1, {"singletons": 0.0}).has("singletons", "multiple")


def test_a_table_is_written_with_its_options():
    found = read_writing(given('(2,3,AS+SE-QU+,"out.csv")'))
    assert (found.table, found.kind, found.file) == (2, 3, "out.csv")
    assert found.options == {"AS": True, "SE": False, "QU": True}


@pytest.mark.parametrize(
    ("kind", "number", "options"),
    [
        (1, 0, ""), (1, 1, ""), (2, 0, ""), (2, 1, "AS+"), (3, 0, ""), (3, 1, "AS+"), (3, 2, "SE+"),
        (3, 3, "AS+SE+"), (4, 0, ""), (5, 0, "SO+"), (5, 1, ""),
    ],
)  # fmt: skip
def test_numbers_of_older_batches_stand_for_named_options(kind, number, options):
    """Manual of tau-ARGUS 4.1, WRITETABLE."""
    old = read_writing(given(f'(1,{kind},{number},"a")'))
    assert old == read_writing(given(f'(1,{kind},{options},"a")'))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('(1,3,4,"a")', "type 3 takes the numbers 0 to 3, found 4"),
        ('(1,3,XX+,"a")', r"'XX.' is no option such as AS. or SE-.(?!.*TR)"),
        ('(1,1,"a")', r"write WRITETABLE as .table, type, options, file."),
        ('(1,3,AS,"a")', "'AS' is no option such as"),
        ('(1,3,AS+AS-,"a")', "the option AS is given twice"),
        ("(1,3,AS+,)", "the name of a file is missing"),
        ('(0,3,,"a")', "the number of a table must be a number from 1"),
    ],
)
def test_writing_that_says_too_little_is_refused(text, message):
    with pytest.raises(tc.InputError, match=message):
        read_writing(given(text))


def test_an_error_names_file_and_line_once(tmp_path):
    command = Command(tmp_path / "job.arb", 5, "SOLVER", "")
    with (
        pytest.raises(tc.ModelError, match="job.arb, line 5: no way out") as error,
        command.named(),
    ):
        raise tc.ModelError("no way out", cells=[3])
    assert error.value.cells == (3,)
    with pytest.raises(tc.InputError) as error, command.named():
        raise command.arguments().fail("wrong")
    assert str(error.value).count("line 5") == 1
