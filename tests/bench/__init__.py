"""The benchmarks: this crawler and a plain Scrapy broad crawl on the same local pages, in one run.

Absolute times mean little on a shared machine; what counts is the ratio within one run and the CPU time a
page. No test asserts any of it.
"""
