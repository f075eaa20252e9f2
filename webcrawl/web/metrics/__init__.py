"""Prometheus metrics and health of a crawl.

With ``METRICS_PORT`` a process of the crawl starts a child and sends it its figures every two seconds. The child
answers ``/metrics``, ``/healthz`` and ``/readyz``: whoever asks, however often, uses neither the event loop of the
crawl nor its storage. The dashboard answers the same addresses for all processes of a crawl.

========== ===========================================================
names      the table of metrics
exposition from figures to the text that Prometheus reads
process    the child: listens, and ends with the crawl
feature    starts the child, and sends it the figures
========== ===========================================================
"""
