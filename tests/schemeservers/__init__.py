"""Servers of other schemes than http on loopback, each on threads of the test's own process."""
