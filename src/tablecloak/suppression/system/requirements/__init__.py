"""The requirements: what a sensitive cell needs, from its protection levels. One a file."""
