"""The dashboard of a crawl: a web page and a JSON API, served by a process of its own.

The process reads a crawl as other commands do, with ``control/`` and ``storage/inspection.py``, and changes it with
the stores of features. So viewers never use the event loop of the crawl, and a stopped crawl can be shown as well.

=========== ==========================================================================================
feature     starts the process beside a crawl
process     the process: listens, and ends with the crawl
server      HTTP: connections, limits, headers, routing, event streams
connections how many connections there are, and how long they last
headers     the headers of all answers
access      who may do what: names of hosts, origins, tokens, sessions, rates
api         the table of endpoints
endpoint    what an endpoint is
answers     the description of what an endpoint answers, by its type
endpoints   what each endpoint answers, by subject
fields      the values that endpoints take; JSON
openapi     the description of the table
reading     the threads that read the crawl, and its state for all viewers
source      the crawl that is served
state       its state as one object
static      the page
=========== ==========================================================================================
"""
