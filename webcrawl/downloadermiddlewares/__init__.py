"""What stands between the engine and the network, in the order in which a request meets it.

``scope`` and ``robots`` let it pass or not, ``retry`` and ``redirect`` send it back through the frontier,
``decoding`` takes the content coding off, ``outcome``, next to the network, restarts the key's clock.
"""
