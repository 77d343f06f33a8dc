"""What an asker is told of errors, and what not."""

from __future__ import annotations

from pathlib import Path

import pytest

import tablecloak as tc
from tablecloak.errors import where_raised
from tablecloak.registry import Registry
from tablecloak.service.faults import fault_of
from tablecloak.service.request import RequestError

FOLDER = Path("/tmp/private/0123")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (tc.InputError("x."), "input"),
        (tc.ModelError("x."), "impossible"),
        (tc.SolverError("x."), "solver"),
        (tc.VerificationError("x."), "verification"),
        (RequestError("is missing.", "data"), "input"),
        (ValueError("x."), "internal"),
        (MemoryError(), "input"),
    ],
)
def test_every_error_has_its_kind(error, kind):
    assert fault_of(error, FOLDER).kind == kind


def test_files_are_named_as_they_were_sent():
    error = tc.InputError(f"{FOLDER / 'cells.csv'}: Row 1 in {FOLDER} is odd.")
    assert fault_of(error, FOLDER).message == "cells.csv: Row 1 in files is odd."


def test_a_fault_of_a_request_has_its_place():
    fault = fault_of(RequestError("is missing. Add it.", "data.file"), FOLDER)
    assert (fault.place, fault.message) == ("data.file", "data.file: is missing. Add it.")
    told = RequestError("request: data is missing.", "data")
    assert str(told) == "request: data is missing."


def test_an_internal_error_tells_file_and_line_of_ours_and_no_value():
    try:
        Registry("thing").register(type("Nameless", (), {"name": None, "value": 4711}))
    except ValueError as error:
        fault = fault_of(error, FOLDER)
        assert where_raised(error).startswith(" in registry.py, line ")
        assert "ValueError in registry.py, line" in fault.message
        assert "Nameless" not in fault.message
    else:
        raise AssertionError("a class without a name was registered")


def test_an_error_from_elsewhere_has_no_line_of_ours():
    assert where_raised(KeyError("x")) == ""


def test_marks_that_steer_a_terminal_are_written_out():
    assert "\x1b" not in fault_of(tc.InputError("code \x1b[31m"), FOLDER).message
