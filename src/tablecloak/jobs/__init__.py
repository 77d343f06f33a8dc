"""Whole jobs from one file, and folders of jobs."""
