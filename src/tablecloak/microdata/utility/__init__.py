"""What a release of records is worth: analyses before and after, and risk-utility maps."""
