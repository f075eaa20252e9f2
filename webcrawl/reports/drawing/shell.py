"""The page around the figures: its style for screens of any width, for the dark, and for paper."""

from __future__ import annotations

from webcrawl.reports.drawing.texts import safe

_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--quiet:#59636e;--paper:#fff;--fill:#3b76b5;--other:#b4480f;
--third:#2c7a4b;--rule:#d0d5db}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--quiet:#a3adb8;--paper:#15181c;--fill:#6aa5df;--other:#f0944f;
--third:#69c08b;--rule:#3a4048}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:800px;
margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.15rem;margin:2.4rem 0 .4rem}
h3{font-size:1rem;margin:1.4rem 0 .3rem}
nav{margin-top:.8rem;font-size:13px;color:var(--quiet)}nav a{margin-right:.8rem;white-space:nowrap}
a{color:var(--fill)}
.quiet,figcaption,summary{color:var(--quiet);font-size:13px}p{margin:.4rem 0}figure{margin:.6rem 0 .2rem}
.plot{overflow-x:auto}svg{width:100%;height:auto;display:block}
svg text{font-size:12px;fill:var(--ink)}svg text.name{fill:var(--quiet)}
.fill{fill:var(--fill)}.axis{stroke:var(--ink)}.grid{stroke:var(--rule)}
.line{fill:none;stroke-width:2}.s0{stroke:var(--fill)}.s1{stroke:var(--other);stroke-dasharray:7 4}
.s2{stroke:var(--third);stroke-dasharray:2 3}.dot{stroke:none;fill:var(--fill)}.dot.s1{fill:var(--other)}
table{border-collapse:collapse;font-size:14px}caption{text-align:left}
td,th{padding:.12rem 1.1rem .12rem 0;text-align:left;font-weight:normal;vertical-align:top}
thead th:not(:first-child){text-align:right}
thead th{color:var(--quiet);border-bottom:1px solid var(--rule)}
td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
table.bars{width:100%}table.bars tbody th{width:34%}td.bar{width:45%;padding-right:0}
td.bar span{display:block;height:.8em;margin-top:.35em;background:var(--fill);min-width:1px;print-color-adjust:exact;
-webkit-print-color-adjust:exact}
details{margin:.2rem 0 1rem}summary{cursor:pointer}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
@media screen and (max-width:560px){svg text{font-size:18px}svg text.odd{display:none}
td.bar{width:22%}td,th{padding-right:.6rem}body{padding:0 .7rem}}
@media print{:root{--ink:#000;--quiet:#444;--paper:#fff;--fill:#3b76b5;--other:#b4480f;--third:#2c7a4b;--rule:#ccc}
body{max-width:none;margin:0;font-size:11pt}figure,tr{break-inside:avoid}
h3,p.quiet{break-after:avoid}nav,details{display:none}
.plot{overflow:visible}h2{break-after:avoid}}
"""


def document(title: str, body: str) -> str:
    """A whole page. It loads nothing and runs nothing, and a browser is told so."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{safe(title)}</title><style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )
