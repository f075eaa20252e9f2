"""The service: runs several named crawls one beside another, each as a process, and starts them again after a reboot.

It is no part of a crawl: ``scrapy serve`` imports it, and each crawl is an ordinary ``scrapy crawl``.
"""
