"""What all outputs of a project disclose together."""
