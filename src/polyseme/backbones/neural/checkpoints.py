"""A training that was stopped goes on where it was: one safetensors file, replaced when whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polyseme.backbones.neural.library import needed_library
from polyseme.files.whole_files import written_beside

__all__ = ["read_checkpoint", "restore_optimizer", "tensors_of_optimizer", "write_checkpoint"]


def write_checkpoint(path: Path, tensors: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Write tensors and JSON values to one file, which takes its place when it is whole."""
    safetensors = needed_library("safetensors.torch")
    # Tied weights share memory, which the format does not have.
    apart = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    content = safetensors.save(apart, {"state": json.dumps(state)})
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_beside(path) as file:
        file.write(content)


def read_checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the tensors and values of a checkpoint; None if there is no file.

    Raises
    ------
    ValueError
        If the file is not one.
    """
    if not path.exists():
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


def tensors_of_optimizer(optimizer: Any) -> dict[str, Any]:
    """Return what an optimiser remembers of each parameter, by ``optimizer.<number>.<name>``."""
    return {
        f"optimizer.{number}.{name}": value
        for number, kept in optimizer.state_dict()["state"].items()
        for name, value in kept.items()
    }


def restore_optimizer(optimizer: Any, tensors: Mapping[str, Any]) -> None:
    """Give an optimiser back what `tensors_of_optimizer` took from it."""
    state: dict[int, dict[str, Any]] = {}
    for key, value in tensors.items():
        if key.startswith("optimizer."):
            _, number, name = key.split(".", 2)
            state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
