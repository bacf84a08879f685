"""One file for each figure or table; they use the package, never the reverse."""
