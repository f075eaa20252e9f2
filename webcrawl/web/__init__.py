"""The HTTP server that the dashboard, the metrics and the service share."""
