"""One interface for every kind of model: the same questions, whether it takes texts or matrices.

>>> tagger = open_tagger("models/articles")
>>> suggested, *others = tagger.suggest(["The crew of the tank crossed the river."], limit=3)[0]
>>> suggested.name
'tank'
"""

from polyseme.suggestions import Suggestion
from polyseme.tagging.any_model import Tagger
from polyseme.tagging.opening import open_tagger, tagger_for

__all__ = ["Suggestion", "Tagger", "open_tagger", "tagger_for"]
