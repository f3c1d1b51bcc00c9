"""Reads what callgrind wrote, as far as counting kernels needs it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class CallGraph:
    """Instructions spent in functions, and in calls from one function to another."""

    own: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    calls: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))

    def inclusive(self, names: list[str]) -> int:
        """Instructions under functions that have one of `names` in their own name.

        Only calls from outside count, so nested and recursive ones count once. A worker thread's
        function carries the name of the kernel that started it in its template arguments.
        """

        def inside(function: str) -> bool:
            return any(name in function for name in names)

        entered = {
            edge: cost
            for edge, cost in self.calls.items()
            if inside(edge[1]) and not inside(edge[0])
        }
        return sum(entered.values())


def read_call_graph(path: Path) -> CallGraph:
    """Parse a profile written with `--compress-strings=no --compress-pos=no`."""
    graph = CallGraph()
    function = callee = ""
    expect_call_cost = False
    with path.open(errors="replace") as lines:
        for line in lines:
            if line.startswith("fn="):
                function = line[3:].strip()
            elif line.startswith("cfn="):
                callee = line[4:].strip()
            elif line.startswith("calls="):
                expect_call_cost = True
            elif line[0].isdigit() or line.startswith("0x"):
                # position, then instructions (none stands for zero)
                parts = line.split()
                cost = int(parts[1]) if len(parts) > 1 else 0
                if expect_call_cost:
                    graph.calls[function, callee] += cost
                    expect_call_cost = False
                else:
                    graph.own[function] += cost
    return graph
