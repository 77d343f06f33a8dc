"""What a release of records is worth, and what it tells: measures and risk-utility maps."""
