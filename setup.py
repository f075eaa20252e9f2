"""For tools that run this file, such as scrapyd-deploy; pyproject.toml has all that is to say."""

from setuptools import setup

setup()
