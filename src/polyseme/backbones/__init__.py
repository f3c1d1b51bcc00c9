"""What finds clusters and ranks labels: a file or folder for each kind.

`protocols` says what a matcher and a ranker have to offer, and what they may offer besides;
`tasks` is what they are asked to learn. `linear` is the backbone of XR-Linear.
"""
