"""Images: what they are and how large, by their first bytes."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from webcrawl.processing.content import Content

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"BM", "bmp"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"\x00\x00\x01\x00", "ico"),
)


class Image:
    """Type, width and height of an image in pixels. Needs ``image/*`` in MIME_TYPES_WANTED, and EXTENSIONS_REFUSED
    without those of images.
    """

    mime_types = ("image/*",)
    fields: ClassVar[dict[str, str]] = {"image_type": "line", "image_width": "whole", "image_height": "whole"}

    def process(self, content: Content) -> Mapping[str, Any]:
        import imagesize

        kind = _kind(content)
        found: dict[str, Any] = {"image_type": kind}
        width, height = imagesize.get(BytesIO(content.body))
        if width > 0 and height > 0:
            found |= {"image_width": width, "image_height": height}
        return found


def _kind(content: Content) -> str:
    """The type by the image's own first bytes, or else what the server says."""
    body = content.body
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "webp"
    if body[4:8] == b"ftyp":
        return "avif" if body[8:12] in (b"avif", b"avis") else "heif"
    for magic, kind in _MAGIC:
        if body.startswith(magic):
            return kind
    return content.mime.removeprefix("image/").removesuffix("+xml")
