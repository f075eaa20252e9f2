"""The parsing of documents: from the bytes of a response to its title and links.

Parsing runs between the archive, which stores a response as it was received, and scope and frontier, which decide
about the links.

::

    payload --decoding--> body --mime--> is it HTML? --charset--> text
                                                                   |
          tree: Lexbor, for pages that cannot make it slow  <------+
          stream: libxml2 piece by piece, for the others    <------+
                 |
              findings: title, base and links as the page has them (links: which attributes hold them)
                 |
              html: resolved against the base, each once, at most so many --> ParsedPage

``html.extract`` does everything from the body on, ``offload.Extractor`` the same for an event loop. Pages come from
untrusted authors: no function here raises on bad input, memory is bounded by the length of the body and the limits
passed in, and long work is divided into turns with the event loop.
"""
