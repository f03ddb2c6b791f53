"""Files to begin from: a paper, method, data set or measure of a user's own, with comments.

They pass ``ldlrepro check`` as they are. Comments, and the keys that may be added, are what the
models of the files say.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ldlrepro.catalogue.own_files import PAPER, id_of
from ldlrepro.core.errors import UserError
from ldlrepro.doctor.config_docs import KeyRow, key_rows

WIDTH = 100
TITLED = {"paper": "A paper", "method": "A method", "dataset": "A data set", "measure": "A measure"}
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "paper": {
        "title": "The title of the paper",
        "authors": "Who wrote it",
        "venue": "Where it appeared",
        "year": "{year}",
        "protocols": {
            "{name}": {
                "scheme": "kfold",
                "folds": 10,
                "validation": "holdout",
                "select_by": "kl",
                "text": "Ten shuffled folds. Say what the paper states, and what it leaves open.",
            }
        },
        "datasets": ["toy"],
        "own": ["Their method"],
        "methods": {
            "Their method": "structrf",
            "AA-kNN": "aa_knn",
            "A rival": {"note": "say here why nothing runs for this row"},
        },
        "tables": {"1": {"title": "what the table shows"}},
        "extra": [
            {
                "methods": ["uniform", "train_mean", "true_labels"],
                "why": "controls, the floor and the ceiling of every measure",
            }
        ],
    },
    "method": {
        "title": "{title}",
        "description": "What it does, in a sentence.",
        "class": "{name}_code.{camel}",
        "parameters": {"alpha": 1.0},
        "scaling": "standard",
        "variants": {"firm": {"parameters": {"alpha": 100.0}}},
    },
    "dataset": {
        "title": "{title}",
        "description": "What a row is, and where features and labels come from.",
        "reader": "csv",
        "files": "{name}.csv",
        "labels": ["calm", "glad", "sad"],
        "keys": {"groups": "person"},
    },
    "measure": {
        "title": "{title}",
        "description": "What it measures, in a sentence.",
        "function": "{name}_code.{name}",
        "better": "lower",
        "range": [0, 1],
    },
}
"""Kind of file -> what its template says."""
BESIDE = {
    "paper": {
        "cells.csv": """\
table,dataset,method,metric,mean,std
1,toy,Their method,kl,0.0025,0.0003
1,toy,Their method,cosine,0.9976,0.0003
1,toy,AA-kNN,kl,0.0012,0.0003
1,toy,AA-kNN,cosine,0.9989,0.0002
1,toy,A rival,kl,0.0100,
1,toy,A rival,cosine,0.9900,
""",
    },
    "method": {
        "{name}_code.py": '''\
"""{title}: ridge regression of the label degrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.linear_model import Ridge

from ldl import RegressorMethod


@dataclass(eq=False, repr=False)
class {camel}(RegressorMethod):
    """Predict every label's degree by a regressor; the answers become a distribution."""

    alpha: float = 1.0

    def _regressor(self) -> Any:
        return Ridge(alpha=self.alpha)
''',
    },
    "dataset": {"{name}.csv": ""},
    "measure": {
        "{name}_code.py": '''\
import numpy as np


def {name}(D: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Return a number for each row: here the Hellinger distance of truth and prediction."""
    return np.sqrt(((np.sqrt(D) - np.sqrt(P)) ** 2).sum(axis=1) / 2)
''',
    },
}
"""Kind of file -> the files that lie beside it."""


def write(kind: str, name: str, folder: Path, year: int) -> list[Path]:
    """Write the files of a new paper, method, data set or measure; overwrite nothing."""
    place = folder / name if kind == "paper" else folder
    words = {
        "name": name,
        "year": year,
        "title": name.replace("_", " ").capitalize(),
        "camel": "".join(part.capitalize() for part in name.split("_")) or name,
    }
    described = place / (PAPER if kind == "paper" else f"{name}.yaml")
    id_of(kind, described)
    texts = {described: text_of(kind, words)}
    for file, text in BESIDE[kind].items():
        texts[place / file.format(**words)] = text.format(**words) if text else _rows()
    if there := [path for path in texts if path.exists()]:
        raise UserError(f"{there[0]} is there already. Choose another name, or remove it.")
    place.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)


def text_of(kind: str, words: Mapping[str, Any]) -> str:
    """Return the YAML file of a kind, with what each key means, and the keys that may be added."""
    rows, example = key_rows(kind), _filled(EXAMPLES[kind], words)
    what = "folder" if kind == "paper" else "file"
    lines = [f"# {TITLED[kind]}. The name of this {what} is its id, {words['name']}."]
    lines += _lines(example, "", rows)
    others = [row for row in rows if row.key.isidentifier() and row.key not in example]
    if others:
        lines += ["", "# These keys may be added; config/README.md has those inside them, too."]
        for row in others:
            lines += _comment(f"{row.key}: {row.meaning}", "", "#   ")
    return "\n".join(lines) + "\n"


def _lines(tree: Mapping[str, Any], path: str, rows: Sequence[KeyRow]) -> Iterator[str]:
    """Yield the lines of a mapping; a comment goes before each key of the models."""
    indent = "  " * path.count(".")
    for key, value in tree.items():
        if row := _row(f"{path}{key}", rows):
            yield from [""] * (not path)
            yield from _comment(row.meaning + _few(row.allowed), indent, "# ")
        if _has_keys(value, f"{path}{key}.", rows):
            yield _dumped(key, None, indent)[0].removesuffix(" null")
            yield from _lines(value, f"{path}{key}.", rows)
        else:
            yield from _dumped(key, value, indent)


def _row(path: str, rows: Iterable[KeyRow]) -> KeyRow | None:
    """Return what the models say of a place; None where the name is the user's."""
    for row in rows:
        if re.fullmatch(re.sub("<[^>]+>", "[^.]+", re.escape(row.key)), path):
            return row
    return None


def _has_keys(value: Any, path: str, rows: Sequence[KeyRow]) -> bool:
    """Tell whether a value holds keys of the models."""
    return isinstance(value, Mapping) and any(
        _row(f"{path}{key}", rows) or _has_keys(inner, f"{path}{key}.", rows)
        for key, inner in value.items()
    )


def _few(allowed: str) -> str:
    """Return the words that are allowed, in brackets; '' for any other kind of value."""
    return f" ({allowed.replace('`', '')})" if re.fullmatch(r"`\w+`(, `\w+`)+", allowed) else ""


def _dumped(key: str, value: Any, indent: str) -> list[str]:
    flow = None if isinstance(value, list | dict) else False
    text = yaml.safe_dump(
        {key: value}, sort_keys=False, allow_unicode=True, default_flow_style=flow, width=WIDTH
    )
    return textwrap.indent(text, indent).splitlines()


def _comment(text: str, indent: str, mark: str) -> list[str]:
    before = indent + mark
    return textwrap.wrap(text, WIDTH, initial_indent=before, subsequent_indent=f"{before}  ")


def _filled(tree: Any, words: Mapping[str, Any]) -> Any:
    """Return an example with words in the places that are left for them."""
    if isinstance(tree, Mapping):
        return {_filled(key, words): _filled(value, words) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_filled(value, words) for value in tree]
    if tree == "{year}":
        return words["year"]
    return tree.format(**words) if isinstance(tree, str) else tree


def _rows() -> str:
    """Return a table of thirty rows, five of each of six persons."""
    lines = ["x1,x2,calm,glad,sad,person"]
    for row in range(30):
        person, turn = divmod(row, 5)
        calm, glad = 10 + 5 * turn + person, 25 - 3 * turn + 7 * row % 11
        degrees = (calm / 100, glad / 100, (100 - calm - glad) / 100)
        lines.append(",".join(f"{value:g}" for value in (person / 5, turn / 4, *degrees, person)))
    return "\n".join(lines) + "\n"
