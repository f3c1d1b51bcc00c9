"""The machine that we run on, and how: threads, a `run`, progress and the phases it shows.

`extras` says how to get what an extra brings, `old_names` what parameters were called before.
"""
