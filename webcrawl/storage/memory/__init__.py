"""The state of a crawl in plain dictionaries: it ends with the process, and says what the other storages do."""
