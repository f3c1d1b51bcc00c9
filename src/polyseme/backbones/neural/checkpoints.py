"""A training that was stopped goes on where it was: one safetensors file, replaced when whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.neural.together import agreed
from polyseme.files.whole_files import written_beside
from polyseme.machine.processes import is_main_process

__all__ = ["below", "read_checkpoint", "write_checkpoint"]


def write_checkpoint(path: Path, tensors: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Write tensors and JSON values to one file, which takes its place when it is whole.

    Of several processes the main one writes.
    """
    if not is_main_process():
        return
    safetensors = needed_library("safetensors.torch")
    # Tied weights share memory, which the format does not have.
    apart = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    content = safetensors.save(apart, {"state": json.dumps(state)})
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_beside(path) as file:
        file.write(content)


def read_checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the tensors and values of a checkpoint; None if there is no file.

    Whether there is one is what the main process sees: others may come too late or too early.

    Raises
    ------
    ValueError
        If the file is not one.
    """
    if not agreed(path.exists()):
        return None
    safetensors = needed_library("safetensors")
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            state = json.loads((file.metadata() or {})["state"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        raise ValueError(
            f"{path} is not a checkpoint of a training ({error}); remove it to begin anew."
        ) from error
    return tensors, state


def below(prefix: str, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tensors whose names begin so, by the rest of their names."""
    return {k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)}
