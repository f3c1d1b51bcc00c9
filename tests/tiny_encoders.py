"""Encoders that are small enough for tests: a transformer of chance, and a table of chance."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

WHY = "the extra 'transformer' is not installed"


def need_libraries() -> None:
    """Skip a test module where torch and transformers are not there."""
    for name in ("torch", "transformers", "tokenizers"):
        pytest.importorskip(name, reason=WHY)


def need_onnx() -> None:
    """Skip a test module where ONNX Runtime is not there."""
    for name in ("onnx", "onnxruntime"):
        pytest.importorskip(name, reason="the extra 'onnx' is not installed")


def words_of(texts: list[str]) -> list[str]:
    return sorted({word for text in texts for word in re.findall(r"\w+", text.lower())})


def tokenizer_json(texts: list[str]) -> str:
    """Return a tokenizer that knows the words of some texts and no others."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    known = {word: i for i, word in enumerate([*special, *words_of(texts)])}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer.to_str()


def transformer_folder(folder: Path, texts: list[str], **others: int) -> Path:
    """Write a small BERT of random weights as a folder."""
    import torch
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    described = tokenizer_json(texts)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(described)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]", unk_token="[UNK]"
    )
    tokenizer.save_pretrained(folder)
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": 64,
        **others,
    }
    n_tokens = len(json.loads(described)["model"]["vocab"])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = BertModel(BertConfig(vocab_size=n_tokens, initializer_range=0.2, **sizes))
    network.save_pretrained(folder)
    return folder


def table_folder(folder: Path, texts: list[str], n_dimensions: int = 24) -> Path:
    """Write a static table of random vectors as a folder."""
    described = tokenizer_json(texts)
    n_tokens = len(json.loads(described)["model"]["vocab"])
    table = np.random.default_rng(0).normal(size=(n_tokens, n_dimensions))
    folder.mkdir(parents=True, exist_ok=True)
    save_file({"embedding.weight": table.astype(np.float16)}, folder / "table.safetensors")
    (folder / "tokenizer.json").write_text(described)
    return folder
