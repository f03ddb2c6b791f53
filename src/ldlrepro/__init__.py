"""Reproduces five papers on label distribution learning, cell by cell."""

import sys

from ldlrepro.core.moved import OldNames

__version__ = "0.1.0"

sys.meta_path.append(OldNames())
