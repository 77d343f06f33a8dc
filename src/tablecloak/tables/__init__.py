"""What a table is: cells, relations, hierarchies, sensitivity. Knows no solver."""
