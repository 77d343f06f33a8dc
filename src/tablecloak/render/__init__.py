"""What people look at: pages, heat maps, plots and reports."""
