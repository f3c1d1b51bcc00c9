"""Settings found by trial, within a budget of time, on held-out training documents.

`tuner` has the door, `tune`. `candidates` draws settings from what the class of an estimator says,
`trials` tries one on a sample of the documents, `halving` decides which is tried next and on how
many, `journal` keeps what was tried, `metric` knows figures by name, `showing` is the table and
`result` what comes out.
"""

from polyseme.tuning.result import TuningResult
from polyseme.tuning.tuner import TuningInterrupted, tune

__all__ = ["TuningInterrupted", "TuningResult", "tune"]
