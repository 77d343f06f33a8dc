"""Independent noise: each column gets noise of its own, in proportion to its variance.

References
----------
.. [1] Brand: Microdata protection through noise addition, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import InputError
from tablecloak.microdata.methods.method import METHODS
from tablecloak.microdata.methods.noise import NoiseMethod


@METHODS.register
@dataclass(frozen=True)
class IndependentNoise(NoiseMethod):
    """Add normal noise to each column by itself, in proportion to its variance.

    Variances grow by 1 + lambda^2 while covariances stay, so that correlations of two masked
    columns fall by 1 / (1 + lambda^2) [1]_. Noise that keeps correlations is `CovarianceNoise`.

    Parameters
    ----------
    columns : sequence of str
        Sensitive columns.
    noise : float
        lambda^2, the variance of the noise of each column as a share of that of its values.
    keep_zeros : bool, default=False
        Whether zeros stay zeros, as where they tell that somebody has no such income at all. Share
        and noise then refer to the other values. Zeros are published as they are.

    Notes
    -----
    Missing values stay missing. Columns of whole numbers become columns of floating-point numbers.
    """

    name: ClassVar[str] = "independent-noise"
    guide: ClassVar[str] = (
        "Publish the share: users need it to correct variances and slopes.\n\n"
        "Example: tablecloak independent-noise people.csv -o masked.csv --column wage --share 0.15"
    )

    keep_zeros: Annotated[bool, Field(description="Whether zeros stay zeros.")] = False

    def masked(self, values: Floats, random: np.random.Generator) -> tuple[Floats, Flags]:
        """Return values with noise.

        Raises
        ------
        InputError
            If zeros stay and all other values of a column are equal; names it.
        """
        chosen = ~np.isnan(values)
        if self.keep_zeros:
            chosen &= values != 0
        masked = values.copy()
        for at, name in enumerate(self.columns):
            touched = chosen[:, at]
            known = values[touched, at]
            if len(known) < 2 or known.min() == known.max():
                raise InputError(
                    f"All values of column {name!r} that are not 0 are equal: their variance is 0, "
                    "and so is noise as a share of it. Leave the column out."
                )
            spread = np.sqrt(self.noise * known.var(ddof=1))
            masked[touched, at] += spread * random.standard_normal(len(known))
        return masked, chosen
