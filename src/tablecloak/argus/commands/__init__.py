"""The commands of tau-ARGUS, by what they do to a batch."""
