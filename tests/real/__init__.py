"""Real software on loopback, crawled with and without DUST rules: what they save, and what they lose.

    software    servers of repositories, of databases, wikis and documentation, installed into a folder of their own
    judging     the crawls, and the judgement: the software is asked again for every URL that was withheld

``python -m tests.real --help``; ``make real``.
"""
