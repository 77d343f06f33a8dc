"""How directions and changes of an adjustment are found.

Constants without a reference to docs/decisions were chosen by trial and not measured.
"""
