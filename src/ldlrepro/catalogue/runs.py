"""The run configuration: which papers, which part of them, and with what."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from ldlrepro.catalogue.entries import Entry, List


class Slice(Entry):
    """Data sets and methods; where both lists are given, both must match."""

    datasets: List[str] = ()
    """data set ids; an empty list means all"""
    methods: List[str] = ()
    """method ids, variants with their names; an empty list means all"""

    def __bool__(self) -> bool:
        return bool(self.datasets or self.methods)


Paths = Annotated[
    List[str],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value, str | list[str]),
]


class RunConfig(Entry):
    """The run configuration, config/config.yaml and presets."""

    papers: List[str]
    """papers to run, by id; `ldlrepro list papers` lists them"""
    only: Slice = Field(default_factory=Slice)
    """run a slice only; where both lists are given, both must match"""
    seed: int = Field(default=2026, ge=0)
    """global seed, part of every other seed: another value changes all folds"""
    mirrors: List[str] = ()
    """local folders searched for raw files before any download"""
    offline: bool = False
    """never download; use what is in data/ and in local folders"""
    tracking_uri: str = "sqlite:///mlflow.db"
    """MLflow store; MLFLOW_TRACKING_URI wins over it"""
    extra: bool = True
    """also run the `extra` units of the papers, controls and diagnostics"""
    own_files: Paths = ()
    """papers, methods, data sets, measures and weights of your own: files, or folders of them,
    anywhere. A paper is a folder with paper.yaml and cells.csv, and what lies beside them is found,
    too. An own method runs on all data of the papers, all methods of the papers run on an own data
    set. See docs/add-a-method.md and its neighbours
    """
