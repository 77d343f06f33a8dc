"""Limits, shares and tolerances of the search for an adjustment.

The order of its phases, and their shares of the time, are in `tablecloak.cta.search.schedule`.
Constants without a reference to docs/decisions were chosen by trial and not measured.
"""

from __future__ import annotations

# -- which programs -----------------------------------------------------------------------

INTERIOR_ROWS = 3000
"""Number of rows above which a program is solved from scratch by the interior point method. Chosen
by trial; not measured."""

SCRATCH_ROWS = 5000
"""Rows above which programs with given directions are solved from scratch, with presolve, if few
relations are redundant. See docs/decisions, "Programs from scratch"."""

REDUNDANT = 0.75
"""Relations per cell above which many are redundant, so that a warm start saves more than presolve;
below, presolve saves more. See docs/decisions, "Programs from scratch"."""


# -- shares of distances ------------------------------------------------------------------

SUM_SHARE = 1.0
"""Share of the time for the search of directions if the sum is minimised (L1)."""

SQUARES_SHARE = 0.2
"""Share of the time for a search of directions with a small sum, from which least squares (L2)
start."""

MAXIMUM_SHARE = 0.4
"""Share of the time for the least maximum (Linf); the rest goes to a small sum that attains it."""

WHOLE_SHARE = 0.15
"""Share of the time kept back for finding whole numbers, if they are wanted."""

TURNED_SHARE = 0.7
"""Share of the remaining time for turning directions of least squares; the same share of what then
remains goes to the relaxation."""

# -- start --------------------------------------------------------------------------------

RELAXATION_SHARE = 0.6
"""Share of the time limit for the root relaxation of tables with few redundant relations."""

SIMPLEX_SHARE = 0.5
"""Share of the time for the simplex method if directions are given; the interior point method gets
the rest."""

ELASTIC_SHARE = 0.6
"""Share of the time for a start in which statistics may be missed."""

MISSED_AT_MOST = 1e-9
"""Largest scaled amount by which a statistic may be missed and still counts as met."""

LEAST_SECONDS = 2.0
"""Time limit in seconds for a program with given directions, past the time limit if need be."""

SPARE_SECONDS = 0.25
"""Time limit in seconds for a program that may improve a known table, past the time limit if need
be. See docs/decisions, "Time kept back"."""

FIRST_SECONDS = 20.0
"""Time limit in seconds for a program with given directions as long as no table is known: an answer
that is late, and says so, is worth more than none. Chosen by trial; not measured."""

# -- balance rows -------------------------------------------------------------------------

TIGHTENED_GAIN = 1e-4
"""Stop adding balance rows when a round raises the bound by less than this share."""

SLACK = 0.05
"""Scaled slack above which a balance row without a multiplier is dropped again."""

BALANCE_ROUNDS = 20
"""Rounds of balance rows at the root of branch and bound; a deeper node gets a tenth of them."""

CHARGED_GAIN = 1e-5
"""Relative gain between two proofs by charges below which the bound counts as found."""

CHARGED_IN_VAIN = 10
"""Proofs in a row that must gain less. See docs/decisions, "Bounds without directions"."""

MOST_CHARGED_STEPS = 20_000
"""Most steps of the packing program of charges."""

NEAREST = (300, 1000)
"""Relations around a cell among which a sum is looked for. See docs/decisions, "Balance rows of
sums of relations"."""

CLOSED_BY_ROUND = 0.02
"""Share of the gap that a round of such sums must close for another one to follow."""

TOWARDS_KNOWN = 0.4
"""Share of a known table in the point whose violated rows are looked for. See docs/decisions,
"Balance rows of sums of relations"."""

# -- local search -------------------------------------------------------------------------

LEAST_GAIN = 1e-7
"""Smallest gain, as a share of the loss, by which another table counts as better."""

DISORDER = 0.5
"""Spread of the log-normal noise on estimated gains before directions are ranked by them."""

KICKED = (2, 3, 4)
"""Numbers of directions that are turned at once after turning single ones has failed. See
docs/decisions, "Local search"."""

KICKED_FROM = 8
"""Size of the neighbourhood of a random direction from which those to be turned are drawn."""

KICKED_WORSE = 0.01
"""Largest rise of the loss, as a share of it, after which the search still goes on from directions
that were turned at once."""

AROUND = 24
"""Number of neighbours of directions turned at once that are then turned one at a time."""

IN_VAIN = 5
"""Failed perturbations, per direction that can be turned, before the search stops."""

FLIPPED = 0.3
"""Share of the promising directions turned at once when a search begins."""

FLIPPED_FROM_SCRATCH = 0.05
"""Share of promising directions turned at once when programs are solved without a warm start, so
that few can be tried. See docs/decisions, "Programs from scratch"."""

NOISE = 1.0
"""Spread of the log-normal noise on estimated gains, once turning single directions has failed."""

REPEATED = 50
"""Stop the search after this many draws in a row of directions that were tried before."""

# -- directions that cool down -------------------------------------------------------------

COOLED_DRAWS = 20
"""Draws from random directions. See docs/decisions, "Directions that cool down"."""

COOLED_STEPS = (600, 4800)
"""Steps of the first draw, and most steps of a draw; each takes twice as many as the one before."""

COOLED_REGIONS = (20, 50, 100, 200)
"""Sizes of the regions of directions that are cooled again, half of all directions at most."""

COOLED_AGAIN = 1500
"""Steps in which a region cools."""

COOLED_FIRST = 0.5
"""Share of the time of a local search in which regions are cooled before single directions are
turned; afterwards they alternate."""

COOLED_IN_VAIN = 1
"""Failed regions, per direction that can be turned, before single directions are turned."""

# -- some directions free -----------------------------------------------------------------

RELAXED = 10
"""Directions left free in the first program of fix and relax."""

RELAXED_SHARE = 0.15
"""Share of the phase's time for one program of fix and relax."""

RELAXED_GAP = 1e-4
"""Relative gap at which a program of fix and relax may stop."""

GROWTH, SHRINKAGE = 1.3, 0.8
"""Factors for the number of free directions after a quick program, and after one that its time
limit stopped."""

QUICK = 1 / 3
"""Share of its time limit below which a program of fix and relax counts as quick."""

# -- equally good tables ------------------------------------------------------------------

PRICED = 1e-7
"""Scaled reduced cost or multiplier above which a column or row is fixed while ties are broken,
which keeps the program on the optimal face."""

TIED = 1e-9
"""Largest relative difference between losses that count as equal."""

CLOSED = 1e-7
"""Largest relative difference between loss and bound at which a point counts as optimal."""

# -- least maximum, variance, squares -----------------------------------------------------

MAXIMUM_SLACK = 1e-9
"""Share by which the least maximum may be exceeded while the sum is minimised."""

VARIANCE_TURNS = 30
"""Largest number of programs for finding the slope at which the variance stays."""

VARIANCE_SHIFTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Slopes with which directions are searched, as shares of the growth of the variance at slope 1."""

VARIANCE_WIDTH = 1e-4
"""Width below which an interval of slopes is not halved further."""

CLIMBS = 500
"""Largest number of steps that improve the multipliers of least squares."""

ENUMERATED = 7
"""Number of directions up to which all choices are tried (2^7 programs): for least squares, and
where nothing else has found a table."""
