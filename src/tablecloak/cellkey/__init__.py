"""Cell-key perturbation: noise that follows from the records behind a cell."""
