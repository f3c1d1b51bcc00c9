"""Archives for tests, honest and hostile, as bytes."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Iterable, Mapping

Members = Mapping[str, bytes] | Iterable[tuple[str, bytes]]


def pairs(members: Members) -> list[tuple[str, bytes]]:
    return list(members.items()) if isinstance(members, Mapping) else list(members)


def zipped(members: Members, modes: Mapping[str, int] | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in pairs(members):
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (modes or {}).get(name, stat.S_IFREG | 0o644) << 16
            archive.writestr(member, content)
    return out.getvalue()


def tarred(
    members: Members,
    kinds: Mapping[str, bytes] | None = None,
    *,
    pax: Mapping[str, str] | None = None,
    gzipped: bool = True,
) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in pairs(members):
            member = tarfile.TarInfo(name)
            member.type = (kinds or {}).get(name, tarfile.REGTYPE)
            member.pax_headers = dict(pax or {})
            if member.type in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                member.linkname, content = content.decode(), b""
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(out.getvalue()) if gzipped else out.getvalue()
