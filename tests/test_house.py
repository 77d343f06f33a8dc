"""Every kind of thing is declared once: a class registered at run time is known everywhere.

One section for each kind. A toy sibling is added by `Registry.including`, found in the job schema,
in ``--help``, in the form of the app and in the table of the docs, and run.
"""

from __future__ import annotations

# -- sensitivity rules --------------------------------------------------------------------

# -- weight rules -------------------------------------------------------------------------

# -- formats, engines, executors ----------------------------------------------------------

# -- solvers ------------------------------------------------------------------------------

# -- distances and statistics -------------------------------------------------------------

# -- search methods, intruders, requirements ----------------------------------------------

# -- microdata methods --------------------------------------------------------------------
