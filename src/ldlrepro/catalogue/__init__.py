"""Contents of the YAML files, as typed values that cannot be changed.

``Project.open()`` opens a checkout. Every complaint about a file names the file, the key, what is
allowed, and the nearest name that exists.
"""

from __future__ import annotations

from ldlrepro.catalogue.claims import Check, Claim, ClaimTest, Miss, Selection
from ldlrepro.catalogue.data_sets import DataSet, RawFile, Source, Weights
from ldlrepro.catalogue.measures import Measure
from ldlrepro.catalogue.methods import Method, Request, with_settings
from ldlrepro.catalogue.papers import (
    Experiment,
    Extra,
    Figure,
    Paper,
    PrintedMethod,
    PrintedSetting,
    Protocol,
    Remark,
    Table,
)
from ldlrepro.catalogue.project import Project, from_environment
from ldlrepro.catalogue.runs import RunConfig

__all__ = [
    "Check",
    "Claim",
    "ClaimTest",
    "DataSet",
    "Experiment",
    "Extra",
    "Figure",
    "Measure",
    "Method",
    "Miss",
    "Paper",
    "PrintedMethod",
    "PrintedSetting",
    "Project",
    "Protocol",
    "RawFile",
    "Remark",
    "Request",
    "RunConfig",
    "Selection",
    "Source",
    "Table",
    "Weights",
    "from_environment",
    "with_settings",
]
