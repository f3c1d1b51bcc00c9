"""One training by several processes, one for each GPU, as `accelerate launch` starts them.

Every process runs the whole program and comes to the same state. In training and encoding each
computes a part of the documents, and what they found is added up, so that all go on alike. What
files hold, and so which way to go, is decided by the main process, the only one that writes any.

All functions but `own_part` and `team_device` are calls that every process must make, in the same
order. With one process they do nothing, and `accelerate` is not imported.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from polyseme.backbones.neural.library import needed_library
from polyseme.machine.processes import count_processes, is_main_process
from polyseme.machine.run import Run

__all__ = [
    "add_gradients",
    "agreed",
    "encoded_together",
    "own_part",
    "same_weights",
    "summed",
    "team_device",
]

Value = TypeVar("Value")
Floats = npt.NDArray[np.float32]


@cache
def _state() -> Any:
    """Join the other processes; returns what accelerate knows of them and of this one."""
    accelerate, torch = needed_library("accelerate"), needed_library()
    on_cpu = os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says how many threads it took, which we set ourselves
        return accelerate.PartialState(cpu=on_cpu or not torch.cuda.is_available())


def team_device() -> Any:
    """Return the device that is this process' own; None if it is alone."""
    return _state().device if count_processes() > 1 else None


def agreed(value: Value) -> Value:
    """Return what the main process has for a value that may differ."""
    if count_processes() == 1:
        return value
    _state()
    utils = needed_library("accelerate.utils")
    return utils.broadcast_object_list([value])[0]  # type: ignore[no-any-return]


def own_part(n: int) -> slice:
    """Return which of so many things this process computes: as many as the others, or one less."""
    n_processes = count_processes()
    if n_processes == 1:
        return slice(0, n)
    place = _state().process_index
    return slice(n * place // n_processes, n * (place + 1) // n_processes)


def summed(tensor: Any) -> Any:
    """Return the sum of a tensor over all processes."""
    if count_processes() == 1:
        return tensor
    state, utils = _state(), needed_library("accelerate.utils")
    return utils.reduce(tensor.to(state.device), "sum").to(tensor.device)


def add_gradients(parameters: Iterable[Any], *, are_sparse: bool = False) -> None:
    """Give every process the sum of all gradients.

    This is done once a step, after all of it was computed, and not on the way back: a process that
    is short of memory may then try again in smaller pieces by itself.
    """
    if count_processes() == 1:
        return
    torch = needed_library()
    for parameter in parameters:
        own = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        total = summed(own.to_dense() if own.is_sparse else own)
        parameter.grad = total.to_sparse(1) if are_sparse else total


def same_weights(network: Any) -> None:
    """Give every process the main one's weights."""
    if count_processes() == 1:
        return
    torch = needed_library()
    with torch.no_grad():
        for weights in network.state_dict().values():
            weights.copy_(summed(weights if is_main_process() else torch.zeros_like(weights)))


def encoded_together(
    encode: Callable[[Sequence[Any], Run], Floats], given: Sequence[Any], run: Run
) -> Floats:
    """Return what an encoder makes of texts, or of their tokens; each process encodes a part.

    Parameters
    ----------
    encode : callable
        From some of them to their embeddings.
    given : sequence
    run : Run

    Returns
    -------
    ndarray of float32, shape (len(given), n_dimensions)
    """
    if count_processes() == 1:
        return encode(given, run)
    torch = needed_library()
    own = own_part(len(given))
    vectors = encode(given[own], run)
    all_of_them = np.zeros((len(given), vectors.shape[1]), dtype=np.float32)
    all_of_them[own] = vectors
    found: Floats = summed(torch.from_numpy(all_of_them)).numpy()
    return found
