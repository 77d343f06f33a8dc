"""Write a table with our pattern as a JJ file in which secondaries are marked m."""

import sys

import numpy as np

import tablecloak as tc
from tables import TABLES

problem = TABLES[sys.argv[1]]()
pattern = tc.suppress(problem, method="sequential", time_limit=40)
status = np.where(pattern.secondary, "m", problem.status)
tc.write_jj(problem.with_changes(status=status), sys.argv[2])
