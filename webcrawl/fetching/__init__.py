"""Fetching: from a Scrapy Request to the bytes on the wire and back to a Response.

::

    Request -> http.HttpDownloadHandler, or a scheme_handler.SchemeHandler (ftp, gopher)
                 |  transfer        limits, memory, bandwidth, time and lease of one request, whatever its scheme
                 |  request_head    what is sent, byte for byte
                 |  network         a connection out of aiohttp's pool; with resolver and addresses
                 |                  idle: how long one is kept; shortage: when none can be opened here
                 |  exchange        what comes back: response_head, body; spool: the file of a long one
                 |                  http2: frames in place of those; protocols: who is asked in which protocol
                 v
    Response and FetchMeta.capture, or an exception that failures.failure_word has a word for

Fetching runs behind the downloader middlewares, after a URL was leased and before its body is decoded.
``request_head``, ``response_head``, ``body``, ``http2`` and ``exchange`` do no input or output of their own.
"""
