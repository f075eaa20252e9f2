"""The ways to say what is relevant, one a file."""
