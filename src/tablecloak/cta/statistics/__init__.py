"""Statistics that an adjustment preserves, one class in one file each."""
