"""The purposes of use about which sites make statements."""

PURPOSES = ("search", "ai-input", "train-ai", "tdm")
"""Search results that lead to the page; input of a model that answers with it; training of a model that generates;
text and data mining (Directive (EU) 2019/790, Article 4)."""

YES, NO, UNKNOWN = "yes", "no", "unknown"
"""The verdicts about a purpose."""
