"""A project of somebody else: this crawler's settings, and spiders that know nothing of it."""
