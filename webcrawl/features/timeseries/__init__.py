"""The figures of each process, and their time series over the whole crawl in constant space."""
