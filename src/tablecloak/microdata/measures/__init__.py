"""Measures of an assessment, one file for each subject."""
