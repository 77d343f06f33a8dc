"""How much work a search may take."""

from dataclasses import dataclass


@dataclass
class SearchWork:
    """How many programs may still be solved: what a search may take, whatever the clock says."""

    left: int

    def is_over(self) -> bool:
        """Take one program, and return whether there was none left."""
        self.left -= 1
        return self.left < 0
