"""A folder with a saved model, for tests that look into it or spoil it."""

import json
import struct
import zlib

import numpy as np

from polyseme.inputs.names import Names

ARRAYS = {
    "weights": np.arange(12, dtype=np.float32).reshape(3, 4).T,
    "starts": np.array([0, 2, 5]),
    "empty": np.zeros((0, 3), dtype=np.int32),
    "scalar": np.array(7, dtype=np.int16),
    "mask": np.array([True, False, True]),
}
NAMES = {"labels": Names.from_list(["apple", "äöü", ""]), "documents": Names.from_list([5, -7])}


def manifest_of(folder):
    return json.loads((folder / "model.json").read_text())


def edit_manifest(folder, **changes):
    """Change model.json as an attacker would: with the checksum that belongs to it."""
    manifest = manifest_of(folder) | changes
    manifest["crc32"] = checksum_of(manifest)
    (folder / "model.json").write_text(json.dumps(manifest))


def edit_description(folder, **changes):
    edit_manifest(folder, description=manifest_of(folder)["description"] | changes)


def checksum_of(manifest):
    """Return the crc32 of the canonical JSON of everything but the checksum itself."""
    covered = {key: value for key, value in manifest.items() if key != "crc32"}
    return zlib.crc32(json.dumps(covered, sort_keys=True, separators=(",", ":")).encode())


def weights_of(folder):
    return folder / manifest_of(folder)["files"]["weights"]["name"]


def replace_weights(folder, content):
    """Put other bytes in place of the weights and let model.json agree with them."""
    path = weights_of(folder)
    path.write_bytes(content)
    weights = {"name": path.name, "n_bytes": len(content), "crc32": zlib.crc32(content)}
    edit_manifest(folder, files=manifest_of(folder)["files"] | {"weights": weights})


def with_header(header, body=b""):
    """Return the bytes of a safetensors file with this header."""
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(encoded)) + encoded + body
