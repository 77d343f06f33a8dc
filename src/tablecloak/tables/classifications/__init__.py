"""Classifications that come with the package, as hierarchies with labels: siblings, by subject."""

from tablecloak.tables.classifications.classification import CLASSIFICATIONS, Classification

__all__ = ["CLASSIFICATIONS", "Classification"]
