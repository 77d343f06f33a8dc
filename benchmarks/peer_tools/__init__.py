"""Parts of `benchmarks/peers.py`: tables, files for each tool, one script for each tool."""
