"""How important URLs are by the links to them: counted while a crawl runs, in memory that does not grow with it.

A page's links come here when the page was parsed (``scorer``), and the frontier asks for levels when it queues URLs
and again while they wait. The figures are in a ``table`` of fixed size; ``keeping`` has them outlive the process and
shares them among workers.
"""
