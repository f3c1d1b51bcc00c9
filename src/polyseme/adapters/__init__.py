"""Other people's models: as parts of ours, around our slots, from and into their files.

`matched_by` makes a matcher of any multi-label classifier of scikit-learn, `expanded` gives labels
with several senses to any model that has one place for each. `pecos`, `omikuji` and `napkinxc`
have the models of these packages, `pecos_folder` the files of the first and `pecos_training` its
estimator. The packages are imported only where one of them is needed.
"""

from polyseme.adapters import napkinxc, omikuji, pecos
from polyseme.adapters.expanded import ExpandedLabels
from polyseme.adapters.matched_by import ClassifierAsMatcher, MatchedBy

__all__ = ["ClassifierAsMatcher", "ExpandedLabels", "MatchedBy", "napkinxc", "omikuji", "pecos"]
