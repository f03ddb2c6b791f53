"""Reproduces nine papers on label distribution learning, cell by cell."""

__version__ = "0.1.0"
