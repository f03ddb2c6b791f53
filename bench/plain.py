"""Whole methods as their equations read: what tests hold ours to, and the benchmark times.

No library has these methods. Each class takes the parameters of ours that it needs, and holds
nothing that is there for speed: sums run over rows, pairs and nodes as the papers write them,
gradients of soft trees come from torch, and optimisers and eigenvalues from SciPy. Random draws are
those of our classes, so that equal seeds mean equal models.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

FLOOR = 1e-6
"""Least curvature of a row in boosting."""
GRAM_RIDGE = 1e-3
"""Share of the trace on the diagonal where weights sum to one."""


def softmax(Z: np.ndarray) -> np.ndarray:
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


def with_ones(X: np.ndarray) -> np.ndarray:
    return np.column_stack([X, np.ones(len(X))])


# ---------------------------------------------------------------------- boosting


@dataclass(eq=False)
class AOSOLDLogitBoost:
    """One tree for all labels a round; each node moves its best pair of labels."""

    max_iter: int = 500
    learning_rate: float = 0.1
    max_leaf_nodes: int = 20
    min_samples_leaf: int = 5
    random_state: int | None = None

    def fit(self, X: np.ndarray, D: np.ndarray) -> None:
        self.trees_: list[list[tuple[Any, np.ndarray]]] = []
        self.pairs_ = list(combinations(range(D.shape[1]), 2))
        self.X_ = X
        F = np.zeros_like(D)
        for _ in range(self.max_iter):
            P = softmax(F)
            self.trees_.append(self._grow(X, D - P, P))
            F += self.learning_rate * _outputs(self.trees_[-1], X, D.shape[1])
        self.labels_ = D.shape[1]

    def predict(self, X: np.ndarray) -> np.ndarray:
        total = np.zeros((len(X), self.labels_))
        for tree in self.trees_:
            total += _outputs(tree, X, self.labels_)
        return softmax(self.learning_rate * total)

    def _grow(self, X: np.ndarray, g: np.ndarray, P: np.ndarray) -> list[tuple[Any, np.ndarray]]:
        """Split the leaf with the greatest gain first; return each leaf's conditions and value."""
        r, s = np.array(self.pairs_).T
        pulls = g[:, r] - g[:, s]
        bends = P[:, r] * (1 - P[:, r]) + P[:, s] * (1 - P[:, s]) + 2 * P[:, r] * P[:, s]
        leaves: list[Any] = [(np.arange(len(X)), [], self._best_cut(X, pulls, bends))]
        while len(leaves) < self.max_leaf_nodes:
            i = int(np.argmax([cut[0] for _, _, cut in leaves]))
            rows, way, (_, feature, threshold) = leaves[i]
            if feature < 0:
                break
            below = X[rows, feature] <= threshold
            leaves[i : i + 1] = [
                (
                    rows[side],
                    [*way, (feature, threshold, goes_below)],
                    self._best_cut(X[rows[side]], pulls[rows[side]], bends[rows[side]]),
                )
                for side, goes_below in ((below, True), (~below, False))
            ]
        return [(way, self._step(pulls[rows], bends[rows], g.shape[1])) for rows, way, _ in leaves]

    def _best_cut(
        self, X: np.ndarray, pulls: np.ndarray, bends: np.ndarray
    ) -> tuple[float, int, float]:
        """Try each value of each feature; return the gain, the feature and the threshold."""
        n = len(X)
        whole = self._gains(pulls.sum(axis=0), bends.sum(axis=0), n).max()
        best = (0.0, -1, 0.0)
        for feature in range(X.shape[1]):
            order = np.argsort(X[:, feature], kind="stable")
            values = X[order, feature]
            counts = np.arange(1, n)[:, None]
            a, h = pulls[order].cumsum(axis=0), bends[order].cumsum(axis=0)
            gains = self._gains(a[:-1], h[:-1], counts).max(axis=1) - whole
            gains += self._gains(a[-1] - a[:-1], h[-1] - h[:-1], n - counts).max(axis=1)
            enough = np.minimum(counts, n - counts)[:, 0] >= self.min_samples_leaf
            gains[~enough | (values[1:] == values[:-1])] = -np.inf
            if len(gains) and gains.max() > best[0] * (1 + 1e-9) + 1e-9:
                cut = int(gains.argmax())
                # Halfway to the next value of any row, in this node or not, as histograms have it.
                column = self.X_[:, feature]
                threshold = (values[cut] + column[column > values[cut]].min()) / 2
                best = (gains[cut], feature, threshold)
        return best

    def _gains(self, a: np.ndarray, h: np.ndarray, count: Any) -> np.ndarray:
        return a**2 / np.maximum(h, FLOOR * count)

    def _step(self, pulls: np.ndarray, bends: np.ndarray, labels: int) -> np.ndarray:
        a, h = pulls.sum(axis=0), bends.sum(axis=0)
        best = int(self._gains(a, h, len(pulls)).argmax())
        r, s = self.pairs_[best]
        step = np.zeros(labels)
        step[r] = a[best] / max(h[best], FLOOR * len(pulls))
        step[s] = -step[r]
        return step


def _outputs(tree: list[tuple[Any, np.ndarray]], X: np.ndarray, labels: int) -> np.ndarray:
    found = np.zeros((len(X), labels))
    for way, value in tree:
        here = np.ones(len(X), dtype=bool)
        for feature, threshold, goes_below in way:
            here &= (X[:, feature] <= threshold) == goes_below
        found[here] = value
    return found


# ---------------------------------------------------------------------- neighbours in embeddings


class NearestMean:
    """The mean of the labels of the nearest rows, row by row."""

    def fit(self, X: np.ndarray, D: np.ndarray) -> None:
        self.D_ = D
        self.rows_ = self.embedded(X)

    def embedded(self, X: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def predict(self, X: np.ndarray) -> np.ndarray:
        found = []
        for z in self.embedded(X):
            order = np.argsort(((self.rows_ - z) ** 2).sum(axis=1), kind="stable")
            found.append(self.D_[order[: self.n_neighbors]].mean(axis=0))
        return np.array(found)

    n_neighbors = 5


@dataclass(eq=False)
class MSLP(NearestMean):
    """Directions that keep together what is near in features and in labels, for one candidate."""

    k_plus: int = 10
    alpha: int = 5
    beta: float = 0.5
    lam: float = 0.01
    u: float = 0.3
    n_neighbors: int = 5
    random_state: int | None = None

    def fit(self, X: np.ndarray, D: np.ndarray) -> None:
        n, q = X.shape
        attract, repel = np.zeros((n, n)), np.zeros((n, n))
        k = self.k_plus
        for i in range(n):
            near = [j for j in _by_distance(X, i) if j != i][: self.alpha * k]
            by_label = sorted(near, key=lambda j: ((D[i] - D[j]) ** 2).sum())
            for j in by_label[:k]:
                attract[i, j] = attract[j, i] = 1.0
            for j in set(near[:k]) & set(by_label[-k:]):
                repel[i, j] = repel[j, i] = 1.0
        squares = ((D[:, None] - D[None]) ** 2).sum(axis=2)
        attract *= np.exp(-squares / squares[attract > 0].mean())
        spread = X.T @ np.diag(attract.sum(axis=1)) @ X
        pull = X.T @ (np.diag(attract.sum(axis=1)) - attract) @ X
        push = X.T @ (np.diag(repel.sum(axis=1)) - repel) @ X
        A = self.beta * pull - (1 - self.beta) * push + self.lam * np.eye(q)
        directions = _smallest(A, spread)
        self.directions_ = directions[:, : max(1, round(self.u * q))]
        super().fit(X, D)

    def embedded(self, X: np.ndarray) -> np.ndarray:
        return X @ self.directions_


@dataclass(eq=False)
class PCAKNN(NearestMean):
    """Leading principal axes."""

    u: float = 0.3
    n_neighbors: int = 5
    random_state: int | None = None

    def fit(self, X: np.ndarray, D: np.ndarray) -> None:
        self.mean_ = X.mean(axis=0)
        axes = np.linalg.svd(X - self.mean_, full_matrices=False)[2]
        self.directions_ = axes[: max(1, round(self.u * X.shape[1]))].T
        super().fit(X, D)

    def embedded(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) @ self.directions_


@dataclass(eq=False)
class LPPKNN(NearestMean):
    """Locality preserving projections of principal axes, for one candidate."""

    u: float = 0.3
    n_neighbors: int = 5
    pca_keep: float = 0.98
    graph_neighbors: int = 5
    random_state: int | None = None

    def fit(self, X: np.ndarray, D: np.ndarray) -> None:
        self.mean_ = X.mean(axis=0)
        _, lengths, axes = np.linalg.svd(X - self.mean_, full_matrices=False)
        share = np.cumsum(lengths**2) / (lengths**2).sum()
        axes = axes[: int(np.searchsorted(share, self.pca_keep) + 1)].T
        A, B = self._problem(X, (X - self.mean_) @ axes)
        size = max(1, round(self.u * X.shape[1]))
        self.directions_ = axes @ _smallest(A, B)[:, :size]
        super().fit(X, D)

    def _problem(self, X: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        W = np.zeros((len(X), len(X)))
        for i in range(len(X)):
            for j in [j for j in _by_distance(X, i) if j != i][: self.graph_neighbors]:
                W[i, j] = W[j, i] = 1.0
        squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        W *= np.exp(-squares / squares[W > 0].mean())
        G = np.diag(W.sum(axis=1))
        return Z.T @ (G - W) @ Z, Z.T @ G @ Z

    def embedded(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) @ self.directions_


class NPEKNN(LPPKNN):
    """Neighbourhood preserving embedding of principal axes, for one candidate."""

    def _problem(self, X: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rest = np.eye(len(X))
        for i in range(len(X)):
            near = [j for j in _by_distance(X, i) if j != i][: self.graph_neighbors]
            rest[i, near] -= weights_that_sum_to_one(X[near] - X[i])
        return Z.T @ rest.T @ rest @ Z, Z.T @ Z


@dataclass(eq=False)
class CCAKNN(NearestMean):
    """Directions most correlated with the labels, for one ridge."""

    ridge: float = 1e-3
    n_neighbors: int = 5
    random_state: int | None = None

    def fit(self, X: np.ndarray, D: np.ndarray) -> None:
        self.mean_ = X.mean(axis=0)
        centred, labels, n = X - self.mean_, D - D.mean(axis=0), len(X)
        C = centred.T @ centred / n
        crossed = centred.T @ labels / n
        A = crossed @ np.linalg.pinv(labels.T @ labels / n, rcond=1e-8) @ crossed.T
        B = C + self.ridge * np.trace(C) * np.eye(len(C))
        self.directions_ = _smallest(-A, B)[:, : D.shape[1] - 1]
        super().fit(X, D)

    def embedded(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) @ self.directions_


def _by_distance(X: np.ndarray, i: int) -> np.ndarray:
    return np.argsort(((X - X[i]) ** 2).sum(axis=1), kind="stable")


def _smallest(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the solutions of A v = eta B v on the range of B, smallest eta first."""
    from scipy.linalg import eigh

    values, vectors = np.linalg.eigh(B)
    basis = vectors[:, values > 1e-10 * values.max()]
    return basis @ eigh(basis.T @ A @ basis, basis.T @ B @ basis)[1]


def weights_that_sum_to_one(apart: np.ndarray) -> np.ndarray:
    """Return the weights of other points that rebuild this one, from the differences to them."""
    gram = apart @ apart.T
    gram += GRAM_RIDGE * np.trace(gram) * np.eye(len(gram))
    found = np.linalg.solve(gram, np.ones(len(gram)))
    return found / found.sum()


# ---------------------------------------------------------------------- linear models


@dataclass(eq=False)
class LDLCL:
    """Softmax model whose labels are mixed by a sparse reconstruction of one another."""

    collaboration: float = 0.5
    sparsity: float = 0.1
    alpha: float = 1e-3
    max_iter: int = 300
    random_state: int | None = None

    def fit(self, X: np.ndarray, D: np.ndarray) -> None:
        c = D.shape[1]
        S = np.zeros((c, c))
        for j in range(c):
            others = [k for k in range(c) if k != j]
            S[others, j] = _lasso(D[:, others], D[:, j], self.sparsity)
        self.mixing_ = (1 - self.collaboration) * np.eye(c) + self.collaboration * S
        ones = with_ones(X)

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            W = flat.reshape(-1, c)
            P = softmax(ones @ W)
            mixed = np.maximum(P @ self.mixing_, 1e-9)
            totals = mixed.sum(axis=1, keepdims=True)
            value = -(D * np.log(mixed / totals)).sum() + self.alpha / 2 * (W**2).sum()
            by_P = ((1 / totals - D / mixed) * (P @ self.mixing_ > 1e-9)) @ self.mixing_.T
            by_Z = P * (by_P - (P * by_P).sum(axis=1, keepdims=True))
            return value, (ones.T @ by_Z + self.alpha * W).ravel()

        self.W_ = _minimised(objective, np.zeros(ones.shape[1] * c), self.max_iter).reshape(-1, c)

    def predict(self, X: np.ndarray) -> np.ndarray:
        mixed = np.maximum(softmax(with_ones(X) @ self.W_) @ self.mixing_, 1e-9)
        return mixed / mixed.sum(axis=1, keepdims=True)


def _lasso(A: np.ndarray, b: np.ndarray, share: float) -> np.ndarray:
    """Minimise ``1/2 |A s - b|^2 + penalty |s|_1``, one coordinate after the other."""
    gram, products = A.T @ A, A.T @ b
    penalty = share * max(products.max(), 0.0)
    s = np.zeros(A.shape[1])
    for _ in range(10_000):
        before = s.copy()
        for k in range(len(s)):
            pull = products[k] - gram[k] @ s + gram[k, k] * s[k]
            s[k] = np.sign(pull) * max(abs(pull) - penalty, 0.0) / gram[k, k]
        if np.abs(s - before).max() <= 1e-12:
            break
    return s


@dataclass(eq=False)
class LDLLDM:
    """Softmax model drawn to the manifold of the labels, here that of all rows alone."""

    alpha: float = 1e-3
    global_weight: float = 1.0
    max_iter: int = 300
    random_state: int | None = None

    def fit(self, X: np.ndarray, D: np.ndarray) -> None:
        c = D.shape[1]
        Z = np.zeros((c, c))
        for j in range(c):
            others = [k for k in range(c) if k != j]
            Z[others, j] = weights_that_sum_to_one((D[:, others] - D[:, [j]]).T)
        rest = np.eye(c) - Z
        ones = with_ones(X)

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            W = flat.reshape(-1, c)
            P = softmax(ones @ W)
            away = P @ rest
            value = -(D * np.log(P)).sum() + self.global_weight * (away**2).sum()
            by_P = 2 * self.global_weight * away @ rest.T
            by_Z = P - D + P * (by_P - (P * by_P).sum(axis=1, keepdims=True))
            value += self.alpha / 2 * (W**2).sum()
            return value, (ones.T @ by_Z + self.alpha * W).ravel()

        start = np.eye(ones.shape[1], c).ravel()
        self.W_ = _minimised(objective, start, self.max_iter).reshape(-1, c)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return softmax(with_ones(X) @ self.W_)


def _minimised(objective: Any, start: np.ndarray, max_iter: int) -> np.ndarray:
    from scipy.optimize import minimize

    options = {"maxiter": max_iter, "maxfun": 100 * max_iter, "ftol": 2.22e-9, "gtol": 1e-6}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x)


# ---------------------------------------------------------------------- soft forests


@dataclass(eq=False)
class SoftForest:
    """Soft trees above a linear map, trained by torch's derivatives; leaves by the papers' bounds.

    ``leaves`` is 'distributions' (LDLF, DLDLF) or 'gaussians' (DRF).
    """

    leaves: str = "distributions"
    n_estimators: int = 5
    depth: int = 6
    units: int = 128
    max_iter: int = 6000
    batch_size: int = 16
    leaf_batches: int = 50
    leaf_repeats: int = 20
    learning_rate: float = 0.05
    drop_every: int = 2000
    temperature: float = 0.0
    tau: float = 0.5
    random_state: int | None = None

    def fit(self, X: np.ndarray, D: np.ndarray) -> None:
        import torch

        from ldl.base import child_seeds
        from ldl.soft_forests._linear import batches
        from ldl.soft_forests._routing import draw_phi

        torch.set_num_threads(1)
        leaf_seed, seed = child_seeds(self.random_state, 2)
        phi_seed, map_seed, batch_seed, _ = child_seeds(seed, 4)
        phi_draws = np.random.default_rng(phi_seed)
        self.phi_ = draw_phi(self.n_estimators, self.depth, self.units, phi_draws)
        self.mean_, spread = X.mean(axis=0), X.std(axis=0)
        self.factor_ = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1), 0)
        rows = torch.from_numpy((X - self.mean_) * self.factor_)
        reach = np.sqrt(6 / (X.shape[1] + self.units))
        first = np.random.default_rng(map_seed).uniform(-reach, reach, (X.shape[1], self.units))
        self.W_ = torch.from_numpy(first).requires_grad_()
        self.b_ = torch.zeros(self.units, dtype=torch.float64, requires_grad=True)
        self.labels_ = D.shape[1]
        self._start(D, leaf_seed)
        optimiser = torch.optim.SGD([self.W_, self.b_], self.learning_rate, momentum=0.9)
        draws = batches(len(X), self.batch_size, False, np.random.default_rng(batch_seed))
        queue: list[int] = []
        temperature, tau = self.temperature, self.tau
        for iteration in range(1, self.max_iter + 1):
            batch = next(draws)
            queue += batch.tolist()
            P = self._routed(rows[batch])
            loss = self._loss(P, batch)
            loss = loss + temperature * (P * P.log()).sum(1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if iteration % self.drop_every == 0:
                optimiser.param_groups[0]["lr"] /= 2
            if iteration % self.leaf_batches == 0 or iteration == self.max_iter:
                with torch.no_grad():
                    P = self._routed(rows[queue])
                    for _ in range(self.leaf_repeats):
                        self._leaf_step(P, queue, tau)
                queue = []
                tau = min(1.0, tau / 0.9)
                temperature = 0.9 * temperature if 0.9 * temperature >= 1e-4 else 0.0

    def _routed(self, rows: Any) -> Any:
        """Return the probability of every leaf, (trees, leaves, rows), node by node."""
        import torch

        s = torch.sigmoid(rows @ self.W_ + self.b_)
        trees = []
        for phi in self.phi_:
            reached = [torch.ones(len(rows), dtype=torch.float64)]
            for level in range(self.depth - 1):
                asked = [s[:, phi[2**level - 1 + j]] for j in range(2**level)]
                left = [p * ask for p, ask in zip(reached, asked, strict=True)]
                right = [p * (1 - ask) for p, ask in zip(reached, asked, strict=True)]
                reached = left + right
            trees.append(torch.stack(reached))
        return torch.stack(trees)

    def _start(self, D: np.ndarray, seed: int) -> None:
        import torch

        from ldl import DRF

        if self.leaves == "distributions":
            self.D_ = torch.from_numpy(D)
            leaves = 2 ** (self.depth - 1)
            self.Q_ = torch.full(
                (self.n_estimators, leaves, self.labels_), 1 / self.labels_
            ).double()
            return
        twin = DRF(n_estimators=self.n_estimators, depth=self.depth)
        numbers = twin._standardise(D)
        self.y_ = torch.from_numpy(numbers)
        self.shift_, self.scale_ = twin.shift_, twin.scale_
        drawn = twin._first_leaves(numbers, np.random.default_rng(seed), dtype=torch.float64)
        self.centres_, self.variances_ = drawn.mean, drawn.variance
        self.least_ = drawn.least_variance

    def _loss(self, P: Any, batch: Any) -> Any:
        """Return the mean over trees and rows of minus the logarithm of the likelihood."""
        if self.leaves == "gaussians":
            return -(P * self._densities(self.y_[batch])).sum(1).log().mean()
        mixed = self.Q_.transpose(1, 2) @ P
        return -(self.D_[batch].T * mixed.log()).sum(1).mean()

    def _densities(self, y: Any) -> Any:
        import torch

        apart = (y - self.centres_) ** 2 / self.variances_
        return torch.exp(-apart / 2) / torch.sqrt(2 * torch.pi * self.variances_)

    def _leaf_step(self, P: Any, queue: list[int], tau: float) -> None:
        if self.leaves == "distributions":
            D = self.D_[queue]
            for tree, probabilities in enumerate(P):
                Q = self.Q_[tree]
                new = Q * (probabilities @ (D / (probabilities.T @ Q)))
                self.Q_[tree] = (new / new.sum(1, keepdim=True)).clamp(min=1e-12)
            return
        y = self.y_[queue]
        shares = (P * self._densities(y)) ** tau
        shares = shares / shares.sum(1, keepdim=True)
        total = shares.sum(2, keepdim=True)
        self.centres_ = (shares * y).sum(2, keepdim=True) / total
        spread = (shares * (y - self.centres_) ** 2).sum(2, keepdim=True) / total
        self.variances_ = spread.clamp(min=self.least_)

    def predict(self, X: np.ndarray) -> np.ndarray:
        import torch

        with torch.no_grad():
            P = self._routed(torch.from_numpy((X - self.mean_) * self.factor_))
            table = self.Q_ if self.leaves == "distributions" else self._as_distributions()
            return (table.transpose(1, 2) @ P).mean(0).T.numpy()

    def _as_distributions(self) -> Any:
        """Return each leaf's mass between the middles of the labels; the ends take the rest."""
        import torch

        edges = (torch.arange(self.labels_ - 1) + 0.5 - self.shift_) / self.scale_
        below = torch.special.ndtr((edges - self.centres_) / self.variances_.sqrt())
        ends = [torch.zeros_like(below[..., :1]), torch.ones_like(below[..., :1])]
        return torch.diff(torch.cat([ends[0], below, ends[1]], 2), dim=2)
