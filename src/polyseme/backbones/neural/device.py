"""Where a network computes, with which numbers, and that chance begins where it is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.neural.together import team_device
from polyseme.machine.run import Run

__all__ = ["choose_device", "computing", "mixed_precision", "settled"]

PRECISIONS = ("auto", "float32", "bfloat16")


def choose_device(name: str = "auto") -> Any:
    """Return the device of that name; 'auto' is the first accelerator, or else the CPU.

    Of several processes that train together each has an accelerator of its own.

    Raises
    ------
    ValueError
        If there is no such device.
    """
    torch = needed_library()
    if name == "auto":
        own = team_device()
        if own is not None:
            return own
        if torch.cuda.is_available():
            return torch.device("cuda")
        if torch.backends.mps.is_available():
            return torch.device("mps")
        return torch.device("cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(
            f"there is no device {name!r} to compute on ({reason}); leave it at 'auto'."
        ) from error
    return device


def mixed_precision(device: Any, precision: str = "auto") -> Any:
    """Return a context in which products are computed in bfloat16 where that is wanted.

    'auto' wants it on GPUs that have it. On a CPU it is slower on most machines, so that there
    only 'bfloat16' itself turns it on.
    """
    torch = needed_library()
    wanted = precision == "bfloat16" or (
        precision == "auto" and device.type == "cuda" and torch.cuda.is_bf16_supported()
    )
    return torch.autocast(device.type, dtype=torch.bfloat16) if wanted else nullcontext()


@contextmanager
def settled(run: Run, *stream: int) -> Iterator[None]:
    """Compute with the run's threads, and chance from its seed; afterwards all is as before.

    Parameters
    ----------
    run : Run
    stream : int
        What the random numbers serve: other numbers, other chance.
    """
    torch = needed_library()
    n_threads = torch.get_num_threads()
    was_strict = torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng():
        torch.manual_seed(hash((run.seed, *stream)) % 2**63)  # of whole numbers: always the same
        torch.set_num_threads(run.n_threads)
        torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(was_strict)
            torch.set_num_threads(n_threads)


@contextmanager
def computing(run: Run) -> Iterator[None]:
    """Compute without learning: the run's threads, no gradients."""
    torch = needed_library()
    n_threads = torch.get_num_threads()
    torch.set_num_threads(run.n_threads)
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(n_threads)
