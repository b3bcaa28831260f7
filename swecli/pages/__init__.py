"""Pages to open in a browser: statistics and exported sessions."""
