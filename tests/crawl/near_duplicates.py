"""What a crawl of the web of variants must show: the server's log, the fetch log, the archive and the items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.crawl.crawling import WarcRecord
    from tests.fakeweb.variants import Variants


def withheld(lines: Iterable[Mapping[str, Any]], what: str) -> set[str]:
    """The URLs of which links or bodies were withheld: ``links_withheld`` or ``body_withheld``."""
    return {line["url"] for line in lines if line.get(what)}


def faults(
    site: Variants,
    requested: Iterable[str],
    lines: Sequence[Mapping[str, Any]],
    records: Iterable[WarcRecord],
    items: Iterable[Mapping[str, Any]],
) -> list[str]:
    """Return all that is wrong with a crawl, whatever pages came first, and however often one was fetched."""
    asked, near, mirrored = set(requested), site.near(), site.mirrored()
    found = [f"not fetched: {url}" for url in sorted(site.pages() - asked)]
    unfollowed, unstored = withheld(lines, "links_withheld"), withheld(lines, "body_withheld")
    # A page that was fetched twice, before and after a kill, may have been withheld once.
    followed = {line["url"] for line in lines if not line.get("links_withheld")}
    stored = {line["url"] for line in lines if not line.get("body_withheld")}
    found += [f"withheld: {url}" for url in sorted((unfollowed | unstored) - near.keys())]
    for url in sorted(near):
        leaf = site.leaf(url)
        if url in unfollowed - followed and leaf in asked:
            found.append(f"links were followed: {url}")
        if url in followed and leaf not in asked:
            found.append(f"links were not followed: {url}")
    for line in lines:
        first = {**near, **mirrored}.get(line["url"])
        of = line.get("near_duplicate_of")
        # Others of the same cluster may have come before, but for the article.
        if of is not None and (first is None or {**near, **mirrored, first: first}.get(of) != first):
            found.append(f"{line['url']} is no near-duplicate of {of}")
        if of is not None and (len(line["cluster"]) != 16 or not 0.85 <= line["resemblance"] <= 1):
            found.append(f"cluster {line['cluster']}, resemblance {line['resemblance']}: {line['url']}")
    for record in records:
        if record.type not in ("response", "revisit"):
            continue
        empty = record.headers.get("WARC-Truncated") == "unspecified"
        if empty and (record.url not in unstored or b"<p>" in record.content):
            found.append(f"no body in the archive, or one all the same: {record.url}")
        if record.url in unstored - stored and not empty:
            found.append(f"a body in the archive: {record.url}")
    fields = {item["url"]: item for item in items}
    found += [f"in the items: {url}" for url in sorted((unstored - stored) & fields.keys())]
    for url in sorted(site.pages() & stored - fields.keys()):
        found.append(f"not in the items: {url}")
    clusters = {line["url"]: line.get("cluster") for line in lines}
    found += [
        f"the item's cluster is {item.get('cluster')}: {url}"
        for url, item in fields.items()
        if url in clusters and (item.get("cluster") or None) != clusters[url]
    ]
    return found
