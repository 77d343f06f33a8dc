"""What the verifier says of arrays beside the file of a problem."""

from __future__ import annotations

import pytest

from forging import Verdict


@pytest.fixture
def verdict(tmp_path, capsys):
    one = Verdict(tmp_path)
    one.capsys = capsys
    return one
