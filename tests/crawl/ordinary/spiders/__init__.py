"""One spider a file."""
