"""How suppression patterns are found."""
