"""The downloader middlewares, between the engine and the network.

In the order in which a request passes them: ``scope`` and the middleware of ``robots`` let it pass or refuse it,
``retry`` and ``redirect`` send it back through the frontier, the decoding middleware of ``fetching`` removes the
content coding, ``outcome``, next to the network, restarts the key's clock.
"""
