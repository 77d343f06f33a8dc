"""Sizes, numbers of steps and shares of first-order methods, as data.

All were measured on made tables of 16,401 to 1,018,023 cells: docs/decisions, "First-order
methods".
"""

from __future__ import annotations

FIRST_ORDER_CELLS = 100_000
"""Cells from which a table is adjusted by first-order methods."""

# -- search of directions -------------------------------------------------------------------

COOLING_STEPS = 300
"""Steps of the first search of directions; each further one has twice as many as the one before."""

SEARCHES = 3
"""Searches of directions, each from other random directions."""

COOLING = (1.0, 0.05)
"""Ratio of the steps at the beginning and at the end of a search: long steps of changes turn many
directions, short ones keep them."""

NOISE = 0.3
"""Spread of the noise on the choice of a direction when a search begins, as a share of the cost of
the level of each cell; it falls to 0."""

NOISELESS = 0.2
"""Share of the steps at the end of a search that are without noise."""

SETTLING_STEPS = 200
"""Steps with given directions between two looks at loss and bound, for the first look; each further
one comes after half as many again."""

SETTLING_GROWTH = 1.5
"""Growth of the number of steps from look to look."""

MOST_SETTLING_STEPS = 20_000
"""Most steps with given directions."""

SETTLED = 1e-5
"""Relative gap at which given directions count as solved."""

LOOKS_AFTER_A_SEARCH = 2
"""Looks at the loss of directions that a search found."""

# -- bound ------------------------------------------------------------------------------------

BOUND_RATIO = 3.0
"""Ratio of the steps of the packing program."""

BOUND_STEPS = 100
"""Steps of the packing program between two proofs."""

MOST_BOUND_STEPS = 5000
"""Most steps of the packing program."""

BOUND_GAIN = 1e-4
"""Relative gain between two proofs below which the bound counts as found."""

CHARGED_ROUNDS = 200
"""Rounds in which relations charge less until no cell is charged too much."""

NEARLY = 1 - 1e-7
"""Share of its charge that each cell can pay at least before all charges are lowered alike."""

BOUND_SHARE = 0.5
"""Share of the time for the bound where bound and search follow one another in one thread."""

FINE = 2.0**-20
"""Grid of changes that need not be whole, as a share of the median level."""

VERIFICATION = 3.0
"""Time kept back for the proof and the check of the table, as a multiple of laying it out."""

# -- sums of relations ------------------------------------------------------------------------

SHORT_BY = 1e-4
"""Share of its change by which a cell must fall short."""

DENOMINATORS = (1, 2, 3, 4, 6, 12, 1000)
"""Multipliers are shares of the largest one, with the first of these denominators that fits; most
are 1 or -1. The last one is taken in any case."""

WHOLE = 1e-6
"""Largest distance of a multiplier from the whole number that it is taken for."""
