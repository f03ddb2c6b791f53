"""Methods: a class with its settings, fixed or chosen on validation rows, and its variants."""

from __future__ import annotations

import copy
import inspect
import json
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, field_validator

from ldlrepro.catalogue.entries import Entry, List, Map, Value, Values, broken
from ldlrepro.catalogue.inner_parameters import gathered
from ldlrepro.core.errors import UserError, nearest, unknown
from ldlrepro.core.workspace import Workspace

if TYPE_CHECKING:
    from ldl.base import LDLEstimator
    from ldlrepro.catalogue.data_sets import Weights

_SETTING = r"[A-Za-z][A-Za-z0-9_]*=[A-Za-z0-9_.+-]+"
_SETTINGS = re.compile(rf"{_SETTING}(,{_SETTING})*")
Scaling = Literal["none", "minmax01", "standard", "l2row"]
Grid = Map[Annotated[List[Any], Field(min_length=2)]]


class Request(Entry):
    """What one job may use."""

    threads: int = Field(default=1, ge=1)
    """CPU cores"""
    mem_mb: int = Field(default=1500, ge=100)
    """memory in MB"""
    runtime: int = Field(default=60, ge=1)
    """wall time in minutes"""
    folds_per_job: int = Field(default=10, ge=1)
    """folds that one job computes"""
    gpu: int = Field(default=0, ge=0)
    """GPUs, without which it is not run"""


class Resources(Request):
    """What one job may use, on any data set or on single ones."""

    datasets: Map[Resources] = Field(default_factory=dict)
    """data set id -> keys as here, but this one, that replace these there"""

    @field_validator("datasets")
    @classmethod
    def _on_single_ones(cls, datasets: Map[Resources]) -> Map[Resources]:
        for name, asked in datasets.items():
            if asked.datasets:
                raise broken(f"{name} is a single data set and has no 'datasets' of its own")
        return datasets

    def on(self, data_set: str) -> Request:
        """Return what a job on a data set may use."""
        asked = {**_written(self), **_written(self.datasets.get(data_set, Request()))}
        return Request(**{name: asked[name] for name in asked if name in Request.model_fields})


class Look(Entry):
    """A look at printed numbers or test rows that a value was chosen after."""

    what: str = Field(min_length=1)
    """what was looked at"""
    at: List[str] = ()
    """data sets, or families of them, that suggested the value; none named, all"""


Looked = Annotated[
    Look,
    BeforeValidator(lambda value: {"what": value} if isinstance(value, str) else value, str | Look),
]


class Origins(Entry):
    """Where values come from: a source, and the parameters that it settles."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Annotated[List[str], Field(min_length=1)]]

    print: Map[Looked] = Field(default_factory=dict)
    """parameter, or `scaling` -> what was looked at, for those chosen because they fit the printed
    numbers or after a look at test rows: a text, or with the data sets that suggested the value
    """

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """Return source -> names; a source is a paper's id, code, validation or ours."""
        return dict(self.__pydantic_extra__)

    def sources_of(self, name: str) -> set[str]:
        """Return all sources of a parameter, ``print`` among them."""
        found = {source for source, names in self.named.items() if name in names}
        return found | ({"print"} if name in self.print else set())

    def without(self, names: Iterable[str]) -> Origins:
        gone = set(names)
        kept = {k: tuple(n for n in v if n not in gone) for k, v in self.named.items()}
        looks = {name: look for name, look in self.print.items() if name not in gone}
        return Origins.model_validate({"print": looks, **{k: v for k, v in kept.items() if v}})

    def joined(self, other: Origins) -> Origins:
        """Return the origins of both."""
        sources = {
            source: (*self.named.get(source, ()), *other.named.get(source, ()))
            for source in {**self.named, **other.named}
        }
        return Origins.model_validate({"print": {**self.print, **other.print}, **sources})


NO_ORIGINS = Origins.model_validate({})


class Needs(tuple[str, ...]):
    """What the method asks of data and machine."""

    __slots__ = ()

    @property
    def images(self) -> bool:
        """Tell whether it reads photographs instead of a table of features."""
        return "images" in self


class OpenPoint(Entry):
    """An open point of the paper, by the name of a parameter."""

    alternatives: List[Any] = ()
    """other readings than the value taken"""
    evidence: str
    """why that value, and what the alternatives give"""


class Variant(Entry):
    """Other settings of the same class."""

    title: str = ""
    """name in tables"""
    description: str = ""
    """what differs and why"""
    parameters: Values = Field(default_factory=dict)
    """replaces these parameters only"""
    grid: Grid = Field(default_factory=dict)
    """replaces the grid"""
    origins: Origins = Field(default_factory=lambda: NO_ORIGINS)
    """where the values come from: a paper's id, `code` (the original code), `validation` (chosen by
    the estimator itself, on rows of the training part) or `ours`, each with the parameters that it
    settles; what is named nowhere is ours; of a variant, what it changes
    """
    scaling: Scaling | None = None
    """replaces the scaling"""
    resources: Resources = Field(default_factory=Resources)
    """replaces these resources only"""


class Method(Value):
    """A method, config/methods/<id>.yaml; with its variant merged in, where the id names one."""

    title: str
    """name as papers print it"""
    description: str = ""
    """what it does, in a sentence"""
    reference: str = ""
    """the paper that introduced it"""
    class_path: str = Field(alias="class", pattern=r"^[a-zA-Z_][\w.]*\.[A-Za-z_]\w*$")
    """dotted path of the estimator class, such as `ldl.AAKNN`"""
    roles: List[Literal["control", "forest", "mean_age", "sees_test_labels"]] = ()
    """`control`: the floor or the ceiling of a measure, not a competitor; `forest`: its verdicts
    stand beside those of an ordinary regression forest (`rf_reg`); `mean_age`: a predicted
    distribution over ages stands for their mean, else for the likeliest age; `sees_test_labels`:
    told the test labels before it predicts, only for the ceiling control and for diagnostics of
    leaks
    """
    diagnoses: str = ""
    """method whose printed numbers this one may explain; `ldlrepro explain` then shows it among
    what moves them
    """
    parameters: Values = Field(default_factory=dict)
    """constructor arguments with their values; those left out keep the class's default"""
    grid: Grid = Field(default_factory=dict)
    """arguments to choose on validation data, each with its candidates; `settings__alpha` is the
    setting `alpha` inside the argument `settings`
    """
    origins: Origins = Field(default_factory=lambda: NO_ORIGINS)
    """where the values come from: a paper's id, `code` (the original code), `validation` (chosen by
    the estimator itself, on rows of the training part) or `ours`, each with the parameters that it
    settles; what is named nowhere is ours; of a variant, what it changes
    """
    scaling: Scaling = "none"
    """how features are scaled, fitted on training rows only"""
    asked: List[Literal["ordered_labels", "target", "images"]] = Field(alias="needs", default=())
    """what the method asks of data and machine: labels that have an order; a number per row, such
    as the age; photographs instead of a table of features
    """
    resources: Resources = Field(default_factory=Resources)
    """what one job may use; `datasets` overrides it for single data sets"""
    choices: Map[OpenPoint] = Field(default_factory=dict)
    """parameter -> what the paper leaves open there"""
    variants: Map[Variant] = Field(default_factory=dict)
    """other settings of the same class, used as `<id>@<variant>`"""

    @property
    def needs(self) -> Needs:
        return Needs(self.asked)

    @property
    def age(self) -> str:
        """Return which age a predicted distribution stands for, the `mean` or the `mode`."""
        return "mean" if "mean_age" in self.roles else "mode"

    @property
    def control(self) -> bool:
        return "control" in self.roles

    @property
    def sees_test_labels(self) -> bool:
        return "sees_test_labels" in self.roles

    @property
    def by_print(self) -> bool:
        """Tell whether printed numbers, or a look at test rows, chose one of its settings."""
        return bool(self.origins.print)

    # ------------------------------------------------------------------ variants

    @property
    def base(self) -> str:
        """Return the id of the method's file, without the variant."""
        return self.id.partition("@")[0]

    @property
    def variant_ids(self) -> list[str]:
        return [f"{self.base}@{variant}" for variant in self.variants]

    def has(self, variant: str) -> bool:
        """Tell whether it has a variant, one of its file or settings such as ``max_depth=20``."""
        return variant in self.variants or _SETTINGS.fullmatch(variant) is not None

    def with_variant(self, name: str) -> Method:
        """Return it with a variant merged in: parameters one by one, the rest as a whole."""
        if name not in self.variants:
            return self._merged(name, Variant(parameters=settings_of(name)))
        return self._merged(name, self.variants[name])

    def _merged(self, name: str, variant: Variant) -> Method:
        given, fixed = variant.model_fields_set, variant.parameters
        # A variant that fixes a parameter takes it out of the inherited grid.
        grid = {k: v for k, v in self.grid.items() if k not in fixed}
        changed = {*fixed, *variant.grid, *({"scaling"} & given)}
        changes: dict[str, Any] = {
            "title": variant.title or f"{self.title} ({name})",
            "parameters": {**self.parameters, **fixed},
            "grid": variant.grid if "grid" in given else grid,
            "origins": self.origins.without(changed).joined(variant.origins),
            "resources": Resources(**{**_written(self.resources), **_written(variant.resources)}),
            "variants": {},
        }
        changes |= {key: getattr(variant, key) for key in {"description", "scaling"} & given}
        return self.model_copy(update=changes)

    def settled(self) -> Method:
        """Return it with settings such as ``settings__alpha`` put into their parameters."""
        parameters, grid = dict(self.parameters), dict(self.grid)
        if any("__" in name for name in (*parameters, *grid)):
            parameters, grid = gathered(parameters, grid)
        if self.begins_with_weights and parameters.get("random_weights"):
            parameters.pop("weights", None)  # random ones take their place
        return self.model_copy(update={"parameters": parameters, "grid": grid})

    # ------------------------------------------------------------------ the estimator

    @property
    def begins_with_weights(self) -> bool:
        """Tell whether a parameter `weights` names some; another class may call anything so."""
        return self.needs.images and self.class_path.startswith("ldl.")

    @property
    def weights(self) -> dict[str, Weights]:
        """Return the weights that the parameters or the grid name, by their ids."""
        if not self.begins_with_weights:
            return {}
        named = [self.parameters.get("weights"), *self.grid.get("weights", ())]
        found = {}
        for name in named:
            if name is not None:
                if name not in self.project.weights_ids:
                    hint = (
                        "`ldlrepro list weights` lists them; for a file of your own see "
                        "docs/images.md."
                    )
                    problem = unknown("weights", str(name), self.project.weights_ids, hint)
                    raise UserError(f"{self.shown_file}: weights: {problem}")
                found[str(name)] = self.project.weights(name)
        return found

    @property
    def kind(self) -> type[LDLEstimator]:
        """Return the class of the estimator."""
        from ldl.base import LDLEstimator

        where = f"{self.shown_file}: class"
        kind = self.project.modules.named(self.class_path, self.file, where)
        if not (isinstance(kind, type) and issubclass(kind, LDLEstimator)):
            raise UserError(
                f"{where}: {self.class_path} does not derive from LDLEstimator. A "
                "regressor with fit and predict becomes a method by `class: "
                "ldl.baselines.regression.Regression` and `parameters: {regressor: "
                f"{self.class_path}}}`."
            )
        return kind

    @cached_property
    def draws(self) -> bool:
        """Tell whether another seed gives other predictions; a start may be drawn, or be fixed."""
        settings = self.estimator().get_params(deep=False)
        return "random_state" in settings and settings.get("init") != "identity"

    def estimator(self, **overrides: Any) -> LDLEstimator:
        """Return the unfitted estimator, with the fixed parameters and ``overrides``.

        Parameters that are chosen on validation data (the ``grid``) keep the class's default.
        """
        kind = self.kind
        for names, where in (
            (self.parameters, self.id if "=" in self.id else f"{self.shown_file}: parameters"),
            (self.grid, f"{self.shown_file}: grid"),
            (overrides, f"method '{self.id}'"),
        ):
            _check_names(kind.__name__, kind._get_param_names(), names, where)
        fixed = {name: value for name, value in self.parameters.items() if name not in self.grid}
        model = kind(**copy.deepcopy({**fixed, **overrides}))
        if kind.accepts_images and (weights := getattr(model, "weights", None)):
            model.set_params(weights=str(self._file_of_weights(weights)))
        return model

    def refuse_mistakes(self) -> None:
        """Refuse before the first fold what every fold would refuse."""
        model = self.estimator()
        try:
            model._check_parameters()
        except ValueError as error:
            raise UserError(f"method '{self.id}': {error}") from None
        self._check_settings(model)

    def _check_settings(self, model: LDLEstimator) -> None:
        """Refuse names in ``settings`` that the class inside, given by its path, does not take."""
        from ldl._parameters import class_at

        inside = getattr(model, "estimator", None) or getattr(model, "regressor", None)
        if not isinstance(inside, str):
            return
        with suppress(ValueError):  # fit says that there is no such class
            kind = class_at("estimator", inside, "")
            known = inspect.signature(kind).parameters
            if not any(one.kind is one.VAR_KEYWORD for one in known.values()):
                for part in ("parameters", "grid"):
                    held = getattr(self, part).get("settings") or ()
                    for settings in (held,) if isinstance(held, Mapping) else held:
                        where = f"{self.shown_file}: {part}: settings"
                        _check_names(kind.__name__, known, settings, where)

    def _file_of_weights(self, named: str) -> Path:
        """Return the prepared file of weights; another path counts from the checkout."""
        if named in self.weights:
            return Path.cwd() / Workspace().weights(named)
        return self.project.root / Path(named).expanduser()


def with_settings(method: str, settings: Mapping[str, Any]) -> str:
    """Return the id of a method with parameters set: structrf@n_estimators=20,max_depth=5."""
    named = ",".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in settings.items()
    )
    return f"{method}@{named}"


def settings_of(variant: str) -> dict[str, Any]:
    """Return the settings that an id holds: values as in JSON; what is not JSON is a word."""
    found: dict[str, Any] = {}
    for part in variant.split(","):
        name, _, value = part.partition("=")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _written(asked: Request) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in asked.model_fields_set}


def _check_names(kind: str, known: Collection[str], names: Iterable[str], where: str) -> None:
    for name in names:
        if name not in known:
            raise UserError(
                f"{where}: {kind} has no parameter '{name}'.{nearest(name, known)} "
                f"It has: {', '.join(known) or 'none'}"
            )
