"""Pages read in a process of their own, so that a second core takes a third of the event loop's work off it."""
