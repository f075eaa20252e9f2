"""robots.txt (RFC 9309): reading it, storing it per origin, checking it before every page; and the robots directives
of pages."""
