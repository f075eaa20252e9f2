"""The endpoints of the API by subject. Each module has a tuple ``ENDPOINTS``; ``api.py`` has all of them."""
