"""How texts are read: the settings of a network, and a network with the words it knows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyseme.backbones.attention.vectors import co_occurring_vectors, read_vectors
from polyseme.backbones.attention.words import PADDING, Vocabulary, texts_of
from polyseme.backbones.neural.device import choose_device
from polyseme.backbones.neural.library import needed_library
from polyseme.files.stored_model import StoredModel
from polyseme.inputs.documents import Documents

__all__ = ["NETWORKS", "DocumentsWithReader", "Reader", "Reading"]

NETWORKS = {"attention": "AttentionNetwork", "convolution": "ConvolutionNetwork"}
OF_OUTPUTS = ("own", "bias")

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Reading:
    """How texts are read, and how that is learned; see `polyseme.AttentionXML`.

    Attributes
    ----------
    network : str
        One of `NETWORKS`.
    n_filters : int
        Of each width of a convolution.
    least_steps : int
        So that a handful of documents is learned as well.
    most_at_once : int
        Nodes of a level that are scored for every document. The first network is that of the last
        level that has no more; the levels above it need none.
    """

    network: str = "attention"
    n_words: int = 200
    vocabulary_size: int = 50_000
    word_vectors: str = "co-occurrence"
    n_dimensions: int = 100
    n_hidden: int = 96
    n_filters: int = 64
    dropout: float = 0.2
    n_epochs: int = 5
    batch_size: int = 16
    learning_rate: float = 0.005
    device: str = "auto"
    work_folder: str | None = None
    least_steps: int = 100
    most_at_once: int = 1024


@dataclass(frozen=True, eq=False)
class Reader:
    """A network and the words that it knows.

    Attributes
    ----------
    vocabulary : Vocabulary
    network : torch.nn.Module
        See `polyseme.backbones.attention.networks`.
    """

    vocabulary: Vocabulary
    network: Any

    @property
    def n_dimensions(self) -> int:
        """Length of a word vector."""
        return int(self.network.vectors.embedding_dim)

    @classmethod
    def fresh(cls, how: Reading, documents: Documents, n_outputs: int, seed: int) -> Reader:
        """Return one that knows the words of documents, and nothing else; call in `settled`."""
        torch = needed_library()
        texts = texts_of(documents)
        vocabulary = Vocabulary.learned_from(texts, how.vocabulary_size, how.n_words)
        if how.word_vectors == "random":
            return cls(vocabulary, _network(how, vocabulary.size, how.n_dimensions, n_outputs))
        if how.word_vectors == "co-occurrence":
            words = vocabulary.numbered(texts)
            vectors = co_occurring_vectors(words, vocabulary, how.n_dimensions, seed)
            is_given = np.ones(vocabulary.size, dtype=np.bool_)
        else:
            vectors, is_given = read_vectors(Path(how.word_vectors), vocabulary)
        is_given[PADDING] = False
        network = _network(how, vocabulary.size, vectors.shape[1], n_outputs)
        with torch.no_grad():
            given = torch.from_numpy(is_given).to(network.bias.device)
            network.vectors.weight[given] = torch.from_numpy(vectors[is_given]).to(given.device)
        return cls(vocabulary, network)

    def started(self, how: Reading, n_outputs: int | None = None) -> Reader:
        """Return one that goes on from here: the same outputs, or so many others.

        Others have rows of their own, by chance. Were they begun at those of the nodes above them,
        siblings would be alike, and what they want of the shared layers would cancel: measured,
        they stayed alike.
        """
        learned = dict(self.network.state_dict())
        n_own = len(learned["bias"]) if n_outputs is None else n_outputs
        network = _network(how, self.vocabulary.size, self.n_dimensions, n_own)
        if n_outputs is not None:
            learned |= {name: network.state_dict()[name] for name in OF_OUTPUTS}
        network.load_state_dict(learned)
        return Reader(self.vocabulary, network)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the weights by name."""
        learned = self.network.state_dict()
        return {name: tensor.cpu().numpy().copy() for name, tensor in learned.items()}

    @classmethod
    def restored(
        cls, how: Reading, stored: StoredModel, vocabulary: Vocabulary, n_outputs: int
    ) -> Reader:
        """Return a saved one after checking that all of its arrays are there and sound."""
        torch = needed_library()
        vectors = stored.array("vectors.weight", np.float32, (vocabulary.size, None))
        with torch.device("meta"):  # shapes only
            network = _made(how, vocabulary.size, vectors.shape[1], n_outputs)
        found = {}
        for name, expected in network.state_dict().items():
            array = stored.array(name, np.float32, tuple(expected.shape))
            stored.finite(name)
            found[name] = torch.from_numpy(array.copy())
        network.load_state_dict(found, assign=True)
        return cls(vocabulary, network.to(choose_device(how.device)).eval())


@dataclass(frozen=True, eq=False)
class DocumentsWithReader(Documents):
    """Documents, and who has read them: what a matcher hands to the ranker after it.

    Attributes
    ----------
    reader : Reader or None
        A ranker that learns goes on from its network.
    """

    reader: Reader | None = None


def _network(how: Reading, n_words: int, n_dimensions: int, n_outputs: int) -> Any:
    return _made(how, n_words, n_dimensions, n_outputs).to(choose_device(how.device))


def _made(how: Reading, n_words: int, n_dimensions: int, n_outputs: int) -> Any:
    needed_library()  # or the sentence that says how to get it
    from polyseme.backbones.attention import networks

    made: Any = getattr(networks, NETWORKS[how.network])
    return made(how, n_words, n_dimensions, n_outputs)
