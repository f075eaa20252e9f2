"""Steering: what operators change of a crawl while it runs. The store holds it, and each worker obeys it."""
