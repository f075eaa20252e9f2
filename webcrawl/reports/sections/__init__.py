"""The report, section by section: each makes HTML of figures, and nothing where there are none."""
