"""Tests of the backend of Annif; `make test` runs them in an environment of their own."""
