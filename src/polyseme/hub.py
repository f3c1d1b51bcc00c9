"""Models on a hub of the Hugging Face kind, by huggingface_hub (extra ``hub``).

>>> push("models/articles", "somebody/articles")
>>> pull("somebody/articles", "models/articles")

Who may do what is between the hub and huggingface_hub, which knows how to log in.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from polyseme.cards import write_card
from polyseme.files.model_folder import CARD, model_files, open_model
from polyseme.inputs.excerpts import excerpt
from polyseme.machine.extras import how_to_install
from polyseme.tagger import open_tagger

__all__ = ["pull", "push"]

FILES = ("model.json", "weights-*.safetensors", "names-*.safetensors", CARD)
_REASONS = {  # where huggingface_hub gives only the number of an error
    "RepositoryNotFoundError": "there is no such model, or it is private and you must log in with "
    "`hf auth login`",
    "RevisionNotFoundError": "it has no such branch, tag or commit",
}


def push(
    path: str | os.PathLike[str],
    name: str,
    *,
    private: bool = False,
    message: str | None = None,
    endpoint: str | None = None,
) -> str:
    """Put a saved model on a hub, with a model card; one that is there is replaced.

    Parameters
    ----------
    path : path of the model's folder
    name : str
        Its name on the hub, such as ``somebody/articles``.
    private : bool
        Whether a new repository is for its owner only.
    message : str, optional
        What to say of this version.
    endpoint : str, optional
        The address of another hub.

    Returns
    -------
    str
        Where it is.
    """
    hub = _library()
    folder = Path(path)
    write_card(folder, open_tagger(folder))
    api = hub.HfApi(endpoint=endpoint)
    say = f"cannot put {folder} on the hub {api.endpoint} as {name}"
    _ask(say, lambda: api.create_repo(name, private=private, exist_ok=True, repo_type="model"))
    done = _ask(
        say,
        lambda: api.upload_folder(
            repo_id=name,
            folder_path=folder,
            repo_type="model",
            commit_message=message or "A model of polyseme",
            allow_patterns=[*model_files(folder), CARD],
            delete_patterns=list(FILES[1:3]),  # those of the model before
        ),
    )
    return str(getattr(done, "repo_url", None) or name)


def pull(
    name: str,
    path: str | os.PathLike[str],
    *,
    revision: str | None = None,
    endpoint: str | None = None,
) -> None:
    """Fetch a model from a hub into a new folder; what arrives is checked first.

    Parameters
    ----------
    name : str
        Its name on the hub, such as ``somebody/articles``.
    path : path
        A folder that is new or empty.
    revision : str, optional
        A branch, a tag or a commit; by default the newest.
    endpoint : str, optional
        The address of another hub.
    """
    hub = _library()
    folder = Path(path).absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{path} is there already; give a new folder with -o.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as beside:
        place = Path(beside) / "model"
        api = hub.HfApi(endpoint=endpoint)
        _ask(
            f"cannot fetch {name} from the hub {api.endpoint}",
            lambda: api.snapshot_download(
                name, revision=revision, local_dir=place, allow_patterns=list(FILES)
            ),
        )
        if not (place / "model.json").is_file():
            raise ValueError(f"{name} on the hub is not a model of polyseme: no model.json.")
        open_model(place)  # every file is whole
        fetched = Path(beside) / "whole"
        fetched.mkdir()
        for file in (*model_files(place), CARD):
            if (place / file).exists():
                os.replace(place / file, fetched / file)
        if folder.exists():
            folder.rmdir()  # an empty one, which not every system replaces
        os.replace(fetched, folder)


def _library() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise ValueError(f"for models on a hub, {how_to_install('hub')}.") from None
    if sys.stderr is None or not sys.stderr.isatty():
        from huggingface_hub.utils import disable_progress_bars

        disable_progress_bars()
    return huggingface_hub


def _ask(sentence: str, request: Callable[[], Any]) -> Any:
    """Ask the hub; whatever goes wrong there is one sentence."""
    try:
        return request()
    except Exception as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        reason = _REASONS.get(type(error).__name__) or excerpt(said[0], 200).rstrip(".")
        raise OSError(f"{sentence}: {reason}.") from error
