"""Rules that say how much it costs to suppress a cell, or to change it by one unit.

One file holds one rule; it is known everywhere as soon as its file lies in this folder.
"""
