"""What is large and stays the same: packed once, for clients that unpack it."""

from __future__ import annotations

import gzip
from dataclasses import dataclass

from fastapi import Request
from starlette.responses import Response

__all__ = ["Packed"]


@dataclass(frozen=True)
class Packed:
    """Something to send.

    Attributes
    ----------
    content : bytes
        Packed by gzip.
    media_type : str
    """

    content: bytes
    media_type: str

    @classmethod
    def of(cls, plain: bytes, media_type: str) -> Packed:
        """Pack something; a megabyte takes some hundredths of a second."""
        return cls(gzip.compress(plain, compresslevel=6, mtime=0), media_type)

    def respond(self, request: Request, headers: dict[str, str] | None = None) -> Response:
        """Send it in a form that the client takes."""
        headers = {**(headers or {}), "Vary": "Accept-Encoding"}
        content = self.content
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
        else:
            content = gzip.decompress(content)
        return Response(content, headers=headers, media_type=self.media_type)
