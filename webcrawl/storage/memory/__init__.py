"""The state of a crawl in plain dictionaries: it ends with the process, and specifies the behaviour of the other
storages."""
