"""The methods of SUPPRESS, as methods of tablecloak."""
