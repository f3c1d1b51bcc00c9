"""The learned last step: which of a document's best labels come first, and how likely each is.

`facts` says what is known of a (document, label) pair once slots are scored, `name_words` how much
of the label's name stands in the document, `label_ordering` is the order that is made of it,
`learning` learns one from documents that the scores did not see.
"""
