"""Methods on s-JAFFE as it is published: their scores lie where the papers or earlier probes have
them."""

import numpy as np
import pytest

from ldl import AAKNN, CCAKNN, MSLP, PCAKNN, PTSVM, SAIIS
from ldl.metrics import kl
from tests.oracle.papers import ldl_hr, ldsvr, pt_bayes, sa_bfgs

UNIFORM = 0.0738
DRAWN = {"transformation": "resample", "platt_split": "pairs", "random_state": 0}


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("model", "lowest", "highest"),
    [
        (AAKNN(n_neighbors=5), 0.0490, 0.0545),  # over fold seeds, before our code was written
        (PCAKNN(u=0.3), 0.050, 0.056),  # the paper prints 0.0528, the probe found 0.0531
        (CCAKNN(ridge=1e-3), 0.040, 0.048),  # the paper prints 0.0725, the probe found 0.0440
        (CCAKNN(ridge=1e-6), 0.080, 0.100),  # the probe found 0.0904
        (SAIIS(max_iter=10), 0.070, 0.075),
        (SAIIS(max_iter=200), 0.057, 0.065),
        (sa_bfgs(max_iter=100), 0.036, 0.046),  # stopped late, one fit overfits
        (sa_bfgs(max_iter=300), 0.038, 0.050),
        (sa_bfgs(max_iter=1000), 0.058, 0.075),
        (ldsvr(), 0.064, 0.071),
        (ldl_hr(), 0.055, 0.070),  # printed: 0.0648
        # A setting picked on the test folds gave 0.0462; the paper prints 0.0451.
        (MSLP(k_plus=10, alpha=5, beta=0.5, lam=0.01, u=0.1, n_neighbors=5), 0.044, 0.050),
        # The paper's cells are those of the uniform prediction.
        (pt_bayes("resample", domain="density", random_state=0), UNIFORM - 2e-4, UNIFORM + 2e-4),
        # In the order of their appearance columns cost what the paper prints, 0.0787.
        (PTSVM(column_order="sorted", **DRAWN), 0.0, UNIFORM),
        (PTSVM(column_order="first_appearance", **DRAWN), UNIFORM, 0.09),
    ],
    ids=repr,
)
def test_mean_kl_over_ten_folds_is_where_it_was_found(real_data, model, lowest, highest):
    data = real_data("sjaffe")
    scores = []
    for test in np.array_split(np.random.default_rng(0).permutation(len(data.D)), 10):
        train = np.setdiff1d(np.arange(len(data.D)), test)
        P = model.fit(data.X[train], data.D[train]).predict(data.X[test])
        scores.append(kl(data.D[test], P))
    assert lowest <= np.mean(scores) <= highest
