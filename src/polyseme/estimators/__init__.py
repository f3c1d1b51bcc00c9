"""Estimators in the manner of scikit-learn: fit, predict, score, save.

`partitioned` is what all of them share, `xr_linear` the linear one; `parameters` has the checks.
"""
