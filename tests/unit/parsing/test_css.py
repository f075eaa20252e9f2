"""The URLs in style sheets, and those that pages embed."""

from __future__ import annotations

import pytest

from tests.rows import each_row
from webcrawl.parsing import tree
from webcrawl.parsing.css import css_urls
from webcrawl.parsing.html import PageInput, extract
from webcrawl.parsing.links import EMBEDS, TYPES

PAGE = """<title>x</title><link rel=stylesheet href=a.css><style>
@import 'b.css'; p { background: url(c.png) } /* url(no.png) */</style>
<a href=page style="background: url(&quot;d.png&quot;)">text</a>
<div style='background: URL( "e.png" )'></div><p style="color: red">x</p>
<img src=f.png srcset="g.png 1x, h.png 2x" data-src=i.png data-srcset="j.png 2x">
<picture><source srcset="k.webp, l.webp 2x"></picture>
<video src=m.mp4 poster=n.png><track src=o.vtt></video><audio><source src=p.ogg></audio>
<input type=image src=q.png><table background=r.png><td background=s.png></table>
<iframe src=t></iframe><embed src=u><object data=v></object><script src=w.js></script>
<link rel="shortcut icon" href=x.ico><link rel=modulepreload href=y.js><link rel=manifest href=z.json>
"""
NAMES = (
    "a.css b.css c.png d.png e.png f.png g.png h.png i.png j.png k.webp l.webp m.mp4 n.png o.vtt p.ogg q.png"
)
EMBEDDED = [*NAMES.split(), "r.png", "s.png", "t", "u", "v", "w.js", "x.ico", "y.js", "z.json"]


@each_row(
    ("text", "urls"),
    [
        ("@import 'a.css' screen; @IMPORT url(b.css) layer(x); @import url( \"c.css\" );", "a.css b.css c.css"),
        ("a{background:URL( 'd e.png' ),url(f.png)}", "d e.png|f.png"),
        ("/* url(no) @import 'no' */ a{content:\"url(no)\" '@import \"no\"'} b{x:url(g)}", "g"),
        ("a{x:url(data:image/png;base64,AA),url(#f),url(),url( ),url('about:blank')} b{x:url(h)}", "h"),
        (r"a{x:url(i\20 j.png),url('\6bl\
m.png'),url(n\).png)}", "i j.png|klm.png|n).png"),
        ("a{content:'never ended\n} b{x:url(o.png)} c{x:url('p.png", "o.png p.png"),
        ("a{x:image-set(url(q) 1x, url(\"r\") 2x)} @font-face{src:url(s.woff2) format('woff2')}", "q r s.woff2"),
        ("/* never ended url(no)", ""),
    ],
)  # fmt: skip
def test_urls_are_found_as_browsers_find_them(text: str, urls: str) -> None:
    assert list(css_urls(text)) == (
        urls.split("|") if "|" in urls or " " not in urls else urls.split()
    ) * bool(urls)


@each_row("piece", ["url(", '"\\', "/*", "@import ", 'url("', "url( ", "\\", "url(\\", "@import url("])
def test_hostile_style_sheets_are_read_in_linear_time(piece: str) -> None:
    # A tenth of a second; in quadratic time it would not end.
    assert len(list(css_urls(piece * 200_000))) <= 100_000


@pytest.mark.parametrize("careful", [False, True])
def test_all_that_a_page_embeds_is_found(monkeypatch: pytest.MonkeyPatch, careful: bool) -> None:
    if careful:
        monkeypatch.setattr(tree, "is_harmless", lambda *_: False)
    page = PageInput(PAGE.encode(), "http://a.test/", "text/html", 1000, types=EMBEDS)
    found = [link.url.removeprefix("http://a.test/") for link in extract(page).links]
    assert sorted(found) == sorted(EMBEDDED)
    texts = {link.type: link.text for link in extract(page._replace(types=TYPES)).links}
    assert texts["a"] == "text"


def test_a_style_sheet_gives_its_urls() -> None:
    text = '@import "more.css"; a { background: url(../x.png) } b { background: url(//cdn.test/é.png) }'
    page = PageInput(text.encode(), "http://a.test/css/a.css", "text/css", 2, types=EMBEDS)
    document = extract(page)
    assert [(link.url, link.type) for link in document.links] == [
        ("http://a.test/css/more.css", "css"),
        ("http://a.test/x.png", "css"),
    ]
    assert document.links_dropped == 1
    assert len(extract(page._replace(links_max=1000)).links) == 3
