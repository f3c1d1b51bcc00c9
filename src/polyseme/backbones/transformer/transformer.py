"""An encoder of the Hugging Face kind: a transformer whose tokens are pooled to one vector."""

from __future__ import annotations

import hashlib
import json
import socket
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import numpy as np
import numpy.typing as npt

from polyseme.backbones.neural.device import choose_device, computing, mixed_precision
from polyseme.backbones.neural.library import needed_library
from polyseme.backbones.neural.side_by_side import PIECE, asked_in_pieces
from polyseme.backbones.neural.training import is_lack_of_memory
from polyseme.backbones.transformer.static_table import restored_tokens
from polyseme.backbones.transformer.tokens import Tokens
from polyseme.files.stored_model import Contents, StoredModel
from polyseme.machine.run import Run

__all__ = ["POOLINGS", "TransformerEncoder", "pool"]

POOLINGS = ("mean", "first")
AT_ONCE = 256  # texts, on a GPU

Floats = npt.NDArray[np.float32]
TokenLists = Sequence[npt.NDArray[np.int32]]


class TransformerEncoder:
    """A transformer and its tokenizer.

    Parameters
    ----------
    network : transformers.PreTrainedModel
    tokens : Tokens
    pooling : {'mean', 'first'}
    name : str
        Where it came from, for messages.
    device : str
    precision : str
        See `polyseme.backbones.neural.device.mixed_precision`.
    """

    form = "transformer"
    can_be_finetuned = True

    def __init__(
        self,
        network: Any,
        tokens: Tokens,
        pooling: str,
        name: str,
        device: str = "auto",
        precision: str = "auto",
    ) -> None:
        self.network, self.tokens, self.pooling, self.name = network, tokens, pooling, name
        self.precision = precision
        self.device = choose_device(device)
        if getattr(network, "pooler", None) is not None:
            network.pooler = None  # another way to pool, which nobody here uses
        network.to(self.device).eval()

    @classmethod
    def load(
        cls, name: str, *, pooling: str = "mean", max_tokens: int = 128, device: str = "auto"
    ) -> TransformerEncoder:
        """Read a folder, or what the hub knows by that name; only safetensors, and no code."""
        transformers = needed_library("transformers")
        needed_library()
        is_folder = Path(name).expanduser().is_dir()
        where = str(Path(name).expanduser()) if is_folder else name
        is_here = is_folder or _is_in_cache(name)
        if not is_here and not _hub_is_reachable():
            raise ValueError(_why_not(name, False, OSError("there is no network")))
        try:
            with _quietly(transformers):
                tokenizer = transformers.AutoTokenizer.from_pretrained(
                    where, local_files_only=is_here, use_fast=True
                )
                network, found = transformers.AutoModel.from_pretrained(
                    where,
                    local_files_only=is_here,
                    use_safetensors=True,
                    dtype="float32",
                    output_loading_info=True,
                )
        except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
            raise ValueError(_why_not(name, is_folder, error)) from error
        _check_weights(network, found["missing_keys"], name)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise ValueError(
                f"the encoder {name} has no tokenizer.json, and none can be made of what it has."
            )
        n_known, n_vectors = backend.get_vocab_size(), int(network.config.vocab_size)
        if 2 * n_known < n_vectors:  # the library makes an empty one where there is none
            raise ValueError(
                f"the encoder {name} has vectors of {n_vectors:,} tokens, but its tokenizer knows "
                f"{n_known:,}; give it the tokenizer.json that it was trained with."
            )
        described = json.loads(backend.to_str())
        pad = tokenizer.pad_token_id
        described["padding"] = {
            "strategy": "BatchLongest",
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0 if pad is None else pad,
            "pad_type_id": 0,
            "pad_token": tokenizer.pad_token or "[PAD]",
        }
        most = min(max_tokens, _longest(network.config, tokenizer.model_max_length))
        return cls(network, Tokens(json.dumps(described), most), pooling, name, device)

    @property
    def n_dimensions(self) -> int:
        """Numbers of an embedding."""
        return int(self.network.config.hidden_size)

    @property
    def key(self) -> str:
        """What embeddings depend on, but for the text, in a few letters."""
        digest = hashlib.sha256(self.tokens.described.encode())
        digest.update(json.dumps([self.tokens.max_tokens, self.pooling]).encode())
        for name, weights in sorted(self.network.state_dict().items()):
            digest.update(name.encode())
            digest.update(weights.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()[:24]

    def embed(self, texts: Sequence[str], run: Run) -> Floats:
        """Return the embedding of each text at unit length, or zeros if it has no token.

        Returns
        -------
        ndarray of float32, shape (n_texts, n_dimensions)
        """
        return self.embed_tokens(self.tokens.of(texts), run)

    def embed_tokens(self, tokens: TokenLists, run: Run) -> Floats:
        """Do the same for texts that were taken apart before."""
        found = np.zeros((len(tokens), self.n_dimensions), dtype=np.float32)
        lengths = np.array([len(one) for one in tokens], dtype=np.int64)
        is_training = self.network.training
        self.network.eval()
        order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
        try:
            if len(order):
                found[order] = self._computed([tokens[row] for row in order], run)
        finally:
            self.network.train(is_training)
        return found

    def _computed(self, tokens: TokenLists, run: Run) -> Floats:
        """Return the embeddings of texts that have tokens; in small pieces if memory runs out."""
        if len(tokens) == 1:  # whoever asks about one text waits for it: all threads
            with computing(run):
                return self._asked(tokens)
        on_cpu = self.device.type == "cpu"
        at_once, run = (PIECE, run) if on_cpu else (AT_ONCE, replace(run, n_threads=1))
        while True:
            try:
                return np.concatenate(
                    asked_in_pieces(
                        len(tokens), at_once, lambda piece: self._asked(tokens[piece]), run
                    )
                )
            except (RuntimeError, MemoryError) as error:
                if not is_lack_of_memory(error) or at_once == 1:
                    raise
            at_once = max(1, at_once // 2)
            warnings.warn(
                f"memory ran out; from now on {at_once} texts are computed at once.", stacklevel=4
            )

    def _asked(self, tokens: TokenLists) -> Floats:
        found: Floats = self.pooled(tokens).float().cpu().numpy()
        return found

    def pooled(self, tokens: TokenLists) -> Any:
        """Return a tensor of unit rows for a few texts, with gradients if these are wanted."""
        torch = needed_library()
        ids, mask = self.tokens.padded(tokens)
        is_token = torch.from_numpy(mask).to(self.device)
        with mixed_precision(self.device, self.precision):
            states = self.network(
                input_ids=torch.from_numpy(ids).to(self.device), attention_mask=is_token
            ).last_hidden_state
        return pool(states, is_token, self.pooling)

    def contents(self) -> Contents:
        """Return what makes it up, to be stored."""
        config = json.loads(self.network.config.to_json_string(use_diff=False))
        weights = {
            f"weights.{name}": value.detach().cpu().float().contiguous().numpy()
            for name, value in self.network.state_dict().items()
        }
        return Contents(
            {
                "form": self.form,
                "name": self.name,
                "max_tokens": self.tokens.max_tokens,
                "pooling": self.pooling,
                "config": config,
            },
            {"tokenizer": self.tokens.to_array(), **weights},
            {},
        )

    @classmethod
    def restored(cls, stored: StoredModel, *, device: str = "auto") -> TransformerEncoder:
        """Return what was stored, after checking it."""
        transformers = needed_library("transformers")
        torch = needed_library()
        pooling, config = stored.value("pooling", str), stored.value("config", dict)
        if pooling not in POOLINGS:
            raise stored.damaged(f"pooling of its encoder is {pooling[:80]!r}")
        tokens = restored_tokens(stored)
        own = stored.part("weights")
        for name in own.arrays:
            own.finite(name)
        try:
            with _quietly(transformers), torch.random.fork_rng():
                described = transformers.AutoConfig.for_model(**config)
                network = transformers.AutoModel.from_config(described)
                if getattr(network, "pooler", None) is not None:
                    network.pooler = None
                wanted = network.state_dict()
                network.load_state_dict(
                    {
                        name: torch.from_numpy(array.copy()).to(wanted[name].dtype)
                        for name, array in own.arrays.items()
                        if name in wanted
                    }
                )
        except Exception as error:  # there is no end to what a wrong description may raise
            raise stored.damaged(f"its encoder cannot be made: {error!s:.200}") from error
        return cls(network, tokens, pooling, stored.value("name", str), device)


def pool(states: Any, is_token: Any, pooling: str) -> Any:
    """Return a tensor of unit rows, shape (n_texts, n_dimensions), from the states of tokens."""
    torch = needed_library()
    if pooling == "first":
        vectors = states[:, 0].float()
    else:
        weights = is_token[:, :, None].to(torch.float32)
        vectors = (states.float() * weights).sum(dim=1) / weights.sum(dim=1)
    return needed_library("torch.nn.functional").normalize(vectors, dim=1)


def _check_weights(network: Any, missing: Sequence[str], name: str) -> None:
    """Refuse weights that are not all there, which the library would make up, or no numbers."""
    wanted = sorted(key for key in missing if not key.startswith("pooler."))
    if wanted:
        raise ValueError(
            f"the encoder {name} lacks {len(wanted)} of the weights that its config.json speaks "
            f"of, such as {wanted[0]}; get it again, whole."
        )
    for key, weights in network.state_dict().items():
        if weights.is_floating_point() and not weights.isfinite().all():
            raise ValueError(
                f"the weights {key} of the encoder {name} are not all finite; get it again."
            )


@contextmanager
def _quietly(transformers: Any) -> Iterator[None]:
    """Keep the library from printing bars and notes of its own."""
    logging = transformers.utils.logging
    level, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if had_bars:
            logging.enable_progress_bar()


def _longest(config: Any, of_tokenizer: int) -> int:
    """Return how many tokens the encoder takes at most."""
    places = getattr(config, "max_position_embeddings", None) or of_tokenizer
    if getattr(config, "model_type", "") in ("roberta", "xlm-roberta", "camembert"):
        places -= 2  # their places are counted from the one after padding
    return int(min(places, of_tokenizer))


def _is_in_cache(name: str) -> bool:
    hub = needed_library("huggingface_hub")
    try:
        return isinstance(hub.try_to_load_from_cache(name, "config.json"), str)
    except ValueError:  # no name that the hub would know
        return False


def _hub_is_reachable() -> bool:
    """Find out at once: without a network the library tries again for most of a minute."""
    hub = needed_library("huggingface_hub")
    if hub.constants.HF_HUB_OFFLINE:
        return False
    if getproxies():  # then others know where it is
        return True
    try:
        socket.getaddrinfo(urlsplit(hub.constants.ENDPOINT).hostname, 443)
    except OSError:
        return False
    return True


def _why_not(name: str, is_folder: bool, error: Exception) -> str:
    reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else repr(error)
    if is_folder:
        return f"the folder {name} does not hold an encoder that can be read: {reason}."
    return (
        f"the encoder {name!r} is no folder, and the hub of Hugging Face does not give it either "
        f"({reason:.200}); give the path of a folder with config.json, weights as safetensors and "
        "a tokenizer."
    )
