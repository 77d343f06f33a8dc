"""Example data: small tables from the literature, invented records, and files to try commands on.

`write` and the command ``tablecloak example`` put files into a folder; `EXAMPLES` is the registry
of what they can write.
"""

from tablecloak.examples.files import write
from tablecloak.examples.records import businesses, census, demography, firms, people
from tablecloak.examples.two_way import cox, cox_rounded

__all__ = ["businesses", "census", "cox", "cox_rounded", "demography", "firms", "people", "write"]
