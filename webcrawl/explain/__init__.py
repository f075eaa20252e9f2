"""Why a crawl treats a URL as it does, and what becomes of it next.

``address`` names it, ``scoping`` asks the rules, ``robots_word`` reads the robots.txt that the crawl knows,
``clocks`` tell when it may be fetched, ``visits`` what the fetch log has of it. ``account`` puts all of it together
and draws the conclusion, ``as_text`` and ``as_json`` tell it. Nothing here changes anything or asks for the time.
"""
