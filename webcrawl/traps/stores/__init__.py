"""Where the quarantine is kept: ``memory``, ``sqlite`` in a JOBDIR, ``redis`` for several processes."""
