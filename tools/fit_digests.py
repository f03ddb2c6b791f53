"""Print the SHA-256 of what each method and variant predicts after a fit to a small cut.

    python tools/fit_digests.py [METHOD ...] > before.txt     # before a change of code
    python tools/fit_digests.py --since before.txt            # after it

Each line has a method, the digest of its code, and that of its predictions. With ``--since`` it
tells which methods predict other bits than before, and writes the digests of earlier code that
predicts the same into ``reference/same_bits.json``. Parameters that a method chooses have the first
value of its grid. Those that take longer than a few minutes are cut short by fewer iterations, on
both sides; networks are tiny and see drawn images.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ldl.checks import sample
from ldlrepro.catalogue import Project, digests
from ldlrepro.catalogue.methods import Method

SHORTER = {"max_iter": 20, "n_estimators": 5, "max_layers": 2}
"""Parameters that are lowered where a method has them."""
TINY = {"network": "tiny", "weights": None, "sha256": None, "random_weights": True}
TINY |= {"crop_side": None, "batch_size": 8, "max_iter": 5, "device": "cpu"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("method", nargs="*", help="methods to look at; all by default")
    parser.add_argument("--since", type=Path, metavar="FILE", help="what was printed before")
    asked = parser.parse_args()
    project = Project.open()
    found = {}
    for method in project.methods:
        if asked.method and method.base not in asked.method:
            continue
        found[method.id] = digests.method_digest(method), predicted(method)
        print(method.id, *found[method.id], flush=True)
    if asked.since:
        before = dict(lines_of(asked.since))
        both = [(before[name], now) for name, now in found.items() if name in before]
        moved = [name for name in found if name in before and before[name][1] != found[name][1]]
        print("other bits than before: " + (", ".join(moved) or "none"), file=sys.stderr)
        renew(project.root / digests.SAME_BITS, both)


def predicted(method: Method) -> str:
    """Return the digest of the predictions, or the name of an error."""
    model = method.estimator(**{name: values[0] for name, values in method.grid.items()})
    X, D = sample(n=120, q=20, c=5)
    if method.kind.accepts_images:
        X = np.random.default_rng(0).integers(0, 256, size=(120, 16, 16, 3), dtype=np.uint8)
    known = model.get_params()
    shorter = {
        name: min(known[name], most)
        for name, most in SHORTER.items()
        if isinstance(known.get(name), int)
    }
    shorter |= {name: value for name, value in TINY.items() if method.kind.accepts_images}
    if "random_state" in known:
        shorter["random_state"] = 7
    try:
        fitted = model.set_params(**shorter).fit(X[:90], D[:90])
        if method.sees_test_labels:
            fitted.tell(D[90:])
        return hashlib.sha256(fitted.predict(X[90:]).tobytes()).hexdigest()
    except Exception as error:  # of the same kind before and after
        return type(error).__name__


def lines_of(path: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        name, code, bits = line.split()
        yield name, (code, bits)


def renew(path: Path, both: list[tuple[tuple[str, str], tuple[str, str]]]) -> None:
    """Add code to that of today where all methods of both predict the same bits."""
    known: dict[str, list[str]] = json.loads(path.read_text()) if path.is_file() else {}
    pairs = {(old, new) for (old, _), (new, _) in both if old != new}
    for old, new in sorted(pairs):
        of_pair = [(was, now) for (o, was), (n, now) in both if (o, n) == (old, new)]
        if all(was == now and len(was) == 64 for was, now in of_pair):
            known[new] = sorted({*known.get(new, []), *known.pop(old, []), old})
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
