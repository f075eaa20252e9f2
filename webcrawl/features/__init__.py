"""What a crawl can do beyond fetching each URL once: a folder for each, off unless a setting asks for it."""
