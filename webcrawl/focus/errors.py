"""What is wrong with a focus."""

from __future__ import annotations


class FocusError(ValueError):
    """A focus that cannot be used; the message says why, for a person."""
