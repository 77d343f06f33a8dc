"""Rules that say which cells are sensitive, and the protection levels that follow.

A rule is a class with its name, its parameters, and what it finds unsafe, in a file of its own or
beside its nearest siblings: p% and prior-posterior share one. Putting the file into this folder
makes the rule known everywhere; see `tablecloak.tables.rules.rule`.

X is the signed sum of contributions, x1 >= x2 >= ... their absolute values, v the published
value, f the number of contributors. The formulas and the order of the rules are those of
tau-ARGUS 4.2; differences are stated in each rule.

References
----------
.. [1] Hundepool et al., Statistical Disclosure Control, Wiley 2012, chapter 4.
.. [2] tau-ARGUS 4.1 user's manual, section 4.3.
"""
