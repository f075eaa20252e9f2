"""Tests of the identity of the crawler."""
