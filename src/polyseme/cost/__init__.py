"""What a training would take: time, memory, size.

`samples` are trained and watched, `estimate` goes from them to the whole by `formulas` that say
how cost depends on sizes, and `memory` says what there is.
"""
