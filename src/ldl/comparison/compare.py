"""Which method to use on one's own data: nested validation within a given time."""

from __future__ import annotations

import hashlib
import inspect
import sys
import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ldl.base import check_distributions, check_features
from ldl.comparison import store as files
from ldl.comparison.contenders import MEAN, Contender, chosen
from ldl.comparison.result import Comparison, Entry
from ldl.comparison.search import Searched, Splits, Task, outer_folds, search
from ldl.errors import UserError

LEADERS = 6
"""Methods that are tuned: the best with their defaults on held-out rows."""
TRIAL_ROWS = 400
"""Rows of the fit by which the cost of a method is foreseen."""
GROWTH = 1.5
"""Power of the number of rows by which the cost of a fit is taken to grow."""
FOR_DEFAULTS = 0.4
"""Share of the time in which methods run with their defaults."""
IN_NO_HURRY = 1800.0
"""Seconds from which on slow methods take part."""
LEAST_ROWS = 20
Job = tuple[str, Contender, Task, Path | None]
Run = Callable[[Sequence[Job]], Iterable[tuple[str, Searched]]]
Say = Callable[[str], None]


def compare(
    X: Any,
    D: Any,
    *,
    groups: Any = None,
    methods: Mapping[str, Any] | Sequence[str] | None = None,
    time: float = 600.0,
    folds: int = 5,
    settings: int = 25,
    measure: str = "kl",
    n_jobs: int = 1,
    random_state: int = 0,
    store: str | Path | None = None,
    verbose: bool = False,
) -> Comparison:
    """Compare methods on your data, and say which to use.

    Every method runs with its defaults on every outer fold. The six that do best on rows held out
    of the training rows are tuned on such rows. Tested rows decide nothing but the final order.
    Methods that would take too long are left out, and named.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (rows, features)
        Features; finite numbers.
    D : array-like or data frame of shape (rows, labels)
        A label distribution in each row.
    groups : array-like of shape (rows,) or None, default=None
        Whom each row belongs to, such as a person; all rows of one are tested together.
    methods : dict, list of str or None, default=None
        Names of methods, or a dict of estimators of your own by name; its value is None for a
        method that is known by its name. None for all that are known.
    time : float, default=600.0
        Seconds that may be spent. With 1,800 or more, slow methods take part.
    folds : int, default=5
        Outer folds.
    settings : int, default=25
        Settings that are tried at most of a method that is tuned.
    measure : str, default='kl'
        Measure that decides.
    n_jobs : int, default=1
        Processes; -1 for one on every core.
    random_state : int, default=0
        Seed of folds and methods.
    store : path or None, default=None
        Folder that keeps finished folds, so that a comparison that was stopped goes on.
    verbose : bool, default=False
        Print progress.

    Returns
    -------
    Comparison
        ``sentence`` says which method to use, ``table`` has a line for each, ``best`` is the winner
        fitted to all rows, ``code`` the lines that make it.

    Examples
    --------
    >>> from ldl import compare
    >>> from ldl.datasets import make_distributions
    >>> X, D = make_distributions(60, 5, 3, random_state=0)
    >>> found = compare(X, D, methods=["SABFGS", "AAKNN"], time=10, settings=3)
    >>> found.winner
    'SABFGS'
    """
    started = clock.monotonic()
    names = [str(name) for name in getattr(D, "columns", ())]
    X = check_features(X, accepts_sparse=False)
    D, _ = check_distributions(D, len(X))
    of = None if groups is None else np.asarray(groups)
    _demand_enough(len(X), of, folds)
    contenders = chosen(methods, slow=time >= IN_NO_HURRY)
    outer = outer_folds(len(X), of, folds, random_state)
    say = _printer(started, time) if verbose else _silent
    run = _runner(n_jobs, say)
    tasks = _tasks(X, D, of, outer, measure, settings, random_state)
    kept = _kept(store, tasks)

    contenders, left_out = _affordable(
        contenders, tasks[0], folds, time * _workers(n_jobs), run, say
    )
    jobs = [
        (f"{contender.name}.{fold}", contender, replace(task, seconds=0.0), kept)
        for fold, task in enumerate(tasks)
        for contender in contenders
    ]
    found = dict(run(jobs))
    order = sorted(contenders, key=lambda one: _loss(found, one, folds))
    leaders = [one for one in order if one.space and one.name != MEAN][:LEADERS]
    left = max(0.0, time - (clock.monotonic() - started))
    each = 0.7 * left * _workers(n_jobs) / max(1, len(leaders) * (folds + 1))
    every = np.arange(len(X))
    whole = replace(tasks[0], train=every, test=every[:1], seconds=each)
    jobs = [
        (f"{one.name}.{fold}", one, replace(task, seconds=each), kept)
        for fold, task in enumerate(tasks)
        for one in leaders
    ]
    found |= dict(run(jobs))
    entries = [
        Entry(one, [found[f"{one.name}.{fold}"] for fold in range(folds)], one in leaders)
        for one in contenders
    ]
    result = Comparison(X, D, of, outer, measure, entries, left_out, names)
    winner = next(entry for entry in entries if entry.name == result.winner)
    budget = whole if winner.tuned else replace(whole, seconds=0.0)
    ((_, final),) = run([(f"{winner.name}.all", winner.contender, budget, kept)])
    return result.with_settings(final.found["tuned"].settings[0][1], random_state)


def _demand_enough(rows: int, groups: np.ndarray | None, folds: int) -> None:
    if rows < LEAST_ROWS:
        raise UserError(f"{rows} rows are too few to compare methods; {LEAST_ROWS} are needed")
    if groups is None:
        return
    if groups.shape != (rows,):
        raise UserError(f"groups must have shape ({rows},), one for each row, got {groups.shape}")
    if (count := len(np.unique(groups))) < folds:
        raise UserError(f"{folds} folds need as many groups, there are {count}; set folds={count}")


def _tasks(
    X: np.ndarray,
    D: np.ndarray,
    groups: np.ndarray | None,
    outer: Splits,
    measure: str,
    settings: int,
    random_state: int,
) -> list[Task]:
    return [
        Task(X, D, train, test, groups, measure, max(2, settings), None, random_state)
        for train, test in outer
    ]


def _loss(found: Mapping[str, Searched], contender: Contender, folds: int) -> float:
    """Return a method's mean loss on held-out rows."""
    return float(np.mean([found[f"{contender.name}.{fold}"].loss for fold in range(folds)]))


# ---------------------------------------------------------------------- cost


def _affordable(
    contenders: Sequence[Contender],
    task: Task,
    folds: int,
    seconds: float,
    run: Run,
    say: Say,
) -> tuple[list[Contender], dict[str, str]]:
    """Keep methods, the cheapest first, whose defaults fit into their share of the time.

    The cost of each is foreseen by a fit to few rows.
    """
    few = np.random.default_rng(task.random_state).permutation(task.train)[:TRIAL_ROWS]
    trial = replace(task, train=few, settings=1)
    say(f"a fit of {len(few)} rows for each of {len(contenders)} methods, to foresee their cost")
    jobs = [(one.name, one, trial, None) for one in contenders] * 2  # the first loads and compiles
    costs: dict[str, float] = {}
    left_out: dict[str, str] = {}
    fits = len(task.splits()) + 1
    grown = max(1.0, len(task.train) / len(few)) ** GROWTH
    for name, searched in run(jobs):
        if searched.found:
            one = searched.found["default"]
            cost = (one.fit_s + one.predict_s) * fits * grown
            costs[name] = min(cost, costs.get(name, cost))
        else:
            left_out[name] = searched.error
    spent, kept = 0.0, []
    for name in sorted(costs, key=lambda name: (name != MEAN, costs[name])):
        spent += costs[name] * folds
        if spent <= FOR_DEFAULTS * seconds or name == MEAN:
            kept.append(name)
        else:
            left_out[name] = f"too slow for the time: about {costs[name]:.0f} s a fold"
    return [one for one in contenders if one.name in kept], left_out


# ---------------------------------------------------------------------- running and keeping


def _workers(n_jobs: int) -> int:
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def _runner(n_jobs: int, say: Say) -> Run:
    def run(jobs: Sequence[Job]) -> Iterable[tuple[str, Searched]]:
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        done = parallel(delayed(_one)(*job) for job in jobs)
        for count, (name, searched, message) in enumerate(done, start=1):
            say(f"{count} of {len(jobs)}: {name}{message}")
            yield name, searched

    return run


def _one(
    name: str, contender: Contender, task: Task, kept: Path | None
) -> tuple[str, Searched, str]:
    """Do a task, or find it done; a longer search goes on from one with the defaults alone."""
    if kept is None:
        return name, search(contender, task), ""
    code = _code(contender)
    stage = "default" if task.seconds == 0.0 else "tuned"
    path, before = (kept / f"{name}.{part}.npz" for part in (stage, "default"))
    there = files.load(path)
    if there and there[1]["code"] == code:
        return name, there[0], ", done before"
    begun = files.load(before)
    tried = begun[0].tried[:1] if begun and begun[1]["code"] == code else ()
    searched = search(contender, task, tried)
    files.save(path, searched, {"code": code})
    return name, searched, ""


def _code(contender: Contender) -> str:
    """Return what tells a method of one's own from an earlier one of its name."""
    model = contender.make()
    text = repr(model)
    if contender.family == "own":
        try:
            text += inspect.getsource(type(model))
        except (OSError, TypeError):
            text += str(clock.time())  # typed in a prompt: nothing tells it from another
    return hashlib.sha256(text.encode()).hexdigest()


def _kept(store: str | Path | None, tasks: Sequence[Task]) -> Path | None:
    """Return the folder of this very comparison: same rows, folds, measure and settings."""
    if store is None:
        return None
    import ldl

    digest = hashlib.sha256()
    task = tasks[0]
    for array in (task.X, task.D, *(one.test for one in tasks)):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(repr((task.measure, task.settings, task.random_state, ldl.__version__)).encode())
    return Path(store) / digest.hexdigest()[:12]


def _silent(line: str) -> None:
    pass


def _printer(started: float, time: float) -> Say:
    def say(line: str) -> None:
        spent = clock.monotonic() - started
        print(f"{spent:5.0f} of {time:.0f} s  {line}", file=sys.stderr, flush=True)

    return say
