"""Classifications that come with the package, as hierarchies with labels: one sibling for each."""

from tablecloak.tables.classifications.classification import CLASSIFICATIONS, Classification

__all__ = ["CLASSIFICATIONS", "Classification"]
