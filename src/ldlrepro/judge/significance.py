"""Tests of significance: of methods over data sets, and of two methods over folds.

The tests are SciPy's, but for Holm's correction, which is faster here; the corrected t test is
``ldl.comparison``'s. Beside them stands only what they are asked, and when an
answer would mean nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ALPHA = 0.05


@dataclass(frozen=True)
class Ranking:
    """Methods compared over data sets in one measure."""

    ranks: dict[str, float]
    """Average rank, the best first; empty where no data set has numbers of all methods."""
    datasets: tuple[str, ...]
    """Those that have numbers of all methods."""
    by_family: Mapping[str, float] = field(default_factory=dict)
    """Average rank where a family of data sets counts once, the best first."""
    friedman: float | None = None
    """p of the Friedman test; None for two methods, and where too few data sets are there."""
    p: Any = None
    """Wilcoxon signed rank with Holm's correction, a pandas table of methods by methods; all 1
    where the Friedman test sees no difference at all."""
    refusal: str = ""
    """Why there is no test."""

    def differ(self, one: str, other: str) -> bool:
        return bool(self.p is not None and self.p.loc[one, other] <= ALPHA)


def independent(datasets: Iterable[str], families: Mapping[str, str]) -> int:
    """Count data sets, those of one family once: tests over data sets take each for independent."""
    return len({families.get(name) or name for name in datasets})


def fewest_datasets(comparisons: int) -> int:
    """Return the number of data sets below which no comparison can be significant.

    Over n data sets the exact Wilcoxon test cannot give less than 2 ** -(n - 1), and Holm
    multiplies the smallest of all p by the number of comparisons.
    """
    return 1 + math.ceil(math.log2(comparisons / ALPHA))


def ranking(
    names: Sequence[str],
    losses: Mapping[str, Mapping[str, float]],
    families: Mapping[str, str],
    *,
    control: str = "",
    tested: bool = True,
) -> Ranking:
    """Compare ``names`` over the data sets of ``losses`` (data set -> name -> loss).

    Ranks are averaged over all data sets. Tests take data sets to be independent, so a family of
    them (data set -> family) counts once, with the mean loss of its members. All pairs are tested,
    or only ``control`` with each of the others: fewer comparisons, so that Holm's correction costs
    less.
    """
    import pandas as pd

    complete = {d: [row[n] for n in names] for d, row in losses.items() if set(names) <= set(row)}
    if not complete:
        missing = [n for n in names if not any(n in row for row in losses.values())]
        text = f"no numbers of {', '.join(missing)}" if missing else "no data set has all methods"
        return Ranking({}, (), refusal=text)
    table = pd.DataFrame.from_dict(complete, orient="index", columns=list(names))
    of_family = [families.get(name) or name for name in table.index]
    places = table.rank(axis=1)
    ranks = _ordered(places.mean())
    by_family = _ordered(places.groupby(of_family, sort=False).mean().mean())
    datasets, k = tuple(complete), len(names)
    apart = table.groupby(of_family, sort=False).mean()
    refusal = _too_few(len(apart), k - 1 if control else k * (k - 1) // 2)
    if refusal or not tested:
        return Ranking(ranks, datasets, by_family, refusal=refusal)
    friedman = _friedman(apart)
    p = _wilcoxon(apart, control)
    if friedman is not None and friedman > ALPHA:
        p.loc[:, :] = 1.0
    return Ranking(ranks, datasets, by_family, friedman, p)


def _ordered(means: Any) -> dict[str, float]:
    """Return average ranks by name, the best first."""
    return {str(name): float(mean) for name, mean in means.sort_values(kind="stable").items()}


def _too_few(datasets: int, comparisons: int) -> str:
    needed = fewest_datasets(comparisons)
    if datasets >= needed:
        return ""
    what = "one comparison" if comparisons == 1 else f"{comparisons} comparisons"
    return (
        f"Wilcoxon with Holm's correction over {what} needs at least {needed} independent data "
        f"sets; {datasets} {'is' if datasets == 1 else 'are'} there"
    )


def _friedman(table: Any) -> float | None:
    if table.shape[1] < 3:
        return None
    from scipy.stats import friedmanchisquare

    if (table.nunique(axis=1) == 1).all():
        return 1.0  # everything ties, where the statistic is 0 / 0
    return float(friedmanchisquare(*(table[name] for name in table)).pvalue)


def _wilcoxon(table: Any, control: str) -> Any:
    """Test pairs by the exact distribution throughout, which with ties is only near.

    The normal one cannot reach small p over few data sets, and SciPy's permutations take seconds
    for each pair.
    """
    import numpy as np
    import pandas as pd
    from scipy.stats import wilcoxon

    names = list(table)
    if control:
        pairs = [(control, name) for name in names if name != control]
    else:
        pairs = list(itertools.combinations(names, 2))
    gaps = np.column_stack([table[one] - table[other] for one, other in pairs])
    found = wilcoxon(gaps, method="exact", zero_method="zsplit").pvalue
    p = pd.DataFrame(np.eye(len(names)), index=names, columns=names)
    if control:
        p.loc[:, :] = math.nan  # pairs of others are not compared
    for (one, other), value in zip(pairs, holm(found.tolist()), strict=True):
        p.loc[one, other] = p.loc[other, one] = value
    return p


def holm(p: Sequence[float]) -> list[float]:
    """Correct the p of a family of comparisons.

    The smallest p counts as often as there are comparisons, the next one time less, and none less
    than one before it. Ours, for that of statsmodels collects garbage in every call, which took
    more than half the time of judging a paper; a test holds the two against each other.
    """
    order = sorted(range(len(p)), key=p.__getitem__)
    corrected = [0.0] * len(p)
    greatest = 0.0
    for place, index in enumerate(order):
        greatest = max(greatest, float(p[index]) * (len(p) - place))
        corrected[index] = min(greatest, 1.0)
    return corrected
