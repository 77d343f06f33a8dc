"""Colours of statuses: text on them can be read, and they differ for every kind of eyes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tablecloak.render.palette import INK, PAPER, STATUS, colours

EYES = {
    "all colours": np.eye(3),
    # Machado, Oliveira and Fernandes (2009), table 1, severity 1; for linear RGB.
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                 [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> np.ndarray:
    shares = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.2."""
    low, high = sorted(float(XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, eyes: str) -> np.ndarray:
    seen = np.clip(np.array(EYES[eyes]) @ linear(colour), 0, 1)
    share = XYZ @ seen / XYZ.sum(axis=1)
    x, y, z = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("time", [0, 1])
def test_text_on_every_status_has_the_contrast_that_wcag_asks_for(time):
    for colour in (PAPER[time], *(pair[time] for pair in STATUS.values())):
        assert contrast(colour, INK[time]) >= 4.5


@pytest.mark.parametrize("time", [0, 1])
@pytest.mark.parametrize("eyes", EYES)
def test_statuses_that_stand_side_by_side_differ_for_all_eyes(time, eyes):
    """A difference of 2.3 in CIELAB is just seen; 12 is seen at a glance."""
    inside = [STATUS[name][time] for name in STATUS if name != "suppressed"]
    for one, other in combinations([PAPER[time], *inside], 2):
        assert np.linalg.norm(lab(one, eyes) - lab(other, eyes)) > 12
    hidden = STATUS["suppressed"][time]
    assert np.linalg.norm(lab(PAPER[time], eyes) - lab(hidden, eyes)) > 12


def test_what_readers_get_does_not_name_the_statuses_of_those_who_made_it():
    public = colours(["suppressed"])
    assert "suppressed" in public
    assert not any(f"--{name}:" in public for name in STATUS if name != "suppressed")
