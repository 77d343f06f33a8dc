"""Why a cell is confidential, in the letters that statistical authorities exchange.

References
----------
.. [1] SDMX, Code list for Confidentiality Status (CL_CONF_STATUS), version 1.2.
"""

from __future__ import annotations

from enum import Enum

from tablecloak.errors import InputError, suggestion


class Confidentiality(Enum):
    """Confidentiality status of a cell; the letters are those of CL_CONF_STATUS."""

    FREE = "F"
    """Free for publication."""
    SMALL_COUNT = "A"
    """Primary: few contributors."""
    ONE_DOMINATES = "O"
    """Primary: one contributor dominates."""
    TWO_DOMINATE = "T"
    """Primary: two contributors together dominate."""
    ONE_OR_TWO_DOMINATE = "G"
    """Primary: one contributor dominates, or two together; it is not told which."""
    OTHER_CONCENTRATION = "M"
    """Primary: by another measure of concentration, such as three contributors together."""
    CONFIDENTIAL = "C"
    """Primary, for any other reason, such as a request or a person's decision."""
    SECONDARY = "D"
    """Secondary, set by the sender: hidden because it protects other cells."""
    SECONDARY_OF_RECEIVER = "S"
    """Secondary, set and managed by the receiver."""
    INTERNAL = "N"
    """Not for publication: for internal use only."""
    EMBARGO = "E"
    """For internal use until the embargo ends, free afterwards."""
    MILITARY = "X"
    """Withheld for military reasons."""

    @classmethod
    def parse(cls, letter: object) -> Confidentiality:
        """Return the status with a letter.

        Raises
        ------
        InputError
            If it is no letter of the list.
        """
        try:
            return cls(letter)
        except ValueError:
            near = suggestion(str(letter), [status.value for status in cls])
            raise InputError(f"There is no confidentiality status {letter!r}.{near}") from None
