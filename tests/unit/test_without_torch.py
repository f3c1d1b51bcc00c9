"""A machine without torch: all else works, and networks say in a sentence what to install."""

import subprocess
import sys

import numpy as np
import pytest

import polyseme
from polyseme import XMLCNN, TextModel, XTransformer
from tests.tiny_encoders import need_libraries, table_folder

need_libraries()

HIDDEN = ("torch", "transformers", "tokenizers", "accelerate", "peft", "huggingface_hub")
START = f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HIDDEN}:
            raise ModuleNotFoundError(f"No module named {{name!r}}")
sys.meta_path.insert(0, Hidden())
"""
TEXTS = [f"{word} {place}" for word in ("fish", "cloud", "root") for place in "abcd"]
LABELS = [[text.split()[0]] for text in TEXTS]
WHAT = "install polyseme with the extra 'transformer'"
BARE = {"senses": "none", "verbose": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with texts, an encoder, and a model that a machine with torch made."""
    folder = tmp_path_factory.mktemp("models")
    encoder = table_folder(folder / "encoder", TEXTS)
    small = {"n_epochs": 1, "n_hidden": 4, "n_filters": 2, "n_dimensions": 4, "max_leaf_size": 9}
    for name, classifier in (
        ("x-transformer", XTransformer(str(encoder), ordering="product", **BARE)),
        ("xml-cnn", XMLCNN(**small, **BARE)),
    ):
        TextModel(classifier=classifier, held_out=0, verbose=0).fit(TEXTS, LABELS).save(
            folder / name
        )
    lines = [f"{text},{label}" for text, [label] in zip(TEXTS, LABELS, strict=True)]
    (folder / "a.csv").write_text("text,labels\n" + "\n".join(lines) + "\n")
    return folder


def run(folder, code):
    return subprocess.run(
        [sys.executable, "-c", START + code], cwd=folder, capture_output=True, text=True
    )


@pytest.mark.slow
def test_every_verb_and_method_works_or_says_what_to_install(folder):
    code = f"""
from click.testing import CliRunner
from polyseme.cli import main
import polyseme
def told(*words):
    found = CliRunner().invoke(main, words)
    print(words[0], found.exit_code, found.exception if found.exit_code == 1 else "", flush=True)
    return found
assert told("--help").exit_code == told("train", "--help").exit_code == 0
assert told("train", "a.csv", "-o", "linear", "--no-held-out").exit_code == 0
assert told("info", "linear").exit_code == 0
for method in ("x-transformer", "attention-xml", "xml-cnn"):
    for words in (("-o", "m"), ("--estimate",)):
        found = told("train", "a.csv", "--method", method, *words)
        assert found.exit_code == 2 and {WHAT!r} in found.output, found.output
for model in ("x-transformer", "xml-cnn"):
    for verb in ("info", "senses"):
        found = told(verb, model)
        assert found.exit_code == 2 and {WHAT!r} in found.output, found.output
    try:
        polyseme.load(model)
    except ValueError as error:
        assert {WHAT!r} in str(error)
    else:
        raise AssertionError(model)
polyseme.XTransformer(), polyseme.AttentionXML(), polyseme.XMLCNN()
"""
    done = run(folder, code)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (folder / "m").exists()


def test_those_models_are_read_where_torch_is(folder):
    for name in ("x-transformer", "xml-cnn"):
        labels, _ = polyseme.load(folder / name).rank(TEXTS[:2], 1)
        assert np.asarray(labels).shape == (2, 1)
