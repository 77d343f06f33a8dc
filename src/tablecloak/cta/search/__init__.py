"""How directions and changes of an adjustment are found."""
