"""Papers: what they print, under which protocols, and what runs for it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr

from ldlrepro.catalogue.claims import Claim, Claims, Miss, Misses, Selection
from ldlrepro.catalogue.entries import Entry, Home, List, Map, Value, Values
from ldlrepro.catalogue.methods import settings_of
from ldlrepro.core.errors import UserError, nearest, unknown

if TYPE_CHECKING:
    from ldlrepro.catalogue.data_sets import DataSet
    from ldlrepro.catalogue.methods import Method


class Protocol(Value):
    """How test folds are made, what may be tuned on what, how the score is averaged."""

    ASKED_BY = {  # noqa: RUF012
        "scheme": {
            "kfold": ("folds",),
            "shuffle_split": ("repeats", "train_share"),
            "parts": ("parts",),
        }
    }

    scheme: Literal["kfold", "shuffle_split", "leave_one_group_out", "parts"]
    """how test folds are made"""
    folds: int | None = Field(default=None, ge=2)
    """number of folds (kfold), or of bundles of persons (leave_one_group_out)"""
    repeats: int = Field(default=1, ge=1)
    """repetitions with new seeds; number of splits (shuffle_split)"""
    shuffle: bool = True
    """whether rows are shuffled before they are cut into folds (kfold); else they keep the file's
    order
    """
    fold_size: Literal["even", "nearest", "down", "up"] = "even"
    """where folds do not divide the rows (kfold) - one more row in each of the first folds, or the
    share of a fold as a whole number and what is left in the last fold
    """
    train_share: float | None = Field(default=None, gt=0, lt=1)
    """share of rows in training (shuffle_split)"""
    validation: Literal["none", "next_fold", "holdout"] = "none"
    """rows of the training part on which grids are decided - the fold after the test fold, or a
    seeded share
    """
    validation_share: float = Field(default=0.1, gt=0, lt=1)
    """share of training rows for validation (holdout)"""
    repeats_of: str = ""
    """protocol id that this one repeats: with persons kept apart (leave_one_group_out), else with
    other seeds, to show what the seed changes
    """
    select_by: Literal[
        "chebyshev",
        "clark",
        "canberra",
        "kl",
        "cosine",
        "intersection",
        "euclidean",
        "sorensen",
        "squared_chi2",
        "fidelity",
        "zero_one_loss",
        "error_probability",
    ] = "kl"
    """measure that decides grids"""
    given: Map[str] = Field(default_factory=dict)
    """data set id -> a table beside this file with the folds that its authors published, columns
    row and fold, maybe repeat; `scheme` draws the other data sets' folds
    """
    parts: List[str] = Field(default=(), min_length=2, max_length=2)
    """the part of the photographs trained on, and the part tested on (parts)"""
    average: Literal["folds", "rows"] = "folds"
    """mean over folds, or over all tested rows, so that large folds count more"""
    text: str
    """the protocol in words, with what the paper leaves open"""
    by_print: str = ""
    """what was looked at, where the printed numbers chose these folds"""

    _paper: str = PrivateAttr("")

    @property
    def paper(self) -> str:
        """Return the id of the paper whose protocol it is."""
        return self._paper

    @property
    def persons_of(self) -> str:
        """Return the protocol that this one repeats with persons kept apart; '' for none."""
        return self.repeats_of if self.scheme == "leave_one_group_out" else ""

    @property
    def noise_of(self) -> str:
        """Return the protocol that this one repeats with other seeds; '' for none."""
        return "" if self.scheme == "leave_one_group_out" else self.repeats_of

    def count_folds(self, data_set: DataSet | None = None) -> int | None:
        """Return the runs of a method; None where only the data tell how many persons there are."""
        if self.scheme == "kfold":
            return (self.folds or 0) * self.repeats
        if self.scheme == "shuffle_split":
            return self.repeats
        if self.scheme == "parts":
            return None
        counts = (self.folds, data_set.count_persons() if data_set else None)
        persons = min((count for count in counts if count is not None), default=None)
        return None if persons is None else persons * self.repeats

    def draws_folds(self, data_set: str) -> bool:
        """Tell whether another seed makes other folds of a data set."""
        if self.scheme == "kfold":
            return self.shuffle and data_set not in self.given
        return self.scheme == "shuffle_split"

    def published_folds(self, data_set: str) -> Path | None:
        """Return the table of folds that somebody else has drawn, beside the paper's file."""
        given = self.given.get(data_set)
        return self.file.with_name(given) if given else None


class PrintedMethod(Entry):
    """What runs for a printed method."""

    SOME_OF = ("method", "note")

    method: str = ""
    """method id"""
    by_setting: Map[str] = Field(default_factory=dict)
    """printed setting -> method id, where another than `method` runs"""
    note: str = ""
    """shown beside the row; without `method`, why nothing runs for it"""

    @property
    def skip(self) -> str:
        """Return why nothing runs for the row; '' where something does."""
        return "" if self.method else self.note

    def in_row(self, row: Mapping[str, str]) -> str:
        """Return the method id that runs in a printed row."""
        return self.by_setting.get(row["setting"], self.method)


Printed = Annotated[
    PrintedMethod,
    BeforeValidator(
        lambda value: {"method": value} if isinstance(value, str) else value, str | PrintedMethod
    ),
]


class Extra(Entry):
    """Units run beside the printed ones."""

    methods: List[str]
    """method ids"""
    datasets: List[str] = ()
    """data set ids; default all of the paper"""
    protocol: str = ""
    """protocol id; default the paper's main protocol"""
    why: str = ""
    """what these units show"""


class PrintedSetting(Entry):
    """What a printed setting changes."""

    protocol: str = ""
    """protocol id"""
    variant: str = ""
    """variant of the row's method"""
    dataset: str = ""
    """data set id, where it is not the printed one's"""


class Table(Entry):
    """A printed table."""

    title: str
    """what the table shows, in our words"""
    experiment: str = ""
    """the experiment that measures the table, where no units do"""
    compared_to: str = ""
    """printed method that differences (`delta_kl` and the like) refer to; for seconds the
    yardstick, a method of the table or a setting of the paper, whose time stands for the printed
    one, so that ratios are judged
    """
    protocol: str = ""
    """protocol id, where it is not the main one"""
    settings: Map[PrintedSetting] = Field(default_factory=dict)
    """printed setting -> what it changes"""


class Figure(Entry):
    """A printed figure."""

    ONE_OF = (("experiment",), ("dataset", "method", "metric", "x"), ("ranks",))

    title: str
    """what the figure shows, in our words"""
    caption: str = ""
    """what came out in an experiment's drawing, and how to read it"""
    experiment: str = ""
    """the experiment that draws it, under the first word of the number"""
    ranks: str = ""
    """the table whose methods are ranked over its data sets, as printed and as measured"""
    methods: List[str] = Field(default=(), min_length=2)
    """printed methods that are ranked; default all of the table"""
    dataset: str = ""
    """data set id"""
    method_id: str = Field(alias="method", default="")
    """method id whose parameters are varied; settings after an @ stay"""
    metric: str = ""
    """measure on the vertical axis"""
    protocol: str = ""
    """protocol id, where it is not the main one"""
    x: Map[Annotated[List[Any], Field(min_length=2)]] = Field(default_factory=dict)
    """the parameter of the horizontal axis with its values"""
    lines: Map[Annotated[List[Any], Field(min_length=1)] | Mapping[Any, Values]] = Field(
        default_factory=dict
    )
    """a parameter with a line for each value; or for each value the parameters that its line has
    besides
    """

    @property
    def method(self) -> str:
        """Return the method without what stays."""
        return self.method_id.partition("@")[0]

    @property
    def fixed(self) -> Values:
        """Return the parameters that stay."""
        _, at, settings = self.method_id.partition("@")
        return settings_of(settings) if at else {}

    @property
    def fixed_by_line(self) -> Mapping[Any, Values]:
        """Return the parameters that one line has besides, by its value."""
        lines = next(iter(self.lines.values()), ())
        return lines if isinstance(lines, Mapping) else {}


class Experiment(Entry):
    """A measurement that is no unit."""

    title: str
    """what is measured"""
    text: str = ""
    """how, and what it can and cannot show"""
    code: str = Field(pattern=r"^[a-zA-Z_]\w*$")
    """module with `measure` and maybe `draw`, beside this file or shared by papers (`protocols`)"""
    datasets: List[str] = ()
    """data set ids that it reads"""
    protocol: str = ""
    """protocol id whose folds it uses, where it uses any"""
    images: bool = False
    """methods get the pixels of the data sets in place of their features"""
    parameters: Values = Field(default_factory=dict)
    """arguments of `measure`"""
    alone: bool = False
    """takes all cores, because it measures time"""
    runtime: int = Field(default=60, ge=1)
    """wall time in minutes"""
    mem_mb: int = Field(default=2000, ge=100)
    """memory in MB"""


class Remark(Selection):
    """What has to be known of printed numbers before they are judged."""

    ASKED_BY = {  # noqa: RUF012
        "kind": {
            **dict.fromkeys(("copied", "copied_means"), ("tables", "methods", "from")),
            "chosen_by_print": ("what",),
            "misprint": ("tables", "datasets", "methods", "metrics"),
        }
    }

    kind: Literal["copied", "copied_means", "chosen_by_print", "misprint", "variances"]
    """`copied`: columns that are another paper's numbers; cells that equal them to the digit, mean
    and standard deviation, are `quoted`, the others judged. `copied_means`: the same of means
    alone, to the digits of the shorter print. `chosen_by_print`: a choice that is no parameter of a
    method (data set, scaling, order of rows) and was made because it fits the printed numbers, or
    after a look at test rows; it is marked wherever a number rests on it. `misprint`: values that
    are impossible. `variances`: the standard deviations of the whole paper are variances
    """
    proof: str
    """why it is not chance, what was looked at, why the values cannot be"""
    origin: str = Field(alias="from", default="")
    """the other paper's id; `paper/method`, where the method has another name there (copied)"""
    what: str = ""
    """what was chosen (chosen_by_print)"""
    std_reads: str = ""
    """only the printed standard deviation is wrong; this is what it should read (misprint)"""

    @property
    def source(self) -> str:
        """Return the other paper's id."""
        return self.origin.partition("/")[0]

    @property
    def their_name(self) -> str:
        """Return the method's name there; '' where it is the same."""
        return self.origin.partition("/")[2]


@dataclass(frozen=True)
class Misprint:
    """A printed value that is impossible."""

    table: str
    dataset: str
    setting: str
    method: str
    metric: str
    proof: str
    std_reads: str
    """What the standard deviation should read, where only that is wrong."""


class Candidates(Entry):
    """Readings of what a paper leaves open, among which the digits of its other data sets choose.

    Each is a protocol, a method of the main protocol, or both: ``protocol/method``.
    """

    methods: List[str] = Field(min_length=1)
    """printed method names"""
    readings: List[str] = Field(min_length=2)
    """the readings; the first is what the text, released code or validation rows settle, and the
    project's default where all are silent: no printed number had a say in it
    """
    open: str = Field(min_length=1)
    """what the paper leaves open"""


class Paper(Value):
    """A paper, papers/<id>/paper.yaml."""

    title: str
    """title of the paper"""
    authors: str
    """authors"""
    venue: str
    """journal or conference"""
    year: int
    """year"""
    synthetic: bool = False
    """whether all its data are drawn, as the demo's; totals leave such a paper out
    """
    protocols: Map[Protocol]
    """how folds are made, by protocol id; the first one is the paper's main protocol"""
    datasets: List[str]
    """data sets of the paper's tables"""
    not_available: Map[str] = Field(default_factory=dict)
    """printed data sets that are none of the project's -> why nobody can run them"""
    use_dataset: Map[str] = Field(default_factory=dict)
    """printed data set id -> the data set id to run on, where they differ"""
    methods: Map[Printed]
    """printed method name -> what runs for it"""
    extra: List[Extra] = ()
    """units run beside the printed ones - controls and diagnostics"""
    tables: Map[Table]
    """printed tables by their number"""
    figures: Map[Figure] = Field(default_factory=dict)
    """printed figures by their number"""
    experiments: Map[Experiment] = Field(default_factory=dict)
    """extra measurements, by id"""
    own: List[str] = ()
    """printed names of the paper's own methods, which are counted apart"""
    references: Map[Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)
    """number in the paper's list of references -> authors, venue and year, for the sources of
    quoted cells such as `[18]`
    """
    remarks: List[Remark] = ()
    """what has to be known of printed numbers before they are judged"""
    stated: Map[List[str]] = Field(default_factory=dict)
    """method id -> parameters whose values this paper states"""
    candidates: List[Candidates] = ()
    """readings of what the paper leaves open; a data set is judged by the one that the digits of
    the other data sets choose
    """

    def placed(self, name: str, file: Path, project: Home) -> Paper:
        super().placed(name, file, project)
        for each, protocol in self.protocols.items():
            protocol.placed(each, file, project)
            protocol._paper = name
        return self

    @property
    def spread(self) -> str:
        """Return what is printed beside the means, a deviation or a variance."""
        return "variance" if self._remarks("variances") else "deviation"

    @property
    def copied(self) -> tuple[Remark, ...]:
        return self._remarks("copied", "copied_means")

    @property
    def chosen_by_print(self) -> tuple[Remark, ...]:
        return self._remarks("chosen_by_print")

    @property
    def misprints(self) -> tuple[Misprint, ...]:
        """Return every printed value that is impossible."""
        return tuple(
            Misprint(*place, entry.proof, entry.std_reads)
            for entry in self._remarks("misprint")
            for place in itertools.product(
                entry.tables, entry.datasets, entry.settings or ("",), entry.methods, entry.metrics
            )
        )

    def _remarks(self, *kinds: str) -> tuple[Remark, ...]:
        return tuple(entry for entry in self.remarks if entry.kind in kinds)

    @property
    def main_protocol(self) -> Protocol:
        return next(iter(self.protocols.values()))

    def beside(self, name: str) -> Path:
        """Return a file in its folder; it need not exist."""
        return self.file.with_name(name)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Return the sentences of claims.yaml; not every paper has that file."""
        path = self.beside("claims.yaml")
        return self.project.read(Claims, path).claims if path.is_file() else ()

    @cached_property
    def misses(self) -> tuple[Miss, ...]:
        """Return the reasons of misses.yaml; not every paper has that file."""
        path = self.beside("misses.yaml")
        if not path.is_file():
            return ()
        found = self.project.read(Misses, path).misses
        for number, entry in enumerate(found):
            self._check_selection(entry, f"{self.project.shown(path)}: misses.{number}")
        return found

    def states(self, method: Method, parameter: str) -> bool:
        """Tell whether the paper states the value that a parameter of a method has."""
        stated = (self.stated.get(name, ()) for name in (method.id, method.base))
        return any(parameter in names for names in (*stated, method.origins.named.get(self.id, ())))

    def experiment(self, name: str) -> Experiment:
        """Return an experiment by its id."""
        if name not in self.experiments:
            raise unknown("experiment", name, self.experiments)
        return self.experiments[name]

    # ------------------------------------------------------------------ names

    def protocols_named(self) -> Iterator[tuple[str, str]]:
        """Yield every mention of a protocol: (key, protocol id)."""
        for number, block in enumerate(self.extra):
            yield f"extra.{number}.protocol", block.protocol
        for name, protocol in self.protocols.items():
            yield f"protocols.{name}.repeats_of", protocol.repeats_of
        for key, table in self.tables.items():
            yield f"tables.{key}.protocol", table.protocol
            for name, setting in table.settings.items():
                yield f"tables.{key}.settings.{name}.protocol", setting.protocol

    def check_names(self) -> None:
        """Check the data sets, experiments, tables and printed names that other keys refer to."""
        for where, names, known in self._names():
            check_known(names, known, f"{self.shown_file}: {where}")
        for number, entry in enumerate(self.remarks):
            self._check_selection(entry, f"{self.shown_file}: remarks.{number}")

    def _check_selection(self, entry: Selection, where: str) -> None:
        check_known(entry.methods, self.methods, f"{where}.methods")
        check_known(entry.tables, self.tables, f"{where}.tables")
        known = [*self.project.data_set_ids, *self.not_available]
        check_known(entry.datasets, known, f"{where}.datasets")

    def _names(self) -> Iterator[tuple[str, Iterable[str], Collection[str]]]:
        """Yield key, the names that stand there, and the names that may."""
        data_sets = self.project.data_set_ids
        for number, choice in enumerate(self.candidates):
            yield f"candidates.{number}.methods", choice.methods, self.methods
        yield "datasets", self.datasets, data_sets
        yield "use_dataset", self.use_dataset.values(), data_sets
        for number, block in enumerate(self.extra):
            yield f"extra.{number}.datasets", block.datasets, data_sets
        yield "own", self.own, self.methods
        for number, remark in enumerate(self.remarks):
            yield f"remarks.{number}.from", _given(remark.source), self.project.all_paper_ids
        for name, experiment in self.experiments.items():
            yield f"experiments.{name}.datasets", experiment.datasets, data_sets
        yardsticks = {*self.methods, *(s for table in self.tables.values() for s in table.settings)}
        for key, table in self.tables.items():
            for name, setting in table.settings.items():
                place = f"tables.{key}.settings.{name}.dataset"
                yield place, _given(setting.dataset), data_sets
            yield f"tables.{key}.experiment", _given(table.experiment), self.experiments
            yield f"tables.{key}.compared_to", _given(table.compared_to), yardsticks
        for key, figure in self.figures.items():
            place = f"figures.{key}"
            yield f"{place}.experiment", _given(figure.experiment), self.experiments
            yield f"{place}.dataset", _given(figure.dataset), data_sets
            yield f"{place}.methods", figure.methods, self.methods
            yield f"{place}.ranks", _given(figure.ranks), self.tables


def _given(name: str) -> list[str]:
    return [name] if name else []


def check_known(names: Iterable[str], known: Collection[str], where: str) -> None:
    """Refuse a name that does not exist, with the nearest one that does."""
    for name in names:
        if name not in known:
            raise UserError(f"{where}: '{name}' does not exist.{nearest(name, known)}")
