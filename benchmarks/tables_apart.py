"""Tables that no relation joins as one problem, such as one a year without sums over the years."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.sparse import block_diag, csr_array

import tablecloak as tc


def side_by_side(problems: Sequence[tc.ProtectionProblem]) -> tc.ProtectionProblem:
    """Several problems as one, whose cells no relation joins."""
    tables = [problem.table for problem in problems]
    keys = [
        pd.DataFrame({"part": str(number), "cell": [str(cell) for cell in range(table.n_cells)]})
        for number, table in enumerate(tables)
    ]
    table = tc.Table(
        keys=pd.concat(keys, ignore_index=True),
        values=np.concatenate([table.values for table in tables]),
        relations=csr_array(block_diag([table.relations for table in tables], format="csr")),
        right_hand_side=np.concatenate([table.right_hand_side for table in tables]),
    )
    arrays = {
        name: np.concatenate([problem.by_name()[name] for problem in problems])
        for name in problems[0].by_name()
    }
    return tc.ProtectionProblem(table=table, **arrays)
