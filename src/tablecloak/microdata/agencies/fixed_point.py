"""Numbers as integers modulo M: plus a random number, such an integer reveals nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.errors import InputError


@dataclass(frozen=True)
class FixedPoint:
    """Numbers as integers modulo M.

    Parameters
    ----------
    modulus : int, default=2**128
    fraction_bits : int, default=32
        Numbers are rounded to multiples of 2**-fraction_bits.
    """

    modulus: int = 1 << 128
    fraction_bits: int = 32

    def encode(self, value: float) -> int:
        """Return a number modulo M.

        Raises
        ------
        InputError
            If it is not finite, or not below M/2 in absolute value.
        """
        if not np.isfinite(value):
            raise InputError(
                "A number to be summed is missing or infinite. Check the records of the agency."
            )
        whole = round(value * (1 << self.fraction_bits)) if self.fraction_bits else round(value)
        if abs(whole) >= self.modulus // 2:
            raise InputError(
                f"A number does not fit: with this modulus sums must stay below "
                f"{self.limit:g}. Take a larger modulus, or fewer bits for fractions."
            )
        return whole % self.modulus

    def decode(self, value: int) -> float:
        """Return the number for an integer modulo M; integers from M/2 are negative numbers."""
        signed = value - self.modulus if value >= self.modulus // 2 else value
        return signed / (1 << self.fraction_bits)

    @property
    def limit(self) -> float:
        """Absolute value below which sums must stay."""
        return (self.modulus // 2) / (1 << self.fraction_bits)
