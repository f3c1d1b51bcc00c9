"""Vocabularies: names of labels, other names, notations, what is broader; read, and kept."""
