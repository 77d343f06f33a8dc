"""Which tables are protected together, with the arguments of `analyse_metadata` of rtauargus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NotRequired

import pandas as pd
from pydantic import Field
from typing_extensions import TypedDict

from tablecloak.planning.plan import Cluster, Plan, ProtectedTable
from tablecloak.planning.planner import plan
from tablecloak.service.answers import Columns, Table, columns_of, frame_of
from tablecloak.service.call import CALLS, Call, CallQuestion


class PublicationPlan(TypedDict):
    """The plan: `result` has one row for each table to protect, `published` for each to publish."""

    summary: str
    notes: list[str]
    result: Table
    published: NotRequired[Table]


@CALLS.register
@dataclass(frozen=True, kw_only=True)
class AnalyseMetadata(Call):
    """Plan a publication, with the arguments of `analyse_metadata` of rtauargus."""

    name: ClassVar[str] = "analyse_metadata"

    df_metadata: Annotated[Columns, Field(description="One row for each table to publish.")]
    df_eq_indicator: Annotated[
        Columns | None,
        Field(description="Equations between variables: eq_name, eq_indicator, unit."),
    ] = None
    verbose: Annotated[bool, Field(description="Whether to return the published tables too.")] = (
        False
    )

    def answer(self, question: CallQuestion) -> PublicationPlan:
        """Return the tables to protect, one row for each, with their cluster."""
        equations = self.df_eq_indicator
        found = plan(
            frame_of(self.df_metadata, "df_metadata"),
            equations=None if equations is None else frame_of(equations, "df_eq_indicator"),
        )
        answer: PublicationPlan = {
            "summary": found.summary(),
            "notes": list(found.notes),
            "result": columns_of(pd.DataFrame(list(_rows(found)))),
        }
        if self.verbose:
            answer["published"] = columns_of(found.to_frame())
        return answer


def _rows(found: Plan) -> Iterator[dict[str, Any]]:
    """One row for each table to protect, in the columns of rtauargus."""
    trees = {each.name: each.hierarchies for each in found.dimensions.values()}
    most = max(len(table.shape) for table in found.tables)
    for cluster in found.clusters:
        for table in cluster.tables:
            names = [_spanning(name, table, trees) for name in table.shape]
            names += [(None, None)] * (most - len(names))
            yield {
                "cluster": cluster.name,
                "table_name": ".".join(sorted(table.members)),
                "field": ".".join(cluster.fields),
                "indicator": _indicator(table, cluster),
                **{f"spanning_{at}": name for at, (name, _) in enumerate(names, start=1)},
                **{f"hrc_spanning_{at}": tree for at, (_, tree) in enumerate(names, start=1)},
            }


def _spanning(
    name: str, table: ProtectedTable, trees: dict[str, tuple[str, ...]]
) -> tuple[str | None, str | None]:
    """Return a dimension and its hierarchy, in the names of rtauargus."""
    if name == table.variable_dimension:
        return f"HRC_{name.upper()}^h", f"hrc_{name}"
    tree = next(iter(trees.get(name, ())), None)
    return (name, None) if tree is None else (tree.upper(), tree)


def _indicator(table: ProtectedTable, cluster: Cluster) -> str:
    if table.variable_dimension:
        return table.variable_dimension.upper()
    return ".".join(table.variables)
