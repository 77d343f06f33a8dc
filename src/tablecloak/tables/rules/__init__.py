"""Rules that say which cells are sensitive, and the protection levels that follow.

One file holds one rule: a class with its name, its parameters, and what it finds unsafe. It is
known everywhere as soon as its file lies in this folder; see `tablecloak.tables.rules.rule`.

X is the signed sum of contributions, x1 >= x2 >= ... their absolute values, v the published
value, f the number of contributors. The formulas and the order of the rules are those of
tau-ARGUS 4.2; what differs is said where it differs.

References
----------
.. [1] Hundepool et al., Statistical Disclosure Control, Wiley 2012, chapter 4.
.. [2] tau-ARGUS 4.1 user's manual, section 4.3.
"""
