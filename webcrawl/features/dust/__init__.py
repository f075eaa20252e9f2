"""DUST rules ("different URLs with similar text"; Bar-Yossef, Keidar, Schonfeld, 2007): parts of the URLs of a site
that make no difference are learned from pages that proved equal, and further URLs of known pages are withheld.

``url_parts`` cuts URLs into the parts that rules change. ``rule`` has the rules, and those that would explain why
two URLs have the same page. ``learner`` finds rules and proves them with pairs of pages. ``withholding`` applies the
rules that are proved: the pages that are known, the scope rule, and samples; ``knowledge`` joins both. These are
pure, with time passed in. ``store`` is the contract of its storage, and ``feature`` connects all this to the crawl.
Design: docs/decisions/0086-dust.md."""
