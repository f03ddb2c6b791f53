"""Data sets and weights: what lies in their files, and how to get them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ldl.datasets import sources
from ldlrepro.catalogue.entries import AS_WRITTEN, Entry, List, Value
from ldlrepro.core.errors import UserError, nearest

Collection = Literal["jaffe", "bu_3dfe", "morph", "fgnet", "cacd", "utkface", "rated"]


class RawFile(Entry):
    """A raw file, with a way to check it."""

    SOME_OF: ClassVar[tuple[str, ...]] = ("sha256", "git_blob")

    name: str = Field(pattern=r"^[A-Za-z0-9_][^/\\]*$")
    """file name in `data/raw/<id>/` and in local folders, without a folder"""
    sha256: str = Field(default="", pattern=r"^([0-9a-f]{8,64})?$")
    """SHA-256 of the content, or its first digits where only they are known; empty where nobody
    published one, so that any file of this name is taken
    """
    git_blob: str = Field(default="", pattern=r"^[0-9a-f]{40}$")
    """git blob id, where no SHA-256 is known"""
    bytes: int | None = Field(default=None, ge=1)
    """exact size"""
    urls: List[Annotated[str, Field(pattern=r"^https://")]] = ()
    """where the file can be downloaded, best first"""


class Source(Value):
    """Whatever can be fetched."""

    title: str
    """name as people write it"""
    description: str = ""
    """what a row is and where features and labels come from; of weights what the network was
    trained on
    """
    licence: str
    """terms of use as far as known"""
    citation: str = ""
    """whom to cite"""
    how_to_get: str = ""
    """for what cannot be downloaded - how to get it and where to put it"""

    def decisive(self) -> dict[str, Any]:
        """Return what decides the prepared data: all but the texts."""
        texts = {"title", "description", "licence", "citation", "defects", "how_to_get", "family"}
        return {key: value for key, value in self.plain().items() if key not in texts}


# ---------------------------------------------------------------------- data sets


class Keys(Entry):
    """Names of variables inside the file; of a CSV file those of columns."""

    X: str = ""
    """features"""
    D: str = ""
    """label distributions"""
    target: str = ""
    """a number per row, such as the age"""
    groups: str = ""
    """who a row belongs to"""


@dataclass(frozen=True)
class Shape:
    """Rows, features, labels; None for a number that is not checked."""

    n: int | None
    q: int | None
    c: int | None


class Setup(Entry):
    """Which of the images are used, by a rule."""

    rule: Literal["any", "white", "balanced"]
    """so many of all; of White persons; or Black and White 1:1 with female and male 1:3"""
    count: int = Field(ge=1)
    """how many images"""


class Features(Entry):
    """How images become features."""

    extractor: Literal["lbp", "lbp_codes", "vgg16", "alexnet"]
    """which extractor of src/ldlrepro/data/features; `lbp_codes` has its bins in the order of the
    published files
    """
    layer: Literal["pool5", "pool5_mean", "fc6", "fc7"] = "fc7"
    """networks: the layer whose positive parts are the features; `pool5_mean` is pool5 averaged
    over all places
    """
    start: str | Annotated[int, Field(ge=0)] = Field(alias="weights", default="")
    """networks: id of the weights, `ldlrepro list weights` lists them; or a seed of random ones,
    for trials only
    """

    @property
    def order(self) -> str:
        """Return the order of the bins of local binary patterns; '' for other features."""
        return {"lbp": "runs", "lbp_codes": "codes"}.get(self.extractor, "")

    @property
    def weights(self) -> str:
        """Return the id of the weights; '' where none are named."""
        return self.start if isinstance(self.start, str) else ""

    @property
    def random_weights(self) -> int | None:
        """Return the seed of random weights; None where others are taken."""
        return self.start if isinstance(self.start, int) else None


class DataSet(Source):
    """A data set, config/datasets/<id>.yaml."""

    ASKED_BY = {  # noqa: RUF012
        "reader": {
            **dict.fromkeys(("mat", "npz", "csv"), ("files",)),
            "drawn_table": ("shape",),
            "drawn_images": ("persons", "layout"),
            "images": ("layout",),
        }
    }

    reader: Literal["mat", "npz", "csv", "drawn_table", "drawn_images", "images", "public"]
    """which reader in src/ldlrepro/data/readers.py turns the raw files into X and D. `drawn_*` are
    synthetic data for the demo and the tests; `images` are licensed photographs; `public` is a
    `.mat` file that `ldl.datasets` knows by the id: its address, content and citation
    """
    files: List[RawFile] = ()
    """raw files, each with at least one way to check it. For a file of your own beside the YAML its
    name is enough, `files: x.csv`
    """
    keys: Keys = Field(default_factory=Keys)
    """names of variables inside the file; of a CSV file those of columns"""
    gaps: Literal["refuse", "drop"] = "refuse"
    """what becomes of rows of a CSV file with an empty cell, NA, NaN or the like; `drop` leaves
    them out, and says which
    """
    counts: Annotated[List[int | None], Field(min_length=3, max_length=3)] = Field(
        alias="shape", default=()
    )
    """expected rows, features and labels; checked after reading. null where public copies differ,
    the whole key left out where nobody has said
    """
    persons: Annotated[int, Field(ge=2)] | List[Annotated[int, Field(ge=1)]] | None = None
    """how many persons the rows show, checked after reading; leaving out one person at a time then
    makes a job of its own for each. Where the file does not name them, rows stand person by person:
    as many for each, or as a list says
    """
    labels: List[str] = ()
    """names of the labels, in column order, where known; of a CSV file the columns of D"""
    sparse: bool = False
    """keep X in compressed rows"""
    renormalise: bool = False
    """divide label rows by their sums although they miss one by more than rounding"""
    noise_variance: Annotated[float, Field(ge=0), AS_WRITTEN] = 0.0
    """drawn_table: variance of the normal noise on every feature"""
    images_per_person: int = Field(default=6, ge=1)
    """drawn_images: how many are drawn of each person"""
    images_of: str = ""
    """the data set whose raw images these are, where several share them"""
    labels_of: str = ""
    """the data set whose labels alone are in the file, as a NumPy array. The number of a row stands
    for its features. What the training mean scores is shown beside numbers printed of that data set
    """
    layout: Collection | None = None
    """the folders and lists in which photographs are delivered, see docs/images.md"""
    setup: Setup | None = None
    """which of the images a paper uses; a list of files `<id>.txt` beside the images goes before it
    """
    crop: Annotated[List[Annotated[int, Field(ge=8)]], Field(min_length=2, max_length=2)] = ()
    """[width, height] of what is cut from a photograph, in pixels"""
    eyes: Annotated[
        List[Annotated[float, Field(gt=0, lt=1), AS_WRITTEN]], Field(min_length=2, max_length=2)
    ] = (0.3, 0.4)
    """where the eye on the left comes to lie in the crop, as shares of its width and height; the
    other one lies mirrored
    """
    ages: Annotated[List[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)] = ()
    """the youngest and the oldest age that have labels"""
    features: Features | None = None
    """how images become features"""
    family: str = ""
    """a name that data sets with the same features share; together they count as one independent
    data set
    """
    defects: List[str] = ()
    """known defects of the published file"""

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
    def shape(self) -> Shape | None:
        """Return what is known of its size."""
        return Shape(*self.counts) if self.counts else None

    @property
    def names_persons(self) -> bool:
        """Tell whether its file says whose row each is."""
        return bool(self.keys.groups or self.persons)

    def count_persons(self) -> int | None:
        """Return how many persons its file says there are; None where it does not say."""
        return len(self.persons) if isinstance(self.persons, tuple) else self.persons


def described(name: str, tree: dict[str, Any], shown: str) -> dict[str, Any]:
    """Return the tree of a public data set, completed by what ``ldl.datasets`` knows of it."""
    if name not in sources():
        raise UserError(
            f"{shown}: reader: public is for sets of ldl.datasets.{nearest(name, sources())}"
        )
    known = dict(sources()[name])
    file = {"name": known.pop("file"), "urls": [known.pop("url")]}
    file |= {key: known.pop(key) for key in ("sha256", "bytes")}
    return {**tree, "reader": "mat", "files": [file], **known}


# ---------------------------------------------------------------------- weights


class Weights(Source):
    """Weights of a network, config/weights/<id>.yaml."""

    network: Literal["vgg16", "alexnet"]
    """whose layers these are"""
    files: List[RawFile] = Field(min_length=1, max_length=1)
    """the one file"""
    layout: Literal["torchvision", "vgg_face", "keras_onnx"]
    """how the file names its layers - a state_dict with torchvision's names or VGG-Face's, or an
    ONNX file that Keras made, maybe inside a wheel, of which the convolutions are read
    """
    colours: Literal["rgb", "bgr"]
    """order of the colours in the first layer, and of mean and std"""
    mean: List[Annotated[float, Field(ge=0, le=255), AS_WRITTEN]] = Field(
        min_length=3, max_length=3
    )
    """what is taken off grey levels from 0 to 255, for each colour"""
    std: List[Annotated[float, Field(gt=0), AS_WRITTEN]] = Field(min_length=3, max_length=3)
    """what they are divided by then; 1 where they are not"""
    probe: List[Annotated[float, Field(ge=0), AS_WRITTEN]] = Field(default=(), max_length=8)
    """averages of the first channels of pool5 for scikit-image's astronaut, 224 x 224; whatever
    answers otherwise is refused. `ldlrepro check` prints them
    """

    def facts(self) -> dict[str, Any]:
        """Return what decides the numbers of a network that begins with these weights."""
        (entry,) = self.files
        return {
            "file": entry.sha256 or entry.name,
            "layout": self.layout,
            "preprocessing": {
                "colours": self.colours,
                "mean": list(self.mean),
                "std": list(self.std),
            },
        }
