"""Print the SHA-256 of what each method and variant predicts after a fit to a small cut.

    python tools/fit_digests.py [METHOD ...] > after.txt
    PYTHONPATH=/elsewhere/before/src python tools/fit_digests.py > before.txt
    diff before.txt after.txt

A line that differs names a method whose bits a change of code has moved. Parameters that a method
chooses have the first value of its grid. Methods on images are left out. Those that take longer
than a few minutes are cut short by fewer iterations, on both sides.
"""

from __future__ import annotations

import hashlib
import sys
import warnings

from ldl.checks import sample
from ldlrepro.catalogue import Project

SHORTER = {"max_iter": 20, "n_estimators": 5, "max_layers": 2}
"""Parameters that are lowered where a method has them."""


def main() -> None:
    X, D = sample(n=120, q=20, c=5)
    asked = set(sys.argv[1:])
    for method in Project.open().methods:
        if (asked and method.base not in asked) or method.kind.accepts_images:
            continue
        model = method.estimator(**{name: values[0] for name, values in method.grid.items()})
        known = model.get_params()
        shorter = {
            name: min(known[name], most)
            for name, most in SHORTER.items()
            if isinstance(known.get(name), int)
        }
        if "random_state" in known:
            shorter["random_state"] = 7
        try:
            fitted = model.set_params(**shorter).fit(X[:90], D[:90])
            if method.sees_test_labels:
                fitted.tell(D[90:])
            answer = hashlib.sha256(fitted.predict(X[90:]).tobytes()).hexdigest()
        except Exception as error:  # of the same kind before and after
            answer = type(error).__name__
        print(method.id, answer, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
