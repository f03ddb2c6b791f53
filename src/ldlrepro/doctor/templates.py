"""Files to begin from: a paper, method, data set or measure of a user's own, with comments.

They pass ``ldlrepro check`` as they are.
"""

from __future__ import annotations

from pathlib import Path

from ldlrepro.catalogue.own_files import id_of
from ldlrepro.core.errors import UserError

TEMPLATES = {
    "paper": {
        "paper.yaml": """\
# A paper: what it ran, under which protocol. The name of this folder is its id, {name}.
# All keys, with their meaning: config/README.md, "A paper". A walk through: docs/add-a-paper.md.
title: The title of the paper
authors: Who wrote it
venue: Where it appeared
year: {year}

# How rows are put into folds. The first protocol is the paper's own; its id must be new.
protocols:
  {name}:
    scheme: kfold           # or shuffle_split, with repeats and train_share
    folds: 10
    validation: holdout     # rows of the training part that decide grids
    # given: {{toy: toy_folds.csv}}   folds that the authors published: columns row and fold
    select_by: kl
    text: Ten shuffled folds. Say here what the paper states, and what it leaves open.

# The data sets of its tables, by their ids: `ldlrepro list datasets` lists them. Data of your own
# lie beside this file.
datasets: [toy]

# The paper's own methods, which are counted apart.
own: [Their method]

# Printed name -> what runs for it: `ldlrepro list methods` lists what there is. Methods of your own
# lie beside this file. Settings follow an @: structrf@n_estimators=100,max_depth=20.
methods:
  Their method: structrf
  AA-kNN: aa_knn
  A rival:
    skip: say here why nothing runs for this row

# The printed tables, by their numbers as in cells.csv.
tables:
  "1": {{title: what the table shows}}

# What runs beside the printed rows. These three tell what the numbers are worth.
extra:
  - methods: [uniform, train_mean, true_labels]
    why: controls - the floor and the ceiling of every measure

# Printed numbers that cannot be, once you have found some:
# misprints:
#   - {{table: "1", dataset: toy, method: AA-kNN, metric: kl, proof: why it cannot be}}
""",
        # Header: rank may be added for a rank or a bold mark, quoted_from and note as well.
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
        "{name}.yaml": """\
# A method. The name of this file is its id, {name}. All keys: config/README.md, "A method".
title: {title}
description: What it does, in a sentence.
class: {name}_code.{camel}
parameters:
  alpha: 1.0
scaling: standard           # none, minmax01, l2row ...: how features are scaled before the fit
# A grid in place of a parameter is decided on validation rows: grid: {{alpha: [0.1, 1.0, 10.0]}}
variants:
  firm: {{parameters: {{alpha: 100.0}}}}
""",
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
    "dataset": {
        "{name}.yaml": """\
# A data set. The name of this file is its id, {name}. All keys: config/README.md, "A data set".
title: {title}
description: What a row is, and where features and labels come from.
reader: csv                 # or npz, mat
files: {name}.csv
labels: [calm, glad, sad]   # the columns of the label degrees; each row sums to one
keys: {{groups: person}}      # a column that tells whose row it is; leave it out if nobody's
# All other columns are features.
""",
        "{name}.csv": "",
    },
    "metric": {
        "{name}.yaml": """\
# A measure. The name of this file is its id, {name}.
title: {title}
description: What it measures, in a sentence.
function: {name}_code.{name}
better: lower               # or higher
""",
        "{name}_code.py": '''\
import numpy as np


def {name}(D: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Return a number for each row: here the Hellinger distance of truth and prediction."""
    return np.sqrt(((np.sqrt(D) - np.sqrt(P)) ** 2).sum(axis=1) / 2)
''',
    },
}


def write(kind: str, name: str, folder: Path, year: int) -> list[Path]:
    """Write the files of a new paper, method, data set or measure; overwrite nothing."""
    place = folder / name if kind == "paper" else folder
    words = {
        "name": name,
        "year": year,
        "title": name.replace("_", " ").capitalize(),
        "camel": "".join(part.capitalize() for part in name.split("_")) or name,
    }
    texts = {place / file.format(**words): text for file, text in TEMPLATES[kind].items()}
    yaml = next(path for path in texts if path.suffix == ".yaml")
    id_of(kind, yaml)
    if there := [path for path in texts if path.exists()]:
        raise UserError(f"{there[0]} is there already. Choose another name, or remove it.")
    place.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        made = text.format(**words) if text else _rows()
        path.write_text(made, encoding="utf-8")
    return list(texts)


def _rows() -> str:
    """Return a table of thirty rows, five of each of six persons."""
    lines = ["x1,x2,calm,glad,sad,person"]
    for row in range(30):
        person, turn = divmod(row, 5)
        calm, glad = 10 + 5 * turn + person, 30 - 3 * turn
        degrees = (calm / 100, glad / 100, (100 - calm - glad) / 100)
        lines.append(",".join(f"{value:g}" for value in (person / 5, turn / 4, *degrees, person)))
    return "\n".join(lines) + "\n"
