"""A model as a folder: written beside and moved into place, checked when it is read.

`loading` opens a model of any kind, `kinds` knows these by name, `format_1` reads the format of
before. `model_folder` writes and reads folders, `safetensors_files` the arrays in them,
`stored_model` has the checks, `whole_files` writes other files in one step.
"""
