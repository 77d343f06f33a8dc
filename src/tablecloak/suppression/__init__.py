"""Cell suppression: patterns, the intruder who attacks them, and the proof that he fails."""
