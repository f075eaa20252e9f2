"""WebSub (W3C Recommendation of 23 January 2018): being told by a hub that a page or feed has changed.

::

    a page or feed that is fetched anyway -> discovery: which hub tells of which topic
                                                 |
                                                 v
    subscriber: one subscription a topic  --asks-->  the hub, by the frontier like any request
        |   kept in a store                              |
        v                                                v
    callback: answers the hub's questions, takes its pushes at a URL that nobody can guess
        |
        v
    the topic is fetched again, politely: what was pushed is a hint and no page
"""
