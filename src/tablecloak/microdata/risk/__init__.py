"""What a release of records tells: risk of each record, by keys and by distance."""
