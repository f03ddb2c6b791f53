"""Standings of the arena, by its records: who leads, by how much, at what cost, how sure.

The data sets of one family share their rows, so a family counts as one everywhere. Raw divergences
are never averaged over data sets: a method's loss is divided by that of the training mean first.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ldl.comparison.contenders import MEAN
from ldl.comparison.result import titled
from ldl.comparison.search import KINDS
from ldl.metrics import BETTER, better
from ldlrepro.arena.toolbox import FAMILY, OPTIONAL
from ldlrepro.core.errors import UserError
from ldlrepro.judge.verdicts import listed, percent

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[Any, Any]
BASE, BASE_ELO = "RFRegression, default", 1000.0
"""The method that has this Elo rating by definition."""
TIED = 6
"""Decimals of ratings and gains; what differs below is rounding noise."""
SELDOM = 0.1
"""Share of data sets on which an estimator may be worse than the training mean by default."""
ENOUGH = 4
"""Families from which on draws of them tell how sure a rating is."""
DRAWS, SEED = 500, 2026
"""Drawn sets of families behind each interval."""


def tables(results: Path, reference: Path) -> dict[str, Path]:
    """Return the table of each data set: the local one, else the maintainers'."""
    found: dict[str, Path] = {}
    for folder in (reference, results):
        paths = sorted((folder / "arena").glob("*/scores.csv"))
        found |= {path.parent.name: path for path in paths}
    return found


def read(paths: Mapping[str, Path]) -> pd.DataFrame:
    """Return all rows of the arena, with a column for the data set."""
    import pandas as pd

    if not paths:
        raise UserError("nothing has run in the arena yet: snakemake --cores all arena")
    frames = [pd.read_csv(path).assign(dataset=name) for name, path in paths.items()]
    return pd.concat(frames, ignore_index=True)


def cpu_seconds(table: Path) -> float:
    """Return the CPU time of a table's fits and predictions; a search serves several rows."""
    rows = read({"": table})
    searches = rows.drop_duplicates(["method", "fold"])["search_s"]
    return float(searches.sum() + rows[["fit_s", "predict_s"]].sum().sum())


@dataclass(frozen=True)
class Standings:
    """Methods, in their kinds, compared over data sets on which all of them ran."""

    rows: pd.DataFrame
    families: Mapping[str, str]
    """Data set -> its family, where it has one."""
    measure: str = "kl"

    def __post_init__(self) -> None:
        if better(self.measure) == "higher":
            low = ", ".join(name for name in BETTER if better(name) == "lower")
            raise UserError(f"only losses are compared over several data sets. Choose from: {low}")

    def on(self, datasets: Iterable[str]) -> Standings:
        """Return the standings on some of the data sets."""
        return replace(self, rows=self.rows[self.rows["dataset"].isin(list(datasets))])

    @cached_property
    def unfinished(self) -> list[str]:
        """Data sets on which some method has not run, and which do not count for that.

        Methods of packages that `make setup` does not install are not waited for.
        """
        absent = (self.rows["family"] == FAMILY) | self.rows["method"].isin(OPTIONAL)
        awaited = self.rows[~absent]
        ran = awaited.groupby("dataset")["method"].nunique()
        return sorted(ran[ran < awaited["method"].nunique()].index)

    @cached_property
    def counted(self) -> pd.DataFrame:
        """The rows of data sets that count, and of methods that ran on all of these."""
        rows = self.rows[~self.rows["dataset"].isin(self.unfinished)]
        ran = rows.groupby("method")["dataset"].transform("nunique")
        return rows[ran == rows["dataset"].nunique()]

    @cached_property
    def losses(self) -> pd.DataFrame:
        """Mean loss over folds as a share of the training mean's: data sets by methods.

        A kind that did not run on a data set counts as the defaults there.
        """
        import pandas as pd

        rows = self.counted
        if rows.empty:
            raise UserError("no data set has every method yet: snakemake --cores all arena")
        wide = rows.pivot_table(self.measure, "dataset", ["method", "kind"], aggfunc="mean")
        floor = wide[MEAN, "default"]
        shares = {f"{MEAN}, default": floor / floor}
        for method in rows["method"].unique():
            for kind in KINDS:
                if method != MEAN and (method, kind) in wide:
                    values = wide[method, kind].fillna(wide[method, "default"])
                    shares[f"{method}, {kind}"] = values / floor
        return pd.DataFrame(shares)

    @cached_property
    def family(self) -> pd.Series:
        """The family of each data set; one without a family is its own."""
        import pandas as pd

        names = self.losses.index
        return pd.Series([self.families.get(name, name) for name in names], index=names)

    @cached_property
    def by_family(self) -> pd.DataFrame:
        """Mean logarithm of the share of the loss: families by methods."""
        logs = self.losses.clip(lower=1e-6).apply(np.log)
        return logs.groupby(self.family).mean()

    @cached_property
    def wins_in(self) -> dict[str, np.ndarray]:
        """Family -> how often the method of a row beats that of a column there, at most once."""
        found = {}
        for name in self.by_family.index:
            values = self.losses[self.family == name].to_numpy()
            ahead = values[:, :, None] < values[:, None, :]
            equal = values[:, :, None] == values[:, None, :]
            found[name] = (ahead + 0.5 * equal).mean(axis=0)
        return found

    def wins(self, families: Sequence[str]) -> np.ndarray:
        """Return how often the method of a row beats that of a column, families counting alike."""
        return np.sum([self.wins_in[name] for name in families], axis=0)

    @cached_property
    def strengths(self) -> np.ndarray:
        """Logarithms of the strengths of the Bradley-Terry model for the wins on all families."""
        names = list(self.by_family.index)
        return self._strengths(names, np.zeros(len(self.losses.columns)))

    def elo(self, families: Sequence[str]) -> np.ndarray:
        """Return Elo ratings for the wins on families."""
        rating = 400.0 / math.log(10) * self._strengths(families, self.strengths)
        return np.asarray(rating - rating[list(self.losses.columns).index(BASE)] + BASE_ELO)

    def _strengths(self, families: Sequence[str], logs: np.ndarray) -> np.ndarray:
        """Climb from logarithms of strengths to those whose likelihood is highest.

        Their likelihood is concave, so Newton's steps find its top.
        """
        wins = self.wins(families) + 0.1  # nobody wins or loses without end
        np.fill_diagonal(wins, 0.0)
        games = wins + wins.T
        for _ in range(100):
            chances = 1 / (1 + np.exp(logs[None, :] - logs[:, None]))
            slope = wins.sum(axis=1) - (games * chances).sum(axis=1)
            curved = games * chances * (1 - chances)
            curvature = np.diag(curved.sum(axis=1)) - curved + 1 / len(wins)  # the sum stays zero
            step = np.linalg.solve(curvature, slope)
            logs = logs + step / max(1.0, np.abs(step).max())
            if np.abs(step).max() < 1e-6:
                break
        return logs

    @cached_property
    def table(self) -> pd.DataFrame:
        """A line for each method and kind, the best by Elo first."""
        import pandas as pd

        names = list(self.by_family.index)
        generator = np.random.default_rng(SEED)
        draws = Counter(tuple(sorted(generator.choice(names, len(names)))) for _ in range(DRAWS))
        drawn = np.repeat([self.elo(draw) for draw in draws], list(draws.values()), axis=0)
        low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
        enough = len(names) >= ENOUGH
        if not enough:
            low = high = np.full(len(low), np.nan)
        elo = self.elo(names).round(TIED)
        ahead = drawn - drawn[:, [elo.argmax()]]
        wins = self.wins(names)
        np.fill_diagonal(wins, 0.0)
        best = self.losses.min(axis=1)
        improvable = (1 - self.losses.rdiv(best, axis=0)).groupby(self.family).mean().mean()
        paid = costs(self.rows)
        found = pd.DataFrame(
            {
                "method": self.losses.columns,
                "elo": elo,
                "low": low,
                "high": high,
                "tied": enough & (np.quantile(ahead, 0.975, axis=0) > 0),
                "win_rate": wins.sum(axis=1) / (len(names) * (len(wins) - 1)),
                "gain": (1 - np.exp(self.by_family.mean().to_numpy())).round(TIED),
                "improvability": improvable.to_numpy(),
                "leads": self._leads(),
            }
        )
        for cost in paid:
            found[cost] = [
                paid[cost].get((method_of(name), name.partition(", ")[2]), np.nan)
                for name in self.losses.columns
            ]
        found = found.sort_values(["elo", "gain", "method"], ascending=[False, False, True])
        return found.reset_index(drop=True)

    def _leads(self) -> list[float]:
        """Return on how many families each method is the best."""
        first = self.by_family.idxmin(axis=1)
        return [float((first == name).sum()) for name in self.losses.columns]

    @cached_property
    def halves(self) -> tuple[float, float]:
        """Return how well half of the families foretell the other half.

        These are, over all halves: the share in which one method leads both, and the mean rank
        correlation of all methods.
        """
        from scipy.stats import spearmanr

        logs = self.by_family
        size, names = len(logs) // 2, range(len(logs))
        same, correlations = [], []
        for half in itertools.combinations(names, size):
            rest = [name for name in names if name not in half]
            one, other = (logs.iloc[list(part)].mean().to_numpy() for part in (half, rest))
            same.append(one.argmin() == other.argmin())
            correlations.append(spearmanr(one, other).statistic)
        return float(np.mean(same)), float(np.mean(correlations))


def costs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the median seconds of each method and kind."""
    spent = rows.assign(searched=rows["kind"] != "default")
    spent["cost_s"] = spent["fit_s"] + spent["search_s"] * spent["searched"]
    paid = ["cost_s", "fit_s", "predict_s", "search_s"]
    return spent.groupby(["method", "kind"])[paid].median()


def method_of(name: str) -> str:
    """Return the method of a method and kind."""
    return name.partition(",")[0]


def spoken(name: str) -> str:
    """Return a method and kind as they stand in a sentence: StructRF (tuned)."""
    method, comma, kind = name.partition(", ")
    return f"{method} ({kind})" if comma else method


def best_of_each(lines: Iterable[Row]) -> list[Row]:
    """Return the first line of each method, which is that of its best kind."""
    found: dict[str, Row] = {}
    for line in lines:
        found.setdefault(method_of(line["method"]), line)
    return list(found.values())


def lines(board: Standings) -> list[dict[str, str]]:
    """Return a line for each method and kind, the best first; few families give no interval."""
    few = len(board.by_family) < ENOUGH
    tied = {row["method"] for row in rivals(board)[1]}
    return [
        {
            "method": row["method"],
            "elo": f"{row['elo']:.0f}",
            "95% interval": "" if few else f"{row['low']:.0f} to {row['high']:.0f}",
            "tied": "yes" if row["method"] in tied else "",
            "gain over mean": f"{round(row['gain'], 2) + 0.0:.0%}",
            "CPU s": "" if math.isnan(row["cost_s"]) else f"{row['cost_s']:.2g}",
            "families led": f"{row['leads']:.0f}",
            "win rate": f"{row['win_rate']:.0%}",
            "improvability": f"{row['improvability']:.0%}",
            "fit s": f"{row['fit_s']:.2g}",
            "predict s": f"{row['predict_s']:.2g}",
            "search s": f"{row['search_s']:.2g}",
        }
        for row in board.table.to_dict("records")
    ]


def rivals(board: Standings) -> tuple[Row, list[Row], list[Row]]:
    """Return the best method, those tied with it, and all others but the mean.

    A method is tied that is ahead of the best one in more than 2.5% of the draws of families.
    """
    first, *lines = best_of_each(board.table.to_dict("records"))
    others = [row for row in lines if method_of(row["method"]) != MEAN]
    return first, [row for row in others if row["tied"]], others


def headline(board: Standings) -> str:
    """Say who leads, by how much, at what cost, and who is tied."""
    first, near, others = rivals(board)
    families = len(board.by_family)
    of = f"{families} families" if families > 1 else "one family"
    said = (
        f"{spoken(first['method'])} wins most often over {len(board.losses)} public "
        f"sets of {of}. Its {titled(board.measure)} is "
        f"{first['gain']:.0%} below that of the training mean (geometric mean over families); "
        f"search and fit take {first['cost_s']:.2g} s of CPU time. "
    )
    if families < ENOUGH:
        return f"{said}So few families cannot tell how sure that is."
    if not near:
        return f"{said}It leads in nearly all draws of such families."
    names = listed([method_of(row["method"]) for row in near])
    return f"{said}Of {len(others)} other methods {len(near)} cannot be told from it: {names}."


def sentence(board: Standings) -> str:
    """Say who leads, by how much, at what cost, and how sure that is."""
    said, families = headline(board), len(board.by_family)
    if rivals(board)[1]:
        said += f" Each is ahead in more than 2.5% of {DRAWS} random draws of the families."
    if families >= ENOUGH:
        leads, rho = board.halves
        said += (
            " Two halves of the families order the methods alike (rank correlation "
            f"{rho:.2f}), but agree on the leader in {leads:.0%} of the splits."
        )
    if board.unfinished:
        said += f" Not counted, for not every method has run: {', '.join(board.unfinished)}."
    late = set(board.rows["method"]) - set(board.counted["method"])
    if late:
        said += f" Not counted yet, for they have not run on all sets: {listed(sorted(late))}."
    return said


def of_library(board: Standings) -> list[str]:
    """Return the estimators of the library that count, by their class names."""
    import ldl

    named = board.counted["method"].unique()
    return [name for name in named if hasattr(ldl, name) and name != MEAN]


def _excess(board: Standings) -> pd.DataFrame:
    """Return by what share the losses of estimators exceed the mean's by default, set by set."""
    excess = board.losses[[f"{name}, default" for name in of_library(board)]] - 1.0
    excess.columns = [method_of(str(name)) for name in excess.columns]
    return excess


def behind_the_mean(board: Standings) -> str:
    """Say which estimators of the library lose to the training mean by default, and by how much."""
    excess = _excess(board)
    lost, most = excess > 10.0**-TIED, excess.max()
    often = excess.columns[lost.sum() > SELDOM * len(excess)]
    worse = (
        "None is worse than the training mean on more than one set in ten."
        if often.empty
        else "Worse than the training mean on more than one set in ten: "
        f"{', '.join(often)}, at most by {most[often].max():.1%}."
    )
    overall = (
        f"{lost.sum().sum()} are worse, at most by {most.max():.1%}, that of {most.idxmax()} on "
        f"{excess.max(axis=1).idxmax()}"
        if lost.any(axis=None)
        else "none is worse"
    )
    return (
        f"On the {len(excess)} sets of the [arena](choosing.md), {len(excess.columns)} estimators "
        f"ran with their defaults. {worse} Of all {excess.size} means over folds, {overall}."
    )


def worth_of_defaults(board: Standings) -> list[dict[str, str]]:
    """Return a line for each estimator of the library: what its defaults gain, and what they cost.

    Gains are shares of the training mean's divergence and Chebyshev distance; of each column the
    median over the data sets stands there.
    """
    rows = board.counted[board.counted["kind"] == "default"]
    means = rows.groupby(["method", "dataset"])[["kl", "chebyshev", "fit_s"]].mean()
    excess, lines = _excess(board), []
    for name in excess.median().sort_values().index:
        own = means.loc[str(name)]
        lost = excess[name] > 10.0**-TIED
        nearer = 1.0 - own["chebyshev"] / means.loc[MEAN]["chebyshev"]
        lines.append(
            {
                "estimator": str(name),
                "gain, KL": percent(-excess[name].median()),
                "gain, Chebyshev": percent(nearer.median()),
                "CPU s of a fit": f"{own['fit_s'].median():.2g}",
                "sets lost to the mean": f"{lost.sum()} of {len(lost)}",
                "by at most": f"{excess[name].max():.1%}" if lost.any() else "",
            }
        )
    return lines


def defaults_table(board: Standings) -> str:
    """Return what each estimator of the library does by default on each data set, as CSV."""
    rows = board.counted[board.counted["kind"] == "default"]
    means = rows.groupby(["method", "dataset"])[["kl", "chebyshev", "fit_s"]].mean()
    table = means.loc[of_library(board)].reset_index()
    for yardstick in (MEAN, method_of(BASE)):
        table[f"kl of {yardstick}"] = table["dataset"].map(means["kl"][yardstick])
    return str(table.to_csv(index=False, float_format="%.6g"))
