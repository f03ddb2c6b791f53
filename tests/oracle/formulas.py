"""Methods as their papers or releases have them, where the library's defaults are others."""

from functools import partial

from ldl import LDLHR, LDSVR, SABFGS, PTBayes
from tests.oracle.settings import as_stated

sa_bfgs = partial(
    as_stated,
    SABFGS,
    standardise=False,
    fit_intercept=False,
    alpha=0.0,
    init="identity",
    pairs=20,
    tol=0.0,
)
ldl_hr = partial(as_stated, LDLHR, standardise=False, alpha=1e-4, margin_weight=1e4, max_iter=1000)
ldsvr = partial(as_stated, LDSVR, C=1.0, epsilon=0.1, width=1.0)
pt_bayes = partial(as_stated, PTBayes, covariance_type="full", worth=None)
