"""Links written as badly as on the real web. Each resolves, as browsers do it, to exactly its target."""

from __future__ import annotations

import html
from urllib.parse import unquote

_NOISE = (
    '<a href="mailto:someone@example.com">mail</a>',
    '<a href="javascript:void(0)">menu</a>',
    '<a href="tel:+123456">call</a>',
    '<a name="top">no link</a>',
    '<a href="http://[::1/">broken</a>',
    '<a href="data:text/plain,hello">data</a>',
    '<a href="http://">nothing</a>',
    '<a href="#top">up</a>',
)
"""The last one leads nowhere only where the page has no base of its own."""


def base_path(path: str, draw: int) -> str:
    """Return the path that relative links of a page start from: one page in five has a base of its own."""
    return "/base/of/links/" if draw % 5 == 0 else path


def noise(draw: int, *, own_base: bool) -> list[str]:
    """Return a few elements that look like links and lead nowhere."""
    kinds = _NOISE[:-1] if own_base else _NOISE
    return [kinds[draw % len(kinds)], kinds[(draw >> 8) % len(kinds)]]


def dirty_link(origin: str, base: str, to_origin: str, to_path: str, text: str, draw: int) -> str:
    """Return an element that links to ``to_origin`` + ``to_path``, its dirt chosen by ``draw``."""
    if to_origin == origin:
        href = _INSIDE[draw % len(_INSIDE)](base, to_path)
    else:
        href = _ACROSS[draw % len(_ACROSS)](to_origin, to_path)
    return _ELEMENTS[(draw >> 8) % len(_ELEMENTS)](href, text)


def relative(base: str, target: str) -> str:
    """Return ``target`` as a reference relative to ``base``; both are paths with an optional query."""
    folders = base.partition("?")[0].split("/")[1:-1]
    path, mark, query = target.partition("?")
    *target_folders, name = path.split("/")[1:]
    same = 0
    while same < min(len(folders), len(target_folders)) and folders[same] == target_folders[same]:
        same += 1
    up = "../" * (len(folders) - same)
    down = "".join(folder + "/" for folder in target_folders[same:])
    return f"{up}{down}{name}{mark}{query}" if up or down or name else "./" + mark + query


def _decoded(path: str) -> str:
    return unquote(path)


def _plain(base: str, path: str) -> str:
    return path


def _relative(base: str, path: str) -> str:
    return relative(base, path)


def _spaced(base: str, path: str) -> str:
    return f" \n{path}\t "


def _torn(base: str, path: str) -> str:
    middle = len(path) // 2
    return f"{path[:middle]}\n\t{path[middle:]}"


def _backslashed(base: str, path: str) -> str:
    before, mark, query = path.partition("?")
    return before.replace("/", "\\") + mark + query


def _dotted(base: str, path: str) -> str:
    return f"/./some/%2e%2E/other/..{path}"


def _with_fragment(base: str, path: str) -> str:
    return f"{path}#part-2"


def _raw(base: str, path: str) -> str:
    return _decoded(path)


def _scheme_only(base: str, path: str) -> str:
    return f"http:{path}"


def _across_plain(origin: str, path: str) -> str:
    return origin + path


def _across_loud(origin: str, path: str) -> str:
    return origin.upper() + path


def _across_schemeless(origin: str, path: str) -> str:
    return origin.partition(":")[2] + path


def _across_slashes(origin: str, path: str) -> str:
    return origin.replace("://", ":\\\\") + path


def _across_spaced(origin: str, path: str) -> str:
    return f"\t{origin}{path}#x "


def _across_raw(origin: str, path: str) -> str:
    return origin + _decoded(path)


_INSIDE = (
    _plain,
    _relative,
    _relative,
    _spaced,
    _torn,
    _backslashed,
    _dotted,
    _with_fragment,
    _raw,
    _scheme_only,
)
_ACROSS = (_across_plain, _across_loud, _across_schemeless, _across_slashes, _across_spaced, _across_raw)


def _double_quoted(href: str, text: str) -> str:
    return f'<a class="link" href="{html.escape(href)}">{text}</a>'


def _single_quoted(href: str, text: str) -> str:
    return f"<a\nhref = '{html.escape(href)}' >{text}"


def _loud(href: str, text: str) -> str:
    return f'<A TARGET=_top HREF="{href}"><b>{text}</A></b>'


def _unquoted(href: str, text: str) -> str:
    if set(href) & set(" \t\n\"'=<>`"):
        return _double_quoted(href, text)
    return f"<a href={href} >{text}</a>"


def _map_area(href: str, text: str) -> str:
    return f'<map name=m><area shape=default alt="{text}" href="{html.escape(href)}"></map>'


def _inner_frame(href: str, text: str) -> str:
    return f'<iframe title="{text}" src="{html.escape(href)}"></iframe>'


def refresh(origin: str, base: str, to_origin: str, to_path: str) -> str:
    """Return a meta element that leads on to ``to_origin`` + ``to_path`` after five seconds."""
    href = relative(base, to_path) if to_origin == origin else to_origin + to_path
    return f'<meta http-equiv="Refresh" content="5; URL={html.escape(href)}">'


_ELEMENTS = (
    *(_double_quoted,) * 6,
    *(_single_quoted,) * 4,
    *(_loud,) * 4,
    *(_unquoted,) * 4,
    _map_area,
    _inner_frame,
)
