"""How much of a label's name stands in a document, one word at a time."""


def found_in(document, name):
    """Return the fact 'name'.

    Parameters
    ----------
    document, name : collection
        Words.
    """
    if not name:
        return 0
    n_there = sum(word in document for word in name)
    if n_there == 0:
        return 1
    if n_there == len(name):
        return 4
    return 2 if n_there <= len(name) / 2 else 3
