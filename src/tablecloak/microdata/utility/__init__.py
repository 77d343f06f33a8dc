"""Utility of a release of records: analyses before and after, and risk-utility maps."""
