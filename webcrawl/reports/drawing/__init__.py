"""Plots as inline SVG and tables as HTML: no script, no file beside the page, readable in print and in the dark.

Whatever is drawn has a text alternative, and what it shows stands in a table behind it.
"""
