"""The processing of pages: modules by MIME type that extract further fields from a page, besides its title and links.

Processing runs between the parsing of a response and the item that goes to pipelines, feeds and stores.

::

    Content (URL, MIME type, headers, body)
        |
      chain: which modules of PROCESSING_MODULES are for this type, in their order
        |                               |
      in place: what the parse          pool: processes of their own (worker), fed over sockets one page
      has found already                 at a time, with limits of time and memory for each page
        |                               |
        +------- run: one module on one page; what it gives is cleaned, what it raises is a word
                                        |
                                      Found: fields, links, title, problems

A module is a class as ``contract.Module`` describes it. Page content is untrusted: no body makes ``chain`` raise, and
one that makes a process hang, run out of memory or crash costs that page's fields and that process.
"""
