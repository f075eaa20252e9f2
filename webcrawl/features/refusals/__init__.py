"""Responses by which a site refuses: recognised, named, recorded, and left alone.

::

    status and headers -> refusal?  (outcome: the clock of the key)     host rests after some refusals in a row
    body, decoded -> few links? -> marks of a signature? -> refusal     neither links nor items, nor another try
"""
