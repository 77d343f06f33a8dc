"""Sums and regressions over the records of several agencies, none of which shows any."""

from tablecloak.microdata.agencies.protocol import (
    AgencyAddress,
    Study,
    make_certificate,
    read_study,
    take_part,
)

__all__ = ["AgencyAddress", "Study", "make_certificate", "read_study", "take_part"]
