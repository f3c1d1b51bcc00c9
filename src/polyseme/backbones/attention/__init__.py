"""Networks that read the words of a text: AttentionXML's and XML-CNN's.

`words.py` numbers words, `vectors.py` reads word vectors, `networks.py` has the two networks
(torch is imported there and nowhere else), `reading.py` says how one is made, stored and asked,
`outputs.py` says what it learns to find, `start.py` lets the linear solver begin it, `learning.py`
trains it, and `matcher.py` and `ranker.py` put this to use: a network for each level of the tree,
and one for the slots, each started from the one above.
"""
