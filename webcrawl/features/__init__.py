"""Features of a crawl beyond fetching each URL once: one folder per feature, each controlled by settings."""
