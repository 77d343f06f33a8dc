"""Finished tables of any layout: what their dimensions, totals and figures seem to be."""
