"""An encoder's network as it learns: itself, or with adapters, keeping its states or not."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.transformer.transformer import TransformerEncoder

__all__ = ["learning"]


@contextmanager
def learning(
    encoder: TransformerEncoder, *, adapter_rank: int = 0, saves_memory: bool = False
) -> Iterator[Any]:
    """Yield the network to be trained; afterwards the encoder has a plain one again.

    Parameters
    ----------
    encoder : TransformerEncoder
    adapter_rank : int
        If not 0, its weights stay and low-rank adapters learn (`peft`), merged in the end.
    saves_memory : bool
        Compute states anew on the way back instead of keeping them (gradient checkpointing).
    """
    network = encoder.network
    if saves_memory:
        _keep_states(network, False)
    if adapter_rank:
        encoder.network = _with_adapters(network, adapter_rank)
    yield encoder.network
    if adapter_rank:
        network = encoder.network.merge_and_unload()
        for parameter in network.parameters():
            parameter.requires_grad_(True)
    if saves_memory:
        _keep_states(network, True)
    encoder.network = network.eval()


def _with_adapters(network: Any, rank: int) -> Any:
    peft = needed_library("peft")
    config = peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear")
    with warnings.catch_warnings():  # the two libraries are not always of one age
        warnings.simplefilter("ignore", FutureWarning)
        return peft.get_peft_model(network, config)


def _keep_states(network: Any, is_wanted: bool) -> None:
    """Turn gradient checkpointing off or on; newer versions of the library call it otherwise."""
    what = "disable" if is_wanted else "enable"
    newer = getattr(network, f"activation_checkpointing_{what}", None)
    (newer or getattr(network, f"gradient_checkpointing_{what}"))()
