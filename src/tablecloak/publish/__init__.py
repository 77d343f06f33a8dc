"""What leaves the office: releases, their formats, and the search for leaks."""
