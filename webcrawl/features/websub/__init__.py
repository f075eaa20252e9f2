"""WebSub (W3C Recommendation of 23 January 2018): hubs notify the crawl when a page or feed has changed.

::

    a page or feed that is fetched anyway -> discovery: its topic and hubs
                                                 |
                                                 v
    subscriber: one subscription a topic --requests--> the hub, by the frontier like any request
        |   kept in a store                              |
        v                                                v
    callback: answers the hub's verifications, receives its pushes at an unguessable URL
        |
        v
    the topic is fetched again, politely: the content of a push is not used as a page
"""
