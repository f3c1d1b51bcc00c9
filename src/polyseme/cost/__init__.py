"""What a training would take: time, memory, size.

`estimate` trains on samples, `formulas` says how cost depends on sizes, `memory` what there is.
"""
