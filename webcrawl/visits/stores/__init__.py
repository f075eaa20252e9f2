"""Where the pages of a continuous crawl are remembered; in Redis they are beside the frontier's shards."""
