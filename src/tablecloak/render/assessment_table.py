"""How a notebook shows an assessment: risk and utility, each measure with what it means."""

from __future__ import annotations

from html import escape

import numpy as np

from tablecloak import showing
from tablecloak.microdata.assessment.assess import Assessment

__all__ = ["assessment_table"]


@showing.html.register
def assessment_table(assessment: Assessment) -> str:
    """Show the summary, and one table for each kind of measure."""
    text = f"<p>{escape(assessment.summary())}</p>"
    table = assessment.table
    for kind in ("risk", "utility"):
        part = table[table["kind"] == kind]
        rows = "".join(
            f"<tr><th>{escape(str(measure))}</th><td>{_number(float(before))}</td>"
            f"<td>{_number(float(after))}</td><td>{escape(str(meaning))}</td></tr>"
            for measure, before, after, meaning in zip(
                part["measure"], part["before"], part["after"], part["meaning"], strict=True
            )
        )
        head = f"<tr><th>{kind}</th><th>before</th><th>after</th><th>meaning</th></tr>"
        text += f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
    return text


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
