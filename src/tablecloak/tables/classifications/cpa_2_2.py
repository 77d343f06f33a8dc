"""CPA 2.2."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from tablecloak.tables.classifications.classification import CLASSIFICATIONS
from tablecloak.tables.classifications.nace_2_1 import NACE21


@CLASSIFICATIONS.register
class CPA22(NACE21):
    """Products by activity, as 01.11.11, over the codes of NACE Rev. 2.1; without labels."""

    name = "cpa-2.2"
    title = "CPA 2.2"
    source = "Each code of a product begins with that of its activity in NACE Rev. 2.1"
    further = r"\d\d\.\d\d\.\d\d?"

    @cached_property
    def entries(self) -> Mapping[str, tuple[str, str]]:
        """Codes of activities; their labels are none of products."""
        return {code: (above, "") for code, (above, _) in super().entries.items()}
