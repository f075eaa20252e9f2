"""The explanation of how a crawl treats a URL, and what it will do with it.

``account`` collects the parts and draws the conclusion: the forms of the URL, the answers of the rules and of
robots.txt (``rules``), the clocks that it waits for (``clocks``), how it was found (``discovery``), and the features
of revisits and focus (``features``). ``as_text`` and ``as_json`` format it. This package changes nothing and does not
read the time.
"""
