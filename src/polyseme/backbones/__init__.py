"""What finds clusters and ranks labels: a file or folder for each kind.

`protocols` says what a matcher and a ranker have to offer, and what they may offer besides.
`linear` is the one of XR-Linear.
"""
