"""A small web that can be held at any place, and a spider, a pipeline and an extension that wait for a file."""
