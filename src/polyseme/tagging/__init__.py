"""The faces of models: `any_model` has what everybody asks, `opening` finds the one that fits."""
