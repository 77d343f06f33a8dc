"""What a checker does with a bundle: looks at it, decides, and releases what was approved."""
