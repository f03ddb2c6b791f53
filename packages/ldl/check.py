"""Use what was installed as a newcomer does, where nothing else is installed."""

import pickle
import sys
from importlib.util import find_spec

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

import ldl
from ldl import AAKNN, SABFGS, Regression, StructRF
from ldl.datasets import make_distributions, names
from ldl.metrics import kl, scorer

X, D = make_distributions(60, 4, 3, concentration=None, random_state=0)
forest = StructRF(n_estimators=3, random_state=0).fit(X[:40], D[:40])
assert np.allclose(forest.predict(X[40:]).sum(axis=1), 1)
assert kl(D[40:], SABFGS(alpha=0.1).fit(X[:40], D[:40]).predict(X[40:])) < 0.01
assert kl(D[40:], Regression(Ridge()).fit(X[:40], D[:40]).predict(X[40:])) < 0.1
assert "sjaffe" in names()
search = GridSearchCV(AAKNN(), {"n_neighbors": [1, 5]}, cv=2, scoring=scorer("kl")).fit(X, D)
for model in (forest, search):
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()
more = ("ldlrepro", "snakemake", "mlflow", "pandas", "matplotlib", "torch", "xgboost", "yaml")
if found := [name for name in more if find_spec(name)]:
    sys.exit(f"more is installed: {', '.join(found)}")
print(ldl.__version__, ldl.__file__)
