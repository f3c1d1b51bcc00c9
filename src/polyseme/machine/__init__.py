"""The machine that we run on: its threads, progress on its terminal, extras that it has."""
