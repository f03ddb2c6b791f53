"""Public data sets, fetched once and checked, and data drawn from a known model.

``load("sjaffe")``, or ``load_sjaffe()``, gives features and label distributions; ``names()`` lists
the sets. ``make_distributions`` draws data whose true model is known.

Examples
--------
>>> from ldl.datasets import make_distributions
>>> X, D = make_distributions(n_samples=50, n_features=8, n_labels=4, random_state=0)
>>> X.shape, D.shape
((50, 8), (50, 4))
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ldl.errors import UserError, nearest

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from sklearn.utils import Bunch

FOLDER = "LDL_DATA"
"""Environment variable: the folder that keeps what was fetched; else .cache/ldl in the home."""
MIRROR = "LDL_DATA_MIRROR"
"""Environment variable: a local folder to copy files from, before anything is downloaded."""
_ROUNDING = 1e-12
"""Row sums this close to one stay as they are."""
_SECONDS = 60


@functools.cache
def sources() -> dict[str, dict[str, Any]]:
    """Return what is known of each public set: its file, what is in it, and whom to cite.

    Returns
    -------
    dict of str to dict
        By name: ``file``, ``url``, ``sha256``, ``bytes``, ``keys``, the variables in the file,
        ``shape``, ``description``, ``citation``, and where known ``labels`` and ``persons``.

    Examples
    --------
    >>> from ldl.datasets import sources
    >>> sources()["sjaffe"]["shape"]
    [213, 243, 6]
    """
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("ldl.datasets").joinpath("sources.toml").read_text("utf-8"))


def names() -> list[str]:
    """Return the names of the public sets.

    Returns
    -------
    list of str
        In alphabetical order.

    Examples
    --------
    >>> from ldl.datasets import names
    >>> names()[-1]
    'yeast_spoem'
    """
    return sorted(sources())


def load(
    name: str,
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: str | os.PathLike[str] | None = None,
    mirror: str | os.PathLike[str] | None = None,
) -> Any:
    """Return a public data set, which is fetched where it is not at hand.

    The first call copies the file from a mirror or downloads it, a few megabytes at most, and keeps
    it if its SHA-256 is right. Later calls need no network.

    Parameters
    ----------
    name : str
        One of ``names()``; the error for another name tells the nearest.
    return_X_y : bool, default=False
        Return features and label distributions alone.
    as_frame : bool, default=False
        Return data frames of pandas instead of arrays.
    data_home : path or None, default=None
        Folder that keeps the files; None for the environment variable LDL_DATA, or .cache/ldl in
        the home.
    mirror : path or None, default=None
        Local folder with files of the same names; None for the environment variable
        LDL_DATA_MIRROR, if it is set.

    Returns
    -------
    Bunch or tuple
        ``data`` (CSR where most features are zero), ``target`` with a distribution in each row,
        ``feature_names``, ``label_names``, ``groups`` with the person of each row where known,
        ``target_number`` such as the age where known, ``frame`` with all of them, ``filename`` and
        ``DESCR``; or (data, target).

    Examples
    --------
    >>> from ldl.datasets import load
    >>> load("sjaffee")
    Traceback (most recent call last):
    ...
    ValueError: no public data set is called 'sjaffee'. Did you mean 'sjaffe'?
    """
    if name not in sources():
        raise ValueError(
            f"no public data set is called '{name}'.{nearest(name, names()) or ' See names().'}"
        )
    path = _fetched(sources()[name], data_home, mirror)
    found = _read(name, path)
    if as_frame:
        _to_frames(found)
    return (found.data, found.target) if return_X_y else found


def __getattr__(asked: str) -> Any:
    """Return ``load_sjaffe`` and its like."""
    name = asked.removeprefix("load_")
    if name == asked or name not in sources():
        hint = "" if asked.startswith("_") else nearest(asked, __dir__())
        raise AttributeError(f"module 'ldl.datasets' has no attribute '{asked}'." + hint)
    return functools.partial(load, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *(f"load_{name}" for name in sources())})


def make_distributions(
    n_samples: int = 100,
    n_features: int = 20,
    n_labels: int = 5,
    *,
    n_informative: int | None = None,
    concentration: float | None = 50.0,
    random_state: int | None = None,
    return_model: bool = False,
) -> Any:
    """Draw normal features and label distributions around those of a softmax model.

    The mean of a row is softmax(X W). Weights W are normal with variance 1 / ``n_informative`` for
    informative features, and zero for the others.

    Parameters
    ----------
    n_samples : int, default=100
        Number of rows.
    n_features : int, default=20
        Number of features.
    n_labels : int, default=5
        Number of labels.
    n_informative : int or None, default=None
        The first so many features decide the labels; None for all.
    concentration : float or None, default=50.0
        Sum of the Dirichlet parameters of a row: the higher, the nearer to its mean. None for the
        mean itself.
    random_state : int or None, default=None
        Seed.
    return_model : bool, default=False
        Return the weights and the mean distributions as well.

    Returns
    -------
    tuple of ndarray
        X and D; with ``return_model`` also W of shape (features, labels) and the means of D.

    Examples
    --------
    >>> from ldl.datasets import make_distributions
    >>> X, D, W, mean = make_distributions(concentration=None, return_model=True)
    >>> bool((D == mean).all())
    True
    """
    import numpy as np
    from scipy.special import softmax

    used = n_features if n_informative is None else n_informative
    if not 1 <= used <= n_features:
        raise ValueError(f"n_informative must be from 1 to {n_features}, got {n_informative!r}")
    generator = np.random.default_rng(random_state)
    X = generator.normal(size=(n_samples, n_features))
    W = np.zeros((n_features, n_labels))
    W[:used] = generator.normal(size=(used, n_labels)) / np.sqrt(used)
    mean = softmax(X @ W, axis=1)
    D = mean
    if concentration is not None:
        D = generator.gamma(concentration * mean) + np.finfo(float).tiny
        D /= D.sum(axis=1, keepdims=True)
    return (X, D, W, mean) if return_model else (X, D)


# ---------------------------------------------------------------------- files


def _fetched(
    source: dict[str, Any],
    data_home: str | os.PathLike[str] | None,
    mirror: str | os.PathLike[str] | None,
) -> Path:
    """Return the file, from the folder, the mirror or the network; its checksum is right."""
    from pathlib import Path

    kept = data_home or os.environ.get(FOLDER) or Path.home() / ".cache" / "ldl"
    path = Path(kept).expanduser() / source["file"]
    if path.is_file() and _right(path.read_bytes(), source):
        return path
    mirror = mirror or os.environ.get(MIRROR)
    near = Path(mirror).expanduser() / source["file"] if mirror else None
    content = near.read_bytes() if near and near.is_file() else _downloaded(source)
    if not _right(content, source):
        where = near if near and near.is_file() else source["url"]
        raise UserError(f"{where}: not the published file, by its SHA-256. Nothing is kept.")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.replace(path)
    return path


def _right(content: bytes, source: dict[str, Any]) -> bool:
    import hashlib

    return hashlib.sha256(content).hexdigest() == source["sha256"]


def _downloaded(source: dict[str, Any]) -> bytes:
    from urllib.error import URLError
    from urllib.request import urlopen

    try:
        with urlopen(source["url"], timeout=_SECONDS) as answer:
            return bytes(answer.read(source["bytes"] + 1))
    except (URLError, OSError) as error:
        raise UserError(
            f"{source['url']}: cannot be downloaded ({getattr(error, 'reason', error)}). Put "
            f"{source['file']} into a folder and name it by mirror=, or by {MIRROR}."
        ) from None


def _read(name: str, path: Path) -> Bunch:
    import numpy as np
    from scipy.io import loadmat
    from scipy.sparse import csr_matrix
    from sklearn.utils import Bunch

    source = sources()[name]
    stored = loadmat(path)
    X, D = (stored[source["keys"][part]] for part in ("X", "D"))
    if source.get("sparse"):
        X = csr_matrix(X, dtype=np.float64)
        X.sum_duplicates()
        X.eliminate_zeros()
    else:
        X = np.ascontiguousarray(X, dtype=np.float64)
    D = np.array(D, dtype=np.float64, order="C")
    sums = D.sum(axis=1)
    off = np.abs(sums - 1) > _ROUNDING
    D[off] /= sums[off, None]
    number = source["keys"].get("target")
    return Bunch(
        data=X,
        target=D,
        frame=None,
        feature_names=[f"feature_{j}" for j in range(X.shape[1])],
        label_names=source.get("labels") or [f"label_{j}" for j in range(D.shape[1])],
        groups=_groups(source.get("persons"), len(D)),
        target_number=np.asarray(stored[number], dtype=np.float64).ravel() if number else None,
        filename=str(path),
        DESCR=f"{source['description']}\n\nCite: {source['citation']}",
    )


def _groups(persons: int | Sequence[int] | None, rows: int) -> np.ndarray | None:
    """Return the person of each row: rows stand person by person."""
    import numpy as np

    if persons is None:
        return None
    sizes = [rows // persons] * persons if isinstance(persons, int) else persons
    return np.repeat(np.arange(len(sizes)), sizes)


def _to_frames(found: Bunch) -> None:
    import pandas as pd

    sparse: Any = pd.DataFrame.sparse  # its stub does not know this function
    made = sparse.from_spmatrix if hasattr(found.data, "tocsr") else pd.DataFrame
    found.data = made(found.data, columns=found.feature_names)
    found.target = pd.DataFrame(found.target, columns=found.label_names)
    found.frame = pd.concat([found.data, found.target], axis=1)
