"""robots.txt (RFC 9309): read, remembered per origin, asked before every page; and what a page asks of robots."""
