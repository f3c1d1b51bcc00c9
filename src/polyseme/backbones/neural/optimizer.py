"""AdamW, and its relative for tables of which a step touches a few rows only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polyseme.backbones.neural.checkpoints import below
from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.neural.together import add_gradients

__all__ = ["Optimizer", "warm_up"]


class Optimizer:
    """Moves parameters, as one optimiser of torch would.

    Parameters
    ----------
    groups : sequence of dict
        As `torch.optim` takes them. In those with ``sparse=True`` gradients have a few rows, and
        rows without one stay as they are (`torch.optim.SparseAdam`): a dense step over a large
        table takes longer than all else.
    learning_rate, weight_decay : float
        Of groups that do not have their own. Sparse ones do not decay.
    """

    def __init__(
        self, groups: Sequence[Mapping[str, Any]], learning_rate: float, weight_decay: float
    ) -> None:
        torch = needed_library()
        dense, sparse = (
            [
                {name: value for name, value in group.items() if name != "sparse"}
                for group in groups
                if bool(group.get("sparse")) is wanted
            ]
            for wanted in (False, True)
        )
        self._optimizers = {}
        if dense:
            self._optimizers["dense"] = torch.optim.AdamW(
                dense, lr=learning_rate, weight_decay=weight_decay
            )
        if sparse:
            self._optimizers["sparse"] = torch.optim.SparseAdam(sparse, lr=learning_rate)
        self._rates = [group["lr"] for group in self._groups]

    @property
    def _groups(self) -> list[dict[str, Any]]:
        return [group for one in self._optimizers.values() for group in one.param_groups]

    def slow_down_to(self, share: float) -> None:
        """Set the learning rates to a share of what they are at their height."""
        for group, rate in zip(self._groups, self._rates, strict=True):
            group["lr"] = rate * share

    def forget_gradients(self) -> None:
        """Make room for those of the next step."""
        for one in self._optimizers.values():
            one.zero_grad(set_to_none=True)

    def step(self, longest: float) -> None:
        """Take a step by the gradients of all processes, cut to a length unless that is 0."""
        moved = []
        for kind, one in self._optimizers.items():
            own = [parameter for group in one.param_groups for parameter in group["params"]]
            add_gradients(own, are_sparse=kind == "sparse")
            moved += own
        if longest > 0:
            _shorten(moved, longest)
        for one in self._optimizers.values():
            one.step()

    def to_tensors(self) -> dict[str, Any]:
        """Return what is remembered of each parameter, to be stored."""
        return {
            f"optimizer.{kind}.{number}.{name}": value
            for kind, one in self._optimizers.items()
            for number, kept in one.state_dict()["state"].items()
            for name, value in _as_tensors(kept).items()
        }

    def restore(self, tensors: Mapping[str, Any]) -> None:
        """Take back what `to_tensors` gave."""
        for kind, one in self._optimizers.items():
            state: dict[int, dict[str, Any]] = {}
            for key, value in below(f"optimizer.{kind}.", tensors).items():
                number, name = key.split(".", 1)
                is_count = kind == "sparse" and name == "step"
                state.setdefault(int(number), {})[name] = int(value) if is_count else value
            one.load_state_dict({**one.state_dict(), "state": state})


def warm_up() -> None:
    """Let torch import what it does with its first steps, seconds that no clock should count."""
    torch = needed_library()
    weight = torch.nn.Parameter(torch.zeros(1))
    weight.grad = torch.zeros(1)
    Optimizer([{"params": [weight]}], 1.0, 0.0).step(1.0)


def _as_tensors(kept: Mapping[str, Any]) -> dict[str, Any]:
    torch = needed_library()
    return {
        name: value if torch.is_tensor(value) else torch.tensor(value)
        for name, value in kept.items()
    }


def _shorten(parameters: Sequence[Any], longest: float) -> None:
    """Cut all gradients together to a length, as `clip_grad_norm_` does with dense ones."""
    torch = needed_library()
    found = []
    for parameter in parameters:
        if parameter.grad is None:
            continue
        if parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()
            found.append(parameter.grad._values())
        else:
            found.append(parameter.grad)
    if not found:
        return
    norms = torch.stack([torch.linalg.vector_norm(one).to(found[0].device) for one in found])
    scale = (longest / (torch.linalg.vector_norm(norms) + 1e-6)).clamp(max=1.0)
    for one in found:
        one.mul_(scale)
