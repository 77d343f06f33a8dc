"""Why a cell is hidden or changed: by certificates and re-solves, in words to follow."""
