"""Random orthogonal matrix masking: records are mixed by a rotation that keeps all moments.

References
----------
.. [1] Ting, Fienberg, Trottini: Random orthogonal matrix masking methodology for microdata release,
   2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import InputError
from tablecloak.microdata.methods.method import METHODS
from tablecloak.microdata.methods.noise import NoiseMethod, with_gaps

ROUNDS = 8
"""Rounds in which records are mixed: each then holds a part of up to 3^8 = 6,561 others."""


@METHODS.register
@dataclass(frozen=True)
class OrthogonalMasking(NoiseMethod):
    """Mix records by a random orthogonal matrix, which keeps means and covariances (ROMM).

    Released are T X, where T is orthogonal and T 1 = 1, so that sums, sums of squares and of
    products of the columns are those of X.

    Parameters
    ----------
    columns : sequence of str
        Sensitive columns, which are mixed by the same matrix.
    noise : float
        lambda^2: the released values have the correlation 1 / sqrt(1 + lambda^2) with the original
        ones, as with noise of this share of the variance. In small files chance moves it.

    Notes
    -----
    A matrix T without structure [1]_ would take time and memory in the square of the number of
    records. Here T is the product of eight rounds: in each, records are split into random triples,
    and each triple is rotated about the axis (1, 1, 1) by an angle, in a random direction, that is
    uniform between half and three halves of the usual one. One round keeps a share
    (1 + 2 cos(angle)) / 3 of the deviations on average, from which the usual angle follows. A
    million records with two columns take 2 seconds.

    With missing values, gaps count as means while records are mixed; means and variances of the
    known values still stay exactly, and covariances about.
    """

    name: ClassVar[str] = "romm"
    guide: ClassVar[str] = (
        "Example: tablecloak romm people.csv -o masked.csv --column wage --column bonus "
        "--share 0.15"
    )

    def masked(self, values: Floats, random: np.random.Generator) -> tuple[Floats, Flags]:
        """Return mixed values.

        Raises
        ------
        InputError
            If there are fewer than three records.
        """
        if len(values) < 3:
            raise InputError(
                f"{len(values)} records cannot be mixed while their mean and variance stay: three "
                "are needed. Give more records, or take the method 'noise'."
            )
        mean, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
        points = np.nan_to_num((values - mean) / spread, nan=0.0)
        kept = (1 + self.noise) ** (-0.5 / ROUNDS)
        usual = _usual_angle((3 * kept - 1) / 2)
        for _ in range(ROUNDS):
            _rotate_triples(points, usual, random)
        return with_gaps(values, mean + spread * points), ~np.isnan(values)


def _usual_angle(cosine: float) -> float:
    """Return the angle a whose cosine, averaged over a / 2 to 3 a / 2, is a number above -1/2."""
    if 1 - cosine < 1e-9:
        # By the second moment of the angle, 13 a^2 / 12: the difference of sines would be rounded.
        return float(np.sqrt(24 / 13 * (1 - cosine)))
    found = brentq(lambda a: (np.sin(1.5 * a) - np.sin(0.5 * a)) / a - cosine, 1e-6, 2.5)
    return float(found)


def _rotate_triples(points: Floats, usual: float, random: np.random.Generator) -> None:
    """Rotate random triples of records about (1, 1, 1), in place.

    By Rodrigues' formula, a triple (a, b, c) with mean m becomes m + cos (a - m) + sin (c - b) /
    sqrt(3), and so on around.
    """
    triples = random.permutation(len(points))[: len(points) // 3 * 3].reshape(3, -1)
    direction = np.where(random.random(triples.shape[1]) < 0.5, -1.0, 1.0)
    angle = direction * random.uniform(0.5 * usual, 1.5 * usual, triples.shape[1])
    cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None] / np.sqrt(3)
    a, b, c = (points[part] for part in triples)
    mean = (1 - cosine) / 3 * (a + b + c)
    points[triples[0]] = mean + cosine * a + sine * (c - b)
    points[triples[1]] = mean + cosine * b + sine * (a - c)
    points[triples[2]] = mean + cosine * c + sine * (b - a)
