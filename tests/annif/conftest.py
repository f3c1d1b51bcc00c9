"""What Annif's analyzers want from NLTK, without a network."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture(autouse=True)
def every_message_is_logged():
    """Annif logs the same message only once in a process; here each test is to see its own."""
    for one in logging.getLogger("annif").filters:
        getattr(one, "logged", set()).clear()


@pytest.fixture
def nltk_data(tmp_path_factory, monkeypatch):
    """A model of sentences that has learned nothing; NLTK would fetch a better one."""
    import nltk.data

    folder = tmp_path_factory.mktemp("nltk")
    english = folder / "tokenizers" / "punkt_tab" / "english"
    english.mkdir(parents=True)
    for name in (
        "collocations.tab",
        "sent_starters.txt",
        "abbrev_types.txt",
        "ortho_context.tab",
    ):
        (english / name).write_text("", encoding="utf-8")
    monkeypatch.setattr(nltk.data, "path", [str(folder)])
    return folder
