"""The identity of the crawler: signed requests (Web Bot Auth), its keys, and what it publishes about itself."""
