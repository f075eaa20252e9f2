"""The sites of the gauntlet: one module a subject, each with what is true of its pages.

A site is served on addresses of its own, ``127.77.NUMBER.HOST``, so that a crawler needs no name server to get there.
Nothing here imports webcrawl.
"""

from tests.gauntlet.web.site import NETWORK, Host, Site, World, page

__all__ = ["NETWORK", "Host", "Site", "World", "page"]
