"""Parts of the claim `peers`: tables, files for each tool, one script for each tool."""
