"""Papers: what they print, under which protocols, and what runs for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr

from ldlrepro.catalogue.claims import Claim, Claims, Miss, Misses, Selection
from ldlrepro.catalogue.entries import Entry, Home, List, Map, Value, Values
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
            "parts": ("train_part", "test_part"),
        }
    }

    scheme: Literal["kfold", "shuffle_split", "leave_one_group_out", "parts"] = Field(
        description="how test folds are made",
    )
    folds: int | None = Field(default=None, description="number of folds (kfold)", ge=2)
    repeats: int = Field(
        default=1,
        description="repetitions with new seeds (kfold); number of splits (shuffle_split)",
        ge=1,
    )
    shuffle: bool = Field(
        default=True,
        description=(
            "whether rows are shuffled before they are cut into folds (kfold); else they keep the "
            "file's order"
        ),
    )
    fold_size: Literal["even", "nearest", "down", "up"] = Field(
        default="even",
        description=(
            "where folds do not divide the rows (kfold) - one more row in each of the first "
            "folds, or the share of a fold as a whole number and what is left in the last fold"
        ),
    )
    train_share: float | None = Field(
        default=None,
        description="share of rows in training (shuffle_split)",
        gt=0,
        lt=1,
    )
    validation: Literal["none", "next_fold", "holdout"] = Field(
        default="none",
        description=(
            "rows of the training part on which grids are decided - the fold after the test fold, "
            "or a seeded share"
        ),
    )
    validation_share: float = Field(
        default=0.1,
        description="share of training rows for validation (holdout)",
        gt=0,
        lt=1,
    )
    persons_of: str = Field(
        default="",
        description="protocol id that this one repeats with persons kept apart",
    )
    noise_of: str = Field(
        default="",
        description=(
            "protocol id that this one repeats with other fold seeds, to show what the seed changes"
        ),
    )
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
    ] = Field(
        default="kl",
        description="measure that decides grids",
    )
    given: Map[str] = Field(
        default_factory=dict,
        description=(
            "data set id -> a table beside this file with the folds that its authors published, "
            "columns row and fold, maybe repeat; `scheme` draws the other data sets' folds"
        ),
    )
    train_part: str = Field(
        default="",
        description="the part of the photographs trained on (parts)",
    )
    test_part: str = Field(default="", description="the part tested on (parts)")
    average: Literal["folds", "rows"] = Field(
        default="folds",
        description=("mean over folds, or over all tested rows, so that large folds count more"),
    )
    text: str = Field(description="the protocol in words, with what the paper leaves open")
    by_print: str = Field(
        default="",
        description="what was looked at, where the printed numbers chose these folds",
    )

    _paper: str = PrivateAttr("")

    @property
    def paper(self) -> str:
        """Return the id of the paper whose protocol it is."""
        return self._paper

    def count_folds(self, data_set: DataSet | None = None) -> int | None:
        """Return the runs of a method; None where only the data tell how many persons there are."""
        if self.scheme == "kfold":
            return (self.folds or 0) * self.repeats
        if self.scheme == "shuffle_split":
            return self.repeats
        if self.scheme == "parts":
            return None
        counts = (self.folds, data_set.count_persons() if data_set else None)
        return min((count for count in counts if count is not None), default=None)

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

    SOME_OF = ("method", "skip")

    method: str = Field(default="", description="method id")
    by_dataset: Map[str] = Field(
        default_factory=dict,
        description=("printed data set id -> method id, where another setting than `method` runs"),
    )
    by_setting: Map[str] = Field(
        default_factory=dict,
        description="printed setting -> method id, likewise",
    )
    protocol: str = Field(default="", description="protocol id, where it is not the table's")
    skip: str = Field(default="", description="why nothing runs for this row")
    note: str = Field(default="", description="shown beside the row")

    def in_row(self, row: Mapping[str, str]) -> str:
        """Return the method id that runs in a printed row."""
        by_dataset = self.by_dataset.get(row["dataset"], self.method)
        return self.by_setting.get(row["setting"], by_dataset)


Printed = Annotated[
    PrintedMethod,
    BeforeValidator(
        lambda value: {"method": value} if isinstance(value, str) else value, str | PrintedMethod
    ),
]


class Extra(Entry):
    """Units run beside the printed ones."""

    methods: List[str] = Field(description="method ids")
    datasets: List[str] = Field(default=(), description="data set ids; default all of the paper")
    protocol: str = Field(default="", description="protocol id; default the paper's main protocol")
    why: str = Field(default="", description="what these units show")


class PrintedSetting(Entry):
    """What a printed setting changes."""

    protocol: str = Field(default="", description="protocol id")
    variant: str = Field(default="", description="variant of the row's method")
    dataset: str = Field(default="", description="data set id, where it is not the printed one's")
    skip: str = Field(default="", description="why nothing runs for this setting")


class Table(Entry):
    """A printed table."""

    title: str = Field(description="what the table shows, in our words")
    kind: Literal["scores", "ages", "deltas", "experiment"] = Field(
        default="scores",
        description=(
            "what is printed - scores of units, ages, differences of scores to another method, or "
            "what an experiment measures"
        ),
    )
    experiment: str = Field(default="", description="the experiment that measures the table")
    compared_to: str = Field(
        default="",
        description=(
            "printed method that differences refer to; for seconds the yardstick, a method of the "
            "table or a setting of the paper, whose time stands for the printed one, so that "
            "ratios are judged"
        ),
    )
    protocol: str = Field(default="", description="protocol id, where it is not the main one")
    settings: Map[PrintedSetting] = Field(
        default_factory=dict,
        description="printed setting -> what it changes",
    )


class Figure(Entry):
    """A printed figure."""

    ONE_OF = (("experiment",), ("dataset", "method", "metric", "x"), ("ranks",))

    title: str = Field(description="what the figure shows, in our words")
    experiment: str = Field(default="", description="the experiment that draws it")
    drawing: str = Field(
        default="",
        description="the experiment's name of the drawing; default the figure's number",
    )
    ranks: str = Field(
        default="",
        description=(
            "the table whose methods are ranked over its data sets (critical-difference "
            "diagrams), as printed and as measured"
        ),
    )
    methods: List[str] = Field(
        default=(),
        description="printed methods that are ranked; default all of the table",
        min_length=2,
    )
    dataset: str = Field(default="", description="data set id")
    method: str = Field(default="", description="method id whose parameters are varied")
    metric: str = Field(default="", description="measure on the vertical axis")
    protocol: str = Field(default="", description="protocol id, where it is not the main one")
    fixed: Values = Field(default_factory=dict, description="parameters that stay")
    x: Map[Annotated[List[Any], Field(min_length=2)]] = Field(
        default_factory=dict,
        description="the parameter of the horizontal axis with its values",
    )
    fixed_by_line: Map[Values] = Field(
        default_factory=dict,
        description="parameters that one line has besides, by its value",
    )
    lines: Map[Annotated[List[Any], Field(min_length=1)]] = Field(
        default_factory=dict,
        description="a parameter with a line for each value",
    )


class Experiment(Entry):
    """A measurement that is no unit."""

    title: str = Field(description="what is measured")
    text: str = Field(default="", description="how, and what it can and cannot show")
    code: str = Field(
        description=(
            "module with `measure` and maybe `draw`, beside this file or shared by papers "
            "(`protocols`)"
        ),
        pattern=r"^[a-zA-Z_]\w*$",
    )
    datasets: List[str] = Field(default=(), description="data set ids that it reads")
    protocol: str = Field(
        default="",
        description="protocol id whose folds it uses, where it uses any",
    )
    images: bool = Field(
        default=False,
        description="methods get the pixels of the data sets in place of their features",
    )
    parameters: Values = Field(default_factory=dict, description="arguments of `measure`")
    alone: bool = Field(default=False, description="takes all cores, because it measures time")
    runtime: int = Field(default=60, description="wall time in minutes", ge=1)
    mem_mb: int = Field(default=2000, description="memory in MB", ge=100)


class Copied(Entry):
    """Printed columns that are another paper's numbers."""

    tables: List[str] = Field(description="table numbers", min_length=1)
    methods: List[str] = Field(description="printed method names", min_length=1)
    source: str = Field(alias="from", description="the paper's id")
    their_name: str = Field(default="", description="the method's name there, where it is another")
    means_only: bool = Field(
        default=False,
        description=(
            "the means are the same to the digits of the shorter print, the standard deviations "
            "are not"
        ),
    )
    proof: str = Field(description="why this is no chance")


class ByPrint(Selection):
    """A choice that is no parameter of a method and was made because it fits the print."""

    what: str = Field(description="what was chosen")
    evidence: str = Field(description="what was looked at")


class Candidates(Entry):
    """Readings of what a paper leaves open, among which the digits of its other data sets choose.

    Each is a protocol, a method of the main protocol, or both: ``protocol/method``.
    """

    methods: List[str] = Field(description="printed method names", min_length=1)
    tables: List[str] = Field(default=(), description="table numbers; default all")
    as_stated: str = Field(
        description=(
            "what the text, released code or validation rows settle, and the project's default "
            "where all are silent; no printed number had a say in it"
        ),
    )
    others: List[str] = Field(description="the other readings", min_length=1)
    open: str = Field(description="what the paper leaves open", min_length=1)

    @property
    def readings(self) -> tuple[str, ...]:
        """Return all readings, the stated one first."""
        return (self.as_stated, *self.others)

    def covers(self, row: Mapping[str, str]) -> bool:
        """Tell whether they are readings of a printed number's method."""
        return row["method"] in self.methods and row["table"] in (self.tables or [row["table"]])


class Misprint(Entry):
    """A printed value that is impossible, with the proof."""

    table: str = Field(description="table number")
    dataset: str = Field(description="data set id")
    method: str = Field(description="printed method name")
    metric: str = Field(description="measure")
    setting: str = Field(default="", description="printed setting")
    proof: str = Field(description="why the value cannot be")
    std_reads: str = Field(
        default="",
        description=("only the printed standard deviation is wrong; this is what it should read"),
    )


class Paper(Value):
    """A paper, papers/<id>/paper.yaml."""

    title: str = Field(description="title of the paper")
    authors: str = Field(description="authors")
    venue: str = Field(description="journal or conference")
    year: int = Field(description="year")
    group: str = Field(
        default="own papers",
        description="papers that are counted together, in tables and totals",
    )
    synthetic: bool = Field(
        default=False,
        description="a made-up paper on drawn data, for the demo; never among the five",
    )
    protocols: Map[Protocol] = Field(
        description=(
            "how folds are made, by protocol id; the first one is the paper's main protocol"
        ),
    )
    datasets: List[str] = Field(description="data sets of the paper's tables")
    not_available: Map[str] = Field(
        default_factory=dict,
        description=("printed data sets that are none of the project's -> why nobody can run them"),
    )
    spread: Literal["deviation", "variance"] = Field(
        default="deviation",
        description="what is printed beside the means",
    )
    use_dataset: Map[str] = Field(
        default_factory=dict,
        description="printed data set id -> the data set id to run on, where they differ",
    )
    methods: Map[Printed] = Field(description="printed method name -> what runs for it")
    extra: List[Extra] = Field(
        default=(),
        description="units run beside the printed ones - controls and diagnostics",
    )
    tables: Map[Table] = Field(description="printed tables by their number")
    figures: Map[Figure] = Field(
        default_factory=dict,
        description="printed figures by their number",
    )
    experiments: Map[Experiment] = Field(
        default_factory=dict,
        description="measurements that are no units, by id",
    )
    own: List[str] = Field(
        default=(),
        description="printed names of the paper's own methods, which are counted apart",
    )
    references: Map[Annotated[str, Field(min_length=1)]] = Field(
        default_factory=dict,
        description=(
            "number in the paper's list of references -> authors, venue and year, for the sources "
            "of quoted cells such as `[18]`"
        ),
    )
    copied: List[Copied] = Field(
        default=(),
        description=(
            "printed columns that are another paper's numbers; cells that equal them to the "
            "digit, mean and standard deviation, are `quoted`, the others judged"
        ),
    )
    chosen_by_print: List[ByPrint] = Field(
        default=(),
        description=(
            "choices that are no parameters of a method (data set, scaling, order of rows) and "
            "were made because they fit the printed numbers, or after a look at test rows; they "
            "are marked wherever a number rests on them"
        ),
    )
    stated: Map[List[str]] = Field(
        default_factory=dict,
        description="method id -> parameters whose values this paper states",
    )
    candidates: List[Candidates] = Field(
        default=(),
        description=(
            "readings of what the paper leaves open; a data set is judged by the one that the "
            "digits of the other data sets choose"
        ),
    )
    misprints: List[Misprint] = Field(
        default=(),
        description="printed values that are impossible, each with the proof",
    )

    def placed(self, name: str, file: Path, project: Home) -> Paper:
        super().placed(name, file, project)
        for each, protocol in self.protocols.items():
            protocol.placed(each, file, project)
            protocol._paper = name
        return self

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
        return any(parameter in self.stated.get(name, ()) for name in (method.id, method.base))

    def experiment(self, name: str) -> Experiment:
        """Return an experiment by its id."""
        if name not in self.experiments:
            hint = f"They stand in {self.shown_file}."
            raise unknown("experiment", name, self.experiments, hint)
        return self.experiments[name]

    # ------------------------------------------------------------------ names

    def protocols_named(self) -> Iterator[tuple[str, str]]:
        """Yield every mention of a protocol: (key, protocol id)."""
        for name, method in self.methods.items():
            yield f"methods.{name}.protocol", method.protocol
        for number, block in enumerate(self.extra):
            yield f"extra.{number}.protocol", block.protocol
        for name, protocol in self.protocols.items():
            yield f"protocols.{name}.noise_of", protocol.noise_of
            yield f"protocols.{name}.persons_of", protocol.persons_of
        for key, table in self.tables.items():
            yield f"tables.{key}.protocol", table.protocol
            for name, setting in table.settings.items():
                yield f"tables.{key}.settings.{name}.protocol", setting.protocol

    def check_names(self) -> None:
        """Check the data sets, experiments, tables and printed names that other keys refer to."""
        for where, names, known in self._names():
            check_known(names, known, f"{self.shown_file}: {where}")
        for number, entry in enumerate(self.chosen_by_print):
            self._check_selection(entry, f"{self.shown_file}: chosen_by_print.{number}")

    def _check_selection(self, entry: Selection, where: str) -> None:
        check_known(entry.methods, self.methods, f"{where}.methods")
        check_known(entry.tables, self.tables, f"{where}.tables")
        check_known(entry.datasets, self.project.data_set_ids, f"{where}.datasets")

    def _names(self) -> Iterator[tuple[str, Iterable[str], Collection[str]]]:
        """Yield key, the names that stand there, and the names that may."""
        data_sets = self.project.data_set_ids
        for number, choice in enumerate(self.candidates):
            yield f"candidates.{number}.methods", choice.methods, self.methods
            yield f"candidates.{number}.tables", choice.tables, self.tables
        yield "datasets", self.datasets, data_sets
        yield "use_dataset", self.use_dataset.values(), data_sets
        for number, block in enumerate(self.extra):
            yield f"extra.{number}.datasets", block.datasets, data_sets
        yield "own", self.own, self.methods
        for number, copied in enumerate(self.copied):
            place = f"copied.{number}"
            yield f"{place}.methods", copied.methods, self.methods
            yield f"{place}.tables", copied.tables, self.tables
            yield f"{place}.from", [copied.source], self.project.all_paper_ids
        for name, experiment in self.experiments.items():
            yield f"experiments.{name}.datasets", experiment.datasets, data_sets
        settings = {name for table in self.tables.values() for name in table.settings}
        for key, table in self.tables.items():
            for name, setting in table.settings.items():
                place = f"tables.{key}.settings.{name}.dataset"
                yield place, _given(setting.dataset), data_sets
            yield f"tables.{key}.experiment", _given(table.experiment), self.experiments
            yardsticks = {*self.methods, *(() if table.kind == "deltas" else settings)}
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
