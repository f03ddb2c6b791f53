"""An opened checkout: the contents of its YAML files as typed values that cannot be changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from ldlrepro.catalogue.data_sets import DataSet, Weights, described
from ldlrepro.catalogue.entries import Entry, Value
from ldlrepro.catalogue.measures import Measure
from ldlrepro.catalogue.methods import Method
from ldlrepro.catalogue.modules import Modules
from ldlrepro.catalogue.own_files import (
    PAPER,
    OwnFile,
    OwnFiles,
    beside_papers,
    completed,
    leave_out,
    own_files,
)
from ldlrepro.catalogue.papers import Paper, Protocol, check_known
from ldlrepro.catalogue.runs import RunConfig
from ldlrepro.catalogue.yaml_files import checked, find_root, read_yaml
from ldlrepro.core.errors import UserError, nearest, plain, unknown

E = TypeVar("E", bound=Entry)
OWN_FILES = "LDLREPRO_OWN_FILES"
"""Environment variable: own files and folders of them, for the jobs of a run."""
ROOT = "LDLREPRO_ROOT"
"""Environment variable: the checkout, where it is not the current folder or one above."""
FOLDERS = {
    "paper": "papers",
    "method": "config/methods",
    "dataset": "config/datasets",
    "weight": "config/weights",
}
"""Kind of file -> the folder of those of the checkout; measures of the checkout are code."""
MODELS: Mapping[str, type[Value]] = {
    "paper": Paper,
    "method": Method,
    "dataset": DataSet,
    "measure": Measure,
    "weight": Weights,
}


@dataclass(frozen=True, eq=False)
class Project:
    """A checkout with a user's own files. Each file is read when it is first asked for."""

    root: Path
    own_paths: tuple[str, ...] = ()
    _values: dict[tuple[str, str], Value] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, root: str | Path | None = None, own_files: Iterable[str | Path] = ()) -> Project:
        """Open the checkout here or at ``root``, with own files besides those it names itself."""
        return cls(find_root(root), tuple(map(str, own_files)))

    def __reduce__(self) -> Any:
        return _open_again, (str(self.root), self.own_paths)

    # ------------------------------------------------------------------ values

    def paper(self, name: str) -> Paper:
        """Return a paper by its id."""
        if name not in self.paper_ids:
            owners = [p.id for p in self.papers if name in p.protocols]
            hint = (
                f"It is a protocol of {owners[0]}."
                if owners
                else "`ldlrepro list papers` lists them."
            )
            raise unknown("paper", name, self.paper_ids, hint)
        return cast(Paper, self._value("paper", name))

    def without_missing_data(self, name: str) -> list[str]:
        """Treat data sets that a paper names and nobody described as not available; return them.

        So one can look at the rest of the paper.
        """
        path = self.file_of("paper", name)
        tree = read_yaml(path)
        named = tree.get("datasets")
        if not isinstance(named, list):  # its model says what is wrong
            return []
        missing = [each for each in named if each not in self.data_set_ids]
        if missing:
            told = dict.fromkeys(missing, "there is no data set of this name")
            tree["datasets"] = [d for d in named if d not in missing]
            tree["not_available"] = {**(tree.get("not_available") or {}), **told}
            self._values["paper", name] = self._placed("paper", name, path, tree)
        return missing

    def method(self, name: str) -> Method:
        """Return a method with its variant merged in: parameters one by one, the rest as a whole.

        A variant is one that the method's file names, or settings:
        ``structrf@n_estimators=20,max_depth=5``.
        """
        if ("resolved", name) not in self._values:
            base, at, variant = name.partition("@")
            if not self.has_method(name):
                raise self._unknown_method(name)
            method = cast(Method, self._value("method", base))
            merged = method.with_variant(variant) if at else method
            self._values["resolved", name] = merged.settled().placed(name, method.file, self)
        return cast(Method, self._values["resolved", name])

    def _unknown_method(self, name: str) -> UserError:
        """Suggest another method for an unknown one, and another variant for an unknown variant."""
        base, at, _ = name.partition("@")
        hint = "`ldlrepro list methods` lists them."
        if not (at and base in self.ids["method"]):
            choices = self.method_ids if at else self.ids["method"]
            return unknown("method", name, choices, hint)
        variants = self.method(base).variant_ids
        if not variants:
            hint = f"{base} has no variants; settings work, as in {base}@name=value."
        return unknown("method", name, variants, hint)

    def has_method(self, name: str) -> bool:
        """Tell whether there is a method, with this variant, by that id."""
        base, at, variant = name.partition("@")
        if base not in self.ids["method"]:
            return False
        return not at or cast(Method, self._value("method", base)).has(variant)

    def data_set(self, name: str) -> DataSet:
        """Return a data set by its id."""
        if name not in self.data_set_ids:
            hint = "`ldlrepro list datasets` lists them."
            raise UserError(f"unknown data set '{name}'.{self.data_sets_like(name)} {hint}")
        return cast(DataSet, self._value("dataset", name))

    def data_sets_like(self, name: str) -> str:
        """Say which data sets may be meant: first public or own ones whose ids hold the word."""
        word = plain(name)
        alike = [one for one in self.data_sets if len(word) > 2 and word in plain(one.id)]
        at_hand = [one for one in alike if one.is_own or any(file.urls for file in one.files)]
        found = [one.id for one in at_hand or alike]
        if len(found) > 1:
            return f" These have it in their names: {', '.join(found)}."
        return f" Did you mean '{found[0]}'?" if found else nearest(name, self.data_set_ids)

    def weights(self, name: str) -> Weights:
        """Return the weights of a network by their id."""
        if name not in self.weights_ids:
            raise unknown("weights", name, self.weights_ids, "`ldlrepro list weights` lists them.")
        return cast(Weights, self._value("weight", name))

    def source(self, name: str) -> DataSet | Weights:
        """Return whatever can be fetched by that id, a data set or weights."""
        return self.weights(name) if name in self.weights_ids else self.data_set(name)

    def id_called(self, kind: str, name: str) -> str:
        """Return the id of a paper, method or data set by its id or its name in print.

        A name that nothing or several things have is returned as it is.
        """
        values = {"paper": "papers", "method": "methods", "dataset": "data_sets"}[kind]
        if name in self.ids[kind] or "@" in name or "=" in name:
            return name
        everything: list[Paper | Method | DataSet] = getattr(self, values)
        named = {
            value.id for value in everything if plain(name) in (plain(value.id), plain(value.title))
        }
        return named.pop() if len(named) == 1 else name

    def measure(self, name: str) -> Measure:
        """Return a measure of the user's own by its id."""
        if name not in self.measure_ids:
            hint = "They are in own_files."
            raise unknown("own measure", name, self.measure_ids, hint)
        return cast(Measure, self._value("measure", name))

    def protocol(self, name: str) -> Protocol:
        """Return a protocol by its id, whichever paper's it is."""
        if name not in self.protocols:
            raise unknown(
                "protocol", name, self.protocols, "`ldlrepro list papers --wide` has them."
            )
        return self.protocols[name]

    @cached_property
    def run(self) -> RunConfig:
        """Return config/config.yaml."""
        return self.read(RunConfig, self.root / "config" / "config.yaml")

    @property
    def tracking_uri(self) -> str:
        """Return where runs are tracked; MLFLOW_TRACKING_URI wins over the configuration."""
        return os.environ.get("MLFLOW_TRACKING_URI") or self.run.tracking_uri

    # ------------------------------------------------------------------ all of a kind

    @property
    def papers(self) -> list[Paper]:
        return [self.paper(name) for name in self.paper_ids]

    @property
    def methods(self) -> list[Method]:
        """Return all methods, each followed by its variants."""
        return [self.method(name) for name in self.method_ids]

    @property
    def data_sets(self) -> list[DataSet]:
        return [self.data_set(name) for name in self.data_set_ids]

    @cached_property
    def families(self) -> dict[str, str]:
        """Return the families of data sets that belong to one, by id and by printed name."""
        found = {data.id: data.family for data in self.data_sets if data.family}
        printed = {n: i for paper in self.papers for n, i in paper.use_dataset.items()}
        return found | {name: found[data] for name, data in printed.items() if data in found}

    @property
    def measures(self) -> list[Measure]:
        """Return the measures of the user's own."""
        return [self.measure(name) for name in self.measure_ids]

    @property
    def all_weights(self) -> list[Weights]:
        return [self.weights(name) for name in self.weights_ids]

    @cached_property
    def protocols(self) -> dict[str, Protocol]:
        """Return all protocols by their ids, which no two papers share."""
        found: dict[str, Protocol] = {}
        for paper in self.papers:
            for name, protocol in paper.protocols.items():
                if name in found:
                    raise UserError(
                        f"{paper.shown_file}: protocols.{name} is also defined in "
                        f"{found[name].shown_file}; choose another name"
                    )
                found[name] = protocol
        for paper in self.papers:
            for where, name in paper.protocols_named():
                if name and name not in found:
                    raise UserError(
                        f"{paper.shown_file}: {where}: no paper has a protocol '{name}'."
                        f"{nearest(name, found)}"
                    )
        return found

    def real_papers(self) -> list[Paper]:
        """Return the papers that print numbers on real data, the oldest first."""
        printed = [paper for paper in self.papers if paper.beside("cells.csv").is_file()]
        return sorted((p for p in printed if not p.synthetic), key=lambda paper: paper.year)

    @property
    def paper_ids(self) -> list[str]:
        return self.ids["paper"]

    @property
    def method_ids(self) -> list[str]:
        """Return all methods, each followed by its variants."""
        return [
            name for base in self.ids["method"] for name in (base, *self.method(base).variant_ids)
        ]

    @property
    def data_set_ids(self) -> list[str]:
        return self.ids["dataset"]

    @property
    def weights_ids(self) -> list[str]:
        return self.ids["weight"]

    @property
    def measure_ids(self) -> list[str]:
        """Return the measures of the user's own."""
        return self.ids["measure"]

    @property
    def all_paper_ids(self) -> set[str]:
        """Return the ids of all papers, whether their files can be used or not."""
        return {*self._checkouts("paper"), *self.own.found["paper"]}

    def own_ids(self, kind: str) -> list[str]:
        """Return the user's own papers, methods (with variants), data sets, measures or weights."""
        usable = [name for name in self.ids[kind] if name in self.own.found[kind]]
        if kind != "method":
            return usable
        return [name for base in usable for name in (base, *self.method(base).variant_ids)]

    # ------------------------------------------------------------------ own files

    @cached_property
    def own(self) -> OwnFiles:
        """Return the own files of config.yaml and those that the project was opened with."""
        listed = read_yaml(self.root / "config" / "config.yaml").get("own_files", [])
        configured = [listed] if isinstance(listed, str) else listed
        return own_files([*self.own_paths, *configured])

    @cached_property
    def modules(self) -> Modules:
        """Return what loads the Python modules beside own files."""
        beside = [file for found in self._beside_papers.values() for file in found.values()]
        ours = {file.path.parent for file in beside}
        return Modules([*self.own.folders, *sorted(ours)], self.root / FOLDERS["paper"])

    def is_own(self, file: Path) -> bool:
        """Tell whether a file is the user's own, and not the checkout's."""
        return any(
            each.path == file for of_kind in self.own.found.values() for each in of_kind.values()
        )

    # ------------------------------------------------------------------ checks

    def check(self, run: RunConfig, source: str) -> None:
        """Check every file, and the names in a run configuration."""
        check_known(run.papers, self.paper_ids, f"{source}: papers")
        check_known(run.only.datasets, self.data_set_ids, f"{source}: only.datasets")
        named = [method for method in run.only.methods if "=" not in method]
        check_known(named, self.method_ids, f"{source}: only.methods")
        for paper in self.papers:
            _ = paper.claims, paper.misses
        for data_set in self.data_sets:
            if data_set.features and data_set.features.weights:
                place = f"{data_set.shown_file}: features.weights"
                check_known([data_set.features.weights], self.weights_ids, place)
        for weights in self.all_weights:
            if weights.id in self.data_set_ids:
                raise UserError(f"{weights.file}: a data set has this id. Rename yours.")
        for kind, files in self.own.found.items():
            for name in files:
                self._value(kind, name)
        _ = self.protocols

    # ------------------------------------------------------------------ files

    def read(self, model: type[E], path: Path) -> E:
        """Read and check a file."""
        return checked(model, read_yaml(path), self.shown(path))

    def shown(self, path: str | Path) -> str:
        """Return a path within the checkout relative to it; return anything else as it is."""
        try:
            return str(Path(path).relative_to(self.root))
        except ValueError:
            return str(path)

    def file_of(self, kind: str, name: str) -> Path:
        """Return the YAML file of a data set, method (not variant), measure, paper or weight."""
        own = self.own.found[kind].get(name)
        return own.path if own else self._checkouts_file(kind, name)

    @cached_property
    def ids(self) -> Mapping[str, list[str]]:
        """The ids of each kind, of the checkout and of the user's own; methods without variants."""
        return _Lazily(self._ids_of)

    def _ids_of(self, kind: str) -> list[str]:
        ours, own = self._checkouts(kind), self.own.found[kind]
        for name in sorted(ours & own.keys()):
            what = "folder" if kind == "paper" else "file"
            raise UserError(
                f"{own[name].path}: '{name}' is the id of "
                f"{self.shown(self._checkouts_file(kind, name))}. Rename your {what}."
            )
        return sorted([*ours, *(name for name, file in own.items() if self._is_usable(file))])

    def _is_usable(self, file: OwnFile) -> bool:
        """Tell whether an own file can be read; one that merely lies in a folder need not."""
        if not file.named:
            try:
                self._value(file.kind, file.id)
            except UserError as error:
                leave_out(file.path, str(error))
                return False
        return True

    def _checkouts(self, kind: str) -> set[str]:
        if kind not in FOLDERS:
            return set()
        folder = self.root / FOLDERS[kind]
        if kind == "paper":
            return {path.parent.name for path in folder.glob(f"*/{PAPER}")}
        return {path.stem for path in folder.glob("*.yaml")} | self._beside_papers[kind].keys()

    @cached_property
    def _beside_papers(self) -> Mapping[str, Mapping[str, OwnFile]]:
        """What lies beside the checkout's papers, found as beside those of a user."""
        papers = sorted((self.root / FOLDERS["paper"]).glob(f"*/{PAPER}"))
        return beside_papers(path.parent for path in papers).found

    def _checkouts_file(self, kind: str, name: str) -> Path:
        if kind != "paper" and (beside := self._beside_papers[kind].get(name)):
            return beside.path
        folder = self.root / FOLDERS.get(kind, "config/measures")
        return folder / name / PAPER if kind == "paper" else folder / f"{name}.yaml"

    def _value(self, kind: str, name: str) -> Value:
        if (kind, name) not in self._values:
            self._values[kind, name] = self._read_value(kind, name)
        return self._values[kind, name]

    def _read_value(self, kind: str, name: str) -> Value:
        path = self.file_of(kind, name)
        tree = read_yaml(path)
        if name in self.own.found[kind]:
            for module in (tree.get("class"), tree.get("function")):
                if isinstance(module, str):
                    self.modules.check(module, path)
            tree = completed(kind, tree, path)
        if kind == "dataset" and tree.get("reader") == "public":
            tree = described(name, tree, self.shown(path))
        return self._placed(kind, name, path, tree)

    def _placed(self, kind: str, name: str, path: Path, tree: dict[str, Any]) -> Value:
        value = checked(MODELS[kind], tree, self.shown(path)).placed(name, path, self)
        if isinstance(value, Paper):
            value.check_names()
        return cast(Value, value)


class _Lazily(dict[str, Any]):
    """A dictionary that makes each of its values when it is first asked for."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: str) -> Any:
        self[key] = self.make(key)
        return self[key]


def _open_again(root: str, own_paths: tuple[str, ...]) -> Project:
    """Open a project that was sent to another process, which reads the files anew."""
    return Project(Path(root), own_paths)


def checkout_here() -> Path:
    """Return the checkout that the environment names, for what runs without a project."""
    return find_root(os.environ.get(ROOT))


def from_environment(own_files: Iterable[str | Path] = ()) -> Project:
    """Open the project that the environment names: for the command line and the Snakefile alone."""
    named = os.environ.get(OWN_FILES, "").split(os.pathsep)
    return Project.open(os.environ.get(ROOT), [*own_files, *filter(None, named)])
