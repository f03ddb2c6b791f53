"""Reproduces five label-distribution-learning papers, cell by cell."""

__version__ = "0.1.0"
