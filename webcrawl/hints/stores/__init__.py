"""Where the trust in sites is kept: ``memory``, ``sqlite`` in a JOBDIR, ``redis`` for several processes."""
