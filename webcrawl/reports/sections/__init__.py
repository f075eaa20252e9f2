"""The sections of the report: each renders figures as HTML, or returns nothing if there are none."""
