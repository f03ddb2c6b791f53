"""``make gpu-check``: everything that only a machine with an NVIDIA card can tell, in nine minutes.

``steps`` lists what is checked, ``__main__`` runs each step as a process of its own and keeps its
result, ``page`` writes docs/gpu.md. The checks are in ``arithmetic`` (the same numbers as on the
processor), ``speed`` and ``jobs`` (processes that share a card, die and go on).
"""
