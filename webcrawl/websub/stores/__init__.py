"""Where subscriptions are kept: ``memory``, ``sqlite`` in a JOBDIR, ``redis`` for several processes."""
