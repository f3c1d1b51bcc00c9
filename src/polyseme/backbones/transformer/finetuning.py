"""An encoder learns to find clusters of labels, level by level from coarse to fine.

Each level of a preliminary tree gets a head, a vector for each of its nodes, which our linear
solver finds on embeddings of the level before; then encoder and head learn together. What is kept
in the end is the encoder.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.neural.checkpoints import below, read_checkpoint, write_checkpoint
from polyseme.backbones.neural.device import settled
from polyseme.backbones.neural.dropout import dropout_from
from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.neural.linear_start import empty_head, start_of_head
from polyseme.backbones.neural.losses import LOSSES
from polyseme.backbones.neural.together import encoded_together
from polyseme.backbones.neural.training import Outcome, TrainingPlan, train
from polyseme.backbones.transformer.candidates import LevelCandidates
from polyseme.backbones.transformer.learning_encoder import learning
from polyseme.backbones.transformer.transformer import TransformerEncoder
from polyseme.inputs.documents import Documents
from polyseme.inputs.sparse_rows import SparsePattern
from polyseme.machine.processes import is_main_process
from polyseme.machine.run import Run
from polyseme.partition.label_tree import LabelTree

__all__ = ["FineTuning", "LevelReport", "count_steps", "finetune", "levels_to_learn"]

STREAM = 0xF17E
FEWEST_NODES = 8  # a level with fewer tells an encoder little
MOST_FOR_A_START = 20_000  # documents that the solver starts a head on
MOST_LOOKED_AT = 1000  # held-out documents that recall is measured on
N_LOOKS = 8  # at the recall, on each level
SAVE_EVERY = 45.0  # seconds between two checkpoints

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class FineTuning:
    """How an encoder is fine-tuned.

    Attributes
    ----------
    in_one_go : bool
        Learn the finest level only, all of its clusters at once (the original X-Transformer).
    n_steps : int or None
        Steps of each level; by default three passes over the documents, shared among the levels.
    batch_size : int
    learning_rate : float
        Of the encoder; heads learn `head_rate` times as quickly.
    head_rate : float
    loss : str
        A key of `polyseme.backbones.neural.losses.LOSSES`.
    positive_weight : float
        What a true cluster counts in the loss, against 1 of any other.
    beam_size : int
        Nodes of the level above whose children are candidates.
    max_candidates : int
        Most candidates of a document.
    adapter_rank : int
        If not 0, the encoder's weights stay and low-rank adapters learn (`peft`).
    saves_memory : bool
        Compute states anew on the way back instead of keeping them (gradient checkpointing).
    patience : int
        Looks at the recall without a better one after which a level is done.
    precision : str
    """

    in_one_go: bool = False
    n_steps: int | None = None
    batch_size: int = 32
    learning_rate: float = 5e-5
    head_rate: float = 5.0
    loss: str = "squared-hinge"
    positive_weight: float = 1.0
    beam_size: int = 10
    max_candidates: int = 512
    adapter_rank: int = 0
    saves_memory: bool = False
    patience: int = 3
    precision: str = "auto"


@dataclass(frozen=True)
class LevelReport:
    """What came of a level.

    Attributes
    ----------
    level, n_nodes : int
    recall_before : float or None
        Of the true nodes of held-out documents, with the head that the solver found; None if
        there are no such documents.
    outcome : Outcome
    """

    level: int
    n_nodes: int
    recall_before: float | None
    outcome: Outcome


def levels_to_learn(tree: LabelTree, how: FineTuning) -> list[int]:
    """Return the levels of the tree that the encoder learns, coarse to fine."""
    if tree.n_levels == 0:
        return []
    finest = tree.n_levels
    if how.in_one_go:
        return [finest]
    return [
        level
        for level in range(1, finest + 1)
        if level == finest or tree.n_nodes(level) >= FEWEST_NODES
    ]


def finetune(
    encoder: TransformerEncoder,
    documents: Documents,
    targets: SparsePattern,
    tree: LabelTree,
    held_out: Integers,
    how: FineTuning,
    run: Run,
    *,
    folder: Path | None = None,
) -> list[LevelReport]:
    """Fine-tune an encoder in place.

    Parameters
    ----------
    encoder : TransformerEncoder
    documents : Documents
        With texts.
    targets : SparsePattern, shape (n_documents, n_clusters)
        The clusters of each document's labels.
    tree : LabelTree
        Above the clusters.
    held_out : ndarray of int64
        Documents that the encoder does not learn from; recall is measured on them.
    how : FineTuning
    run : Run
        Progress counts steps of all levels.
    folder : Path, optional
        Where checkpoints are kept; a run that was stopped goes on from there, and one that was
        finished is not done again.

    Returns
    -------
    list of LevelReport
    """
    return _FineTuning(encoder, documents, targets, tree, held_out, how, run, folder).go()


def count_steps(how: FineTuning, n_documents: int, n_levels: int) -> int:
    """Return the steps of each level."""
    if how.n_steps is not None:
        return how.n_steps
    return max(1, round(3 * n_documents / how.batch_size / max(1, n_levels)))


class _FineTuning:
    def __init__(
        self,
        encoder: TransformerEncoder,
        documents: Documents,
        targets: SparsePattern,
        tree: LabelTree,
        held_out: Integers,
        how: FineTuning,
        run: Run,
        folder: Path | None,
    ) -> None:
        assert documents.texts is not None
        self.torch = needed_library()
        self.encoder, self.tree, self.how, self.run = encoder, tree, how, run
        self.targets = targets
        self.tokens = encoder.tokens.of(documents.texts)
        lengths = np.array([len(one) for one in self.tokens], dtype=np.int64)
        is_held_out = np.zeros(len(lengths), dtype=np.bool_)
        is_held_out[held_out] = True
        has_both = (lengths > 0) & (np.diff(targets.starts) > 0)
        self.known = np.flatnonzero(has_both & ~is_held_out)
        self.looked_at = np.flatnonzero(has_both & is_held_out)[:MOST_LOOKED_AT]
        self.lengths = lengths
        # What is computed twice, to save memory, must be left out twice: torch sees to that only
        # where chance is its own.
        self.is_side_by_side = encoder.device.type == "cpu" and not how.saves_memory
        self.folder = None if folder is None else folder / f"finetuning-{self._identity()}"

    def go(self) -> list[LevelReport]:
        levels = levels_to_learn(self.tree, self.how)
        if not len(self.known):
            return []
        n_steps = count_steps(self.how, len(self.known), len(levels))
        reports: list[LevelReport] = []
        head_above: Any = None
        for place, level in enumerate(levels):
            told = self.run.counting_from(place * n_steps)
            report, head_above = self._learn_level(level, head_above, n_steps, told)
            reports.append(report)
        return reports

    def _learn_level(
        self, level: int, head_above: Any, n_steps: int, run: Run
    ) -> tuple[LevelReport, Any]:
        """Train encoder and head of a level, or read what an earlier run came to."""
        torch = self.torch
        n_nodes = self.tree.n_nodes(level)
        done = None if self.folder is None else self.folder / f"level-{level}.safetensors"
        found = None if done is None else read_checkpoint(done)
        head = empty_head(n_nodes, self.encoder.n_dimensions).to(self.encoder.device)
        if found is not None:
            tensors, state = found
            head.load_state_dict(below("head.", tensors))
            self.encoder.network.load_state_dict(below("encoder.", tensors))
            state["outcome"]["recalls"] = [tuple(pair) for pair in state["outcome"]["recalls"]]
            outcome = Outcome(**state["outcome"])
            return LevelReport(level, n_nodes, state["recall_before"], outcome), head

        targets = self.tree.ancestors(self.targets, level)
        above = level - 1 if head_above is not None else None
        candidates = LevelCandidates(
            targets,
            None if above is None else self.tree.levels[above],
            self.how.max_candidates,
            self.run.seed,
        )
        partial = None if done is None else done.with_name(f"level-{level}.partial.safetensors")
        start = None if done is None else done.with_name(f"level-{level}.start.safetensors")
        recall = self._recall_of(head, targets) if len(self.looked_at) else None
        # Threads work on documents side by side; within torch each is alone.
        inner = replace(self.run, n_threads=1) if self.is_side_by_side else self.run
        with settled(inner, STREAM, level):
            before = self._start(head, targets, recall, start)
            with learning(
                self.encoder,
                adapter_rank=self.how.adapter_rank,
                saves_memory=self.how.saves_memory,
            ) as encoder:
                network = torch.nn.ModuleDict({"encoder": encoder, "head": head})
                outcome = self._train(
                    network, head, head_above, candidates, n_steps, recall, run, partial
                )
        report = LevelReport(level, n_nodes, before, outcome)
        if done is not None:
            tensors = {f"head.{name}": value for name, value in head.state_dict().items()}
            own = self.encoder.network.state_dict()
            tensors |= {f"encoder.{name}": value for name, value in own.items()}
            write_checkpoint(done, tensors, {"recall_before": before, "outcome": asdict(outcome)})
            for file in (partial, start):
                if file is not None and is_main_process():
                    file.unlink(missing_ok=True)
        return report, head

    def _train(
        self,
        network: Any,
        head: Any,
        head_above: Any,
        candidates: LevelCandidates,
        n_steps: int,
        recall: Any,
        run: Run,
        partial: Path | None,
    ) -> Outcome:
        torch, how = self.torch, self.how
        loss = LOSSES[how.loss]
        device = self.encoder.device

        def loss_of(places: Integers, seed: int) -> Any:
            rows = self.known[places]
            if not self.is_side_by_side:
                torch.manual_seed(seed)
            with dropout_from(seed) if self.is_side_by_side else nullcontext():
                vectors = self.encoder.pooled([self.tokens[row] for row in rows])
            mistaken = None
            if not candidates.are_all:
                with torch.no_grad():
                    scores = vectors @ head_above.weight.T + head_above.bias
                    n_kept = min(how.beam_size, scores.shape[1])
                    mistaken = scores.topk(n_kept, dim=1).indices.cpu().numpy()
            chosen = candidates.of(rows, mistaken)
            truth = torch.from_numpy(chosen.targets).to(device)
            if candidates.are_all:
                return loss(head(vectors), truth, None, how.positive_weight)
            nodes = torch.from_numpy(chosen.nodes).to(device)
            own = torch.nn.functional.embedding(nodes, head.weight)
            scores = torch.einsum("bcd,bd->bc", own, vectors) + head.bias[nodes]
            real = torch.from_numpy(chosen.is_real).to(device)
            return loss(scores, truth, real, how.positive_weight)

        plan = TrainingPlan(
            n_steps=n_steps,
            batch_size=how.batch_size,
            side_by_side=self.is_side_by_side,
            learning_rate=how.learning_rate,
            check_every=max(1, n_steps // N_LOOKS) if recall is not None else 0,
            patience=how.patience,
            precision=how.precision,
            save_every=SAVE_EVERY,
        )
        moved = [
            {"params": [p for p in network["encoder"].parameters() if p.requires_grad]},
            {"params": list(head.parameters()), "lr": how.learning_rate * how.head_rate},
        ]
        return train(
            network,
            loss_of,
            self.lengths[self.known],
            plan,
            run,
            recall=recall,
            checkpoint=partial,
            parameters=moved,
        )

    def _start(
        self, head: Any, targets: SparsePattern, recall: Any, kept: Path | None
    ) -> float | None:
        """Let the linear solver find the head, on embeddings of the encoder as it is.

        Returns the recall with it. Both are kept in a file: to encode documents takes long.
        """
        found = None if kept is None else read_checkpoint(kept)
        if found is not None:
            head.load_state_dict(found[0])
            earlier: float | None = found[1]["recall"]
            return earlier
        rows = self.known
        if len(rows) > MOST_FOR_A_START:
            chance = np.random.default_rng([STREAM, self.run.seed, targets.n_columns])
            rows = np.sort(chance.choice(rows, MOST_FOR_A_START, replace=False))
        weights, bias = start_of_head(self._embedded(rows), targets.take(rows), self.run)
        with self.torch.no_grad():
            head.weight.copy_(self.torch.from_numpy(weights))
            head.bias.copy_(self.torch.from_numpy(bias))
        before = None if recall is None else float(recall())
        if kept is not None:
            write_checkpoint(kept, head.state_dict(), {"recall": before})
        return before

    def _embedded(self, rows: Integers) -> Floats:
        quiet = self.run.reporting_to(None)
        tokens = [self.tokens[row] for row in rows]
        return encoded_together(self.encoder.embed_tokens, tokens, quiet)

    def _recall_of(self, head: Any, targets: SparsePattern) -> Any:
        torch = self.torch
        truth = targets.take(self.looked_at)
        n_found = min(self.how.beam_size, max(1, targets.n_columns // FEWEST_NODES))

        def recall() -> float:
            vectors = torch.from_numpy(self._embedded(self.looked_at)).to(self.encoder.device)
            with torch.no_grad():
                best = head(vectors).topk(n_found, dim=1).indices.cpu().numpy()
            n_hits = sum(int(np.isin(truth.row(i), best[i]).sum()) for i in range(truth.n_rows))
            return n_hits / max(1, truth.n_stored)

        return recall

    def _identity(self) -> str:
        """Return what a run that may go on must have in common with the one that was stopped."""
        digest = hashlib.sha256(self.encoder.key.encode())
        digest.update(json.dumps([asdict(self.how), self.run.seed]).encode())
        arrays: list[npt.NDArray[Any]] = [self.targets.starts, self.targets.columns]
        arrays += [self.known, self.looked_at, *self.tree.levels, *self.tokens]
        for array in arrays:
            digest.update(array.tobytes())
        return digest.hexdigest()[:16]
