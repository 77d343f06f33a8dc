"""The model of an adjustment: cells, rooms, rows, and the ways to change and to refine it."""
