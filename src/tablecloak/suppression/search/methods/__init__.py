"""The search methods of suppression. One a file."""
