"""PT-Bayes against scikit-learn and against what follows from Bayes' rule."""

import numpy as np
import pytest

from ldl import Uniform
from tests.oracle.examples import means_of_ten_folds, unrelated
from tests.oracle.formulas import pt_bayes

problem = unrelated


def classes(seed: int = 0, q: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw features, class numbers and one-hot labels."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 3, size=90)
    return generator.normal(size=(90, q)) + y[:, None], y, np.eye(3)[y]


@pytest.mark.parametrize("q", [1, 4])
def test_diagonal_with_one_hot_labels_is_gaussian_naive_bayes(q):
    from sklearn.naive_bayes import GaussianNB

    X, y, D = classes(q=q)
    reference = GaussianNB(var_smoothing=0.0).fit(X, y).predict_proba(X)
    P = pt_bayes(covariance_type="diag", floor=0.0).fit(X, D).predict(X)
    np.testing.assert_allclose(P, reference, atol=1e-6)


def test_full_covariance_with_one_hot_labels_is_quadratic_discriminant_analysis():
    """Weighted moments of one-hot labels are plain moments, with n below the sum of squares."""
    from scipy.stats import multivariate_normal

    X, y, D = classes(q=3)
    joint = np.column_stack(
        [
            np.mean(y == j)
            * multivariate_normal(X[y == j].mean(0), np.cov(X[y == j].T, ddof=0)).pdf(X)
            for j in range(3)
        ]
    )
    for domain in ("log", "density"):
        P = pt_bayes(covariance_type="full", domain=domain, floor=0.0).fit(X, D).predict(X)
        np.testing.assert_allclose(P, joint / joint.sum(1, keepdims=True), atol=1e-9)


def test_shrunk_covariance_with_equal_weights_is_ledoit_and_wolfs():
    from sklearn.covariance import LedoitWolf

    X, _ = problem(q=20, n=30)
    one_label_takes_all = np.column_stack([np.ones(30), np.zeros(30)])
    gaussian = pt_bayes(covariance_type="shrunk").fit(X, one_label_takes_all).gaussians_[0]
    rebuilt = (gaussian.axes * gaussian.variances) @ gaussian.axes.T
    np.testing.assert_allclose(rebuilt, LedoitWolf().fit(X).covariance_, atol=1e-10)


def test_weights_are_the_mean_of_many_resampled_fits():
    X, D = problem()
    exact = pt_bayes(transformation="weights").fit(X, D)
    means, priors = [], []
    for seed in range(400):
        drawn = pt_bayes(transformation="resample", random_state=seed).fit(X, D)
        means.append([gaussian.mean for gaussian in drawn.gaussians_])
        priors.append(drawn.prior_)
    # A resampled mean has a standard error near 1/sqrt(90), and 400 of them 1/sqrt(90 * 400).
    band = 5 / np.sqrt(90 * 400)
    expected = [gaussian.mean for gaussian in exact.gaussians_]
    np.testing.assert_allclose(np.mean(means, axis=0), expected, atol=band)
    np.testing.assert_allclose(np.mean(priors, axis=0), exact.prior_, atol=band)
    assert np.std(means, axis=0).min() > 0.03


@pytest.mark.realdata
def test_released_settings_give_the_uniform_distribution_on_sjaffe(real_data):
    """The MSLP paper's PT-Bayes cells for s-JAFFE are those of the uniform prediction."""
    data = real_data("sjaffe")
    model = pt_bayes("resample", domain="density", random_state=0)
    scores = means_of_ten_folds(data, model.fit)
    uniform = means_of_ten_folds(data, Uniform().fit)
    assert scores == uniform
    for name, value in {
        "chebyshev": 0.1204,
        "clark": 0.4291,
        "kl": 0.0738,
        "cosine": 0.9304,
    }.items():
        assert scores[name] == pytest.approx(value, abs=2e-4), name
