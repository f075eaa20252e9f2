"""Scrapy's own tests, run with the add-on in force: ``make scrapy-tests``, which is not part of ``make test``.

A user of the add-on expects a spider to behave as Scrapy's documentation says, and Scrapy's tests say what that is.
The control is the same test without the add-on: a test that does not pass there proves nothing. Each test that passes
there and not with the add-on is a difference, and ``tests/scrapy_differences.toml`` has its reason, or the run fails.
The control is run for the tests that do not pass with the add-on.
"""
