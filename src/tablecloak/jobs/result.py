"""What a job produced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tablecloak.protection import Material, Product
from tablecloak.publish.register import Entry
from tablecloak.results import Result
from tablecloak.tables.problem import ProtectionProblem

OPEN_INSIDERS = "open insiders"
"""Figure of a result: insiders who succeed, or whose attack is not settled."""


@dataclass(frozen=True, eq=False)
class JobResult:
    """What a job produced.

    Parameters
    ----------
    material : Material
        What the job protected.
    products : dict of str to Product
        The releases, each with its audit, by the names of the ways to protect.
    files : list of Path
        All files that were written.
    failures : dict of str to str
        Ways that gave no release although another did, and why.
    entries : list of Entry
        What the register says of the release, if the job names one.
    withheld : dict of str to str
        Ways whose release was found but not written to ``release/``, and why. Its files, if
        there are any, lie in ``internal/withheld/``.
    """

    material: Material
    products: dict[str, Product]
    files: list[Path] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    withheld: dict[str, str] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    @property
    def problem(self) -> ProtectionProblem:
        """The table that was protected."""
        return self.material.problem

    @property
    def parts(self) -> tuple[ProtectionProblem, ...]:
        """The problem of each variable, whose cells are those of `problem` in this order."""
        return self.material.variables

    def release(self, way: str) -> Any:
        """Return the release of a way to protect; None if there is none."""
        return self.products[way].release if way in self.products else None

    def audit(self, way: str) -> Any:
        """Return the audit of the release of a way to protect; None if there is none."""
        return self.products[way].audit if way in self.products else None

    @property
    def pattern(self) -> Any:
        """The suppression pattern, or None."""
        return self.release("suppression")

    @property
    def adjustment(self) -> Any:
        """The adjusted table, or None."""
        return self.release("adjustment")

    @property
    def is_safe(self) -> bool:
        """Whether every release passed its audit, and none was withheld."""
        audits = [product.audit for product in self.products.values()]
        return not self.withheld and all(audit.is_safe for audit in audits if audit is not None)

    def lines(self) -> Iterator[str]:
        """Yield what was done, and how the audits went. Secret."""
        for product in self.products.values():
            yield from product.way.lines(product)

    def statements(self) -> Iterator[str]:
        """Yield what is promised of safe releases."""
        for product in self.products.values():
            if promise := product.way.promise():
                yield f"{product.way.noun.capitalize()}: {promise}"
            yield from product.way.statements(product)
        for entry in self.entries:
            yield from entry.statements()

    def refusals(self) -> Iterator[str]:
        """Yield what is said of releases that are not safe, each sentence once."""
        unsafe = [
            product
            for name, product in self.products.items()
            if name not in self.withheld and product.audit and not product.audit.is_safe
        ]
        yield from dict.fromkeys(product.way.refusal(product) for product in unsafe)

    def report(self) -> list[str]:
        """Return all that is said to people of the releases, line by line. Secret."""
        said = [*self.lines()]
        said += [f"no {name}: {why}" for name, why in self.failures.items()]
        return said + list(self.statements() if self.is_safe else self.refusals())

    def figures(self) -> dict[str, float]:
        """Return the size of the problem, and loss, bound and seconds of the first search. Secret.

        Cells and relations are missing where records are changed and not a table; the rest where
        nothing was minimised.
        """
        product = next(iter(self.products.values()))
        figures: dict[str, float] = {}
        if not product.way.is_alone:
            table = self.problem.table
            figures = {"cells": table.n_cells, "relations": table.n_relations,
                     "sensitive": self.problem.n_sensitive}  # fmt: skip
        release = product.release
        if isinstance(release, Result):
            figures |= {"loss": release.loss, "bound": release.bound, "seconds": release.seconds}
        figures |= {OPEN_INSIDERS: self.open_insiders} if self.open_insiders else {}
        return {name: float(figure) for name, figure in figures.items()}

    @property
    def open_insiders(self) -> int:
        """Number of insiders who succeed against a release, or whose attack is not settled."""
        return sum(one.way.open_insiders(one.release) for one in self.products.values())

    def summary(self) -> str:
        """Say in one line what was found. Secret: losses are sums of hidden values."""
        parts = [product.way.summary(product) for product in self.products.values()]
        failed = [f"no {name}: {why}" for name, why in self.failures.items()]
        kept = [f"release of the {name} withheld: {why}" for name, why in self.withheld.items()]
        return "; ".join([*parts, *failed, *kept])
