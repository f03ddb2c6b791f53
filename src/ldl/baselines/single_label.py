"""A classifier as a method: it learns one label a row, and gives the one it predicts everything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ldl._parameters import FITS, Count, Positive
from ldl._self_tuned import SelfTuned
from ldl._weighted import weights_for
from ldl.base import child_seeds, copy_of, seed_unset

_ITERATIONS = {"lr": 100, "svm": 1000}


@dataclass(eq=False, repr=False)
class SingleLabelClassifier(SelfTuned):
    """Classifier of a single label, which gets the whole degree.

    Of a row's distribution the classifier learns one label only, the highest or one that is drawn.
    It predicts a degenerate distribution: one at the predicted label, zero elsewhere. By default
    a share of the training mean is mixed in, a large one where the labels are soft. By the
    measures of the label on top it can be compared with methods that learn distributions. A label
    that no training row stands for is never predicted.

    Parameters
    ----------
    classifier : {'lr', 'svm', 'bayes', 'rbf_svm'} or object, default='lr'
        Any classifier with ``fit`` and ``predict``, which is copied, or one of scikit-learn's by
        name: multinomial logistic regression, a linear support vector machine for each label
        against the rest, Gaussian naive Bayes, or support vector machines with an rbf kernel for
        each pair of labels.
    target : {'highest', 'drawn'}, default='highest'
        Label that stands for a row: the highest, or one drawn with the degrees as probabilities.
    C : float, default=1.0
        Inverse weight of the penalty of a classifier given by name; the larger, the closer the
        fit. Naive Bayes has none.
    max_iter : int or None, default=None
        Largest number of iterations of ``'lr'`` and ``'svm'``; None for scikit-learn's own, 100
        and 1000.
    random_state : int or None, default=None
        Seed of the drawn labels, and of each ``random_state`` of the classifier that is None.

    Attributes
    ----------
    classifier_ : object
        The fitted classifier; one that always predicts the most frequent label where one label
        stands for all rows, or all features are constant.
    labels_ : ndarray of shape (labels seen,)
        Labels that stand for some row.
    diagnostics_ : dict
        ``labels``, the number of these, and ``iterations`` of ``'lr'`` and ``'svm'``.

    References
    ----------
    J. Wang and X. Geng, "Learn the highest label and rest label description degrees",
    International Joint Conference on Artificial Intelligence, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from ldl import SingleLabelClassifier
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> D = np.array([[0.6, 0.4], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
    >>> SingleLabelClassifier(mean_share=None).fit(X, D).predict([[0.5], [12.0]])
    array([[1., 0.],
           [0., 1.]])
    >>> from sklearn.linear_model import LogisticRegression
    >>> of_its_own = SingleLabelClassifier(LogisticRegression(C=0.1), mean_share=None)
    >>> of_its_own.fit(X, D).predict([[0.5]])
    array([[1., 0.]])
    """

    classifier: Literal["lr", "svm", "bayes", "rbf_svm"] | Annotated[Any, FITS] = "lr"
    target: Literal["highest", "drawn"] = "highest"
    C: Positive = 1.0
    max_iter: Count | None = None
    random_state: int | None = None

    def _fit(self, X: np.ndarray, D: np.ndarray) -> None:
        draw_seed, seed = child_seeds(self.random_state, 2)
        target = D.argmax(axis=1) if self.target == "highest" else drawn_labels(D, draw_seed)
        # XGBoost's classifier wants labels without gaps.
        self.labels_, places = np.unique(target, return_inverse=True)
        self.diagnostics_ = {"labels": len(self.labels_)}
        nothing_to_learn = len(self.labels_) == 1 or not np.ptp(X, axis=0).any()
        self.classifier_ = _constant() if nothing_to_learn else self._new_classifier(seed)
        named = isinstance(self.classifier, str)
        with _quiet() if named else nullcontext():
            self.classifier_.fit(X, places, **weights_for(self.classifier_, self._weight(len(D))))
        if named and hasattr(self.classifier_, "n_iter_") and self.classifier in _ITERATIONS:
            self.diagnostics_["iterations"] = int(np.max(self.classifier_.n_iter_))

    def _new_classifier(self, seed: int) -> Any:
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import GaussianNB
        from sklearn.svm import SVC, LinearSVC

        if not isinstance(self.classifier, str):
            classifier = copy_of(self.classifier)
            seed_unset(classifier, seed)
            return classifier
        if self.classifier == "bayes":
            return GaussianNB()
        if self.classifier == "rbf_svm":
            return SVC(C=self.C, random_state=seed)
        iterations = self.max_iter or _ITERATIONS[self.classifier]
        if self.classifier == "lr":
            return LogisticRegression(C=self.C, max_iter=iterations)
        return LinearSVC(C=self.C, max_iter=iterations, random_state=seed)

    def _predict(self, X: np.ndarray) -> np.ndarray:
        places = np.asarray(self.classifier_.predict(X), dtype=np.intp).ravel()
        return np.eye(self.n_labels_)[self.labels_[places]]


def drawn_labels(D: np.ndarray, seed: int) -> np.ndarray:
    """Draw one label for each row, with its degrees as probabilities."""
    thresholds = np.random.default_rng(seed).random((len(D), 1))
    below = (D.cumsum(axis=1) <= thresholds).sum(axis=1)
    # Degrees may sum to a little less than the threshold; the last label with a degree takes that.
    last = D.shape[1] - 1 - (D[:, ::-1] > 0).argmax(axis=1)
    return np.minimum(below, last)


def _constant() -> Any:
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="most_frequent")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep back warnings that the iterations were used up: a stated number of them is meant."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
