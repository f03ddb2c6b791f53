"""Our methods against whole plain ones: models, not only equations, are the same."""

import numpy as np
import pytest

import ldl
from bench import plain
from tests.oracle.examples import softmax_problem
from tests.oracle.settings import as_stated

NARROW = {
    "n_estimators": 2,
    "depth": 3,
    "units": 6,
    "max_iter": 14,
    "batch_size": 9,
    "leaf_batches": 4,
}
LINEAR = {"max_iter": 40}


def split(seed: int, **shape: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, D = softmax_problem(seed, **shape)
    return X[:-15], D[:-15], X[-15:]


@pytest.mark.parametrize(
    ("name", "settings", "only_ours"),
    [
        ("MSLP", {"k_plus": 5, "alpha": 3, "u": 0.5}, {}),
        ("MSLP", {"k_plus": 4, "alpha": 5, "beta": 0.1, "lam": 0.1, "u": 0.25}, {}),
        ("PCAKNN", {"u": 0.5, "n_neighbors": 4}, {}),
        ("LPPKNN", {"u": 0.4, "pca_keep": 0.9}, {}),
        ("NPEKNN", {"u": 0.6, "graph_neighbors": 7}, {}),
        ("CCAKNN", {"ridge": 0.01, "n_neighbors": 3}, {}),
        ("LDLCL", {"collaboration": 0.4, "alpha": 0.5, **LINEAR}, {}),
        ("LDLLDM", {"alpha": 0.5, "global_weight": 0.3, **LINEAR}, {"n_clusters": 1}),
        (
            "AOSOLDLogitBoost",
            {"max_iter": 6, "max_leaf_nodes": 5},
            {"n_iter_no_change": None, "pair": "exact"},
        ),
    ],
)
def test_predictions_are_those_of_the_plain_method(name, settings, only_ours):
    X, D, new = split(3, n=75, q=6)
    ours = as_stated(getattr(ldl, name), **settings, **only_ours).fit(X, D).predict(new)
    theirs = getattr(plain, name)(**settings)
    theirs.fit(X, D)
    np.testing.assert_allclose(ours, theirs.predict(new), rtol=1e-4, atol=1e-6)
    assert np.abs(ours - D.mean(axis=0)).max() > 0.05  # a model, not the mean


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize(("name", "leaves"), [("SLDLF", "distributions"), ("DRF", "gaussians")])
def test_soft_forests_are_those_that_automatic_derivatives_train(name, leaves, temperature):
    X, D, new = split(5, n=55)
    settings = {**NARROW, "drop_every": 10, "learning_rate": 0.3, "temperature": temperature}
    ours = as_stated(
        getattr(ldl, name), **settings, leaf_repeats=3, dtype="float64", random_state=4
    )
    theirs = plain.SoftForest(leaves, **settings, leaf_repeats=3, random_state=4)
    theirs.fit(X, D)
    np.testing.assert_allclose(ours.fit(X, D).predict(new), theirs.predict(new), atol=1e-7)
