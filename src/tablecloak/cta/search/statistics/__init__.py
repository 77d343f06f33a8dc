"""Statistics of two cells or more that no linear row expresses: a search keeps them."""
