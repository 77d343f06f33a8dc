"""What leaves the house: releases, their formats, and the search for leaks."""
