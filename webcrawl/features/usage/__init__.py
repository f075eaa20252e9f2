"""What a page may be used for, as its site says it: read from every place, resolved to a verdict for each purpose."""
