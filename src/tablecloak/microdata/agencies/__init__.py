"""Sums and regressions over the records of several agencies, none of which reveals any record."""

from tablecloak.microdata.agencies.protocol import take_part
from tablecloak.microdata.agencies.study import AgencyAddress, Study, make_certificate, read_study

__all__ = ["AgencyAddress", "Study", "make_certificate", "read_study", "take_part"]
