"""Near-duplicates: pages whose main text is nearly that of an earlier page, under whatever URL.

::

    response -> main text, in a process -> its sketch -> buckets -> sketches of some earlier pages -> the first page
    of a cluster, or a new one. A page that is near for certain is withheld as NEAR_DUPLICATES says.
"""
