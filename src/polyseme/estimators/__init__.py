"""Estimators in the manner of scikit-learn: fit, predict, score, save.

`partitioned` is what all of them share, `predicting` what they answer once trained, `xr_linear`
the linear one, `plt` the same with probabilities and an exact search. `parameters` has the checks
of parameters, `model_parts` what is saved.
"""
