"""Which method to use on one's own data: nested validation within a given time."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import math
import os
import pkgutil
import signal
import sys
import threading
import time as clock
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from ldl.base import check_distributions, check_features
from ldl.comparison import store as files
from ldl.comparison.contenders import MEAN, Contender, chosen
from ldl.comparison.result import Comparison, Entry
from ldl.comparison.search import Searched, Task, outer_folds, search
from ldl.datasets import make_distributions
from ldl.errors import UserError

LEADERS = 6
"""Methods that are tuned: the best with their defaults on held-out rows."""
TRIAL_ROWS = 400
"""Rows of the fit by which the cost and the promise of a method are foreseen."""
COMPILING = 10.0
"""CPU seconds that a method may take to load and compile, before this fit."""
GROWTH = 1.5
"""Power of the number of rows by which the cost of a fit is taken to grow."""
FOR_TRIALS, FOR_DEFAULTS, FOR_TUNING = 0.3, 0.2, 0.7
"""Shares of the time for these fits and for runs with defaults, and of the rest for tuning."""
FOR_ONE = 0.4
"""Share of the time for runs with defaults that a single method may take."""
LATEST = 0.8
"""Share of the time until which methods that had none are begun, after the leaders are tuned."""
LEAST = 1e-9
"""Seconds of a search when the time is over; 0 would ask for the defaults alone."""
MUCH_LESS = 0.2
"""Share of the time of a search below which an earlier one is done again."""
PAUSE = 5.0
"""Seconds between two lines about progress."""
LEAST_ROWS = 20
TOO_SLOW = "too slow for the time"
NEVER_ENDED = ("importlib", "llvmlite", "namedtuple_", "numba")
"""Beginnings of the names of modules whose work is not ended before it is done."""
Job = tuple[str, Contender, Task, Path | None, float]
"""Its name, the method, the task, the folder that keeps it, and CPU seconds after which it ends."""
Done = tuple[str, Searched, str]
"""The name of a job, its outcome, and a word about it."""


def compare(X: Any, D: Any, groups: Any = None, **options: Any) -> Comparison:
    """Compare methods on your data, and say which to use.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (rows, features)
        Features; finite numbers.
    D : array-like or data frame of shape (rows, labels)
        A label distribution in each row.
    groups : array-like of shape (rows,) or None, default=None
        Whom each row belongs to, such as a person; all rows of one are tested together.
    **options : dict
        Parameters of ``ldl.comparison.compare.Arena``, such as ``time=60``.

    Returns
    -------
    Comparison
        ``sentence`` says which method to use, ``table`` has a line for each, ``best`` is the winner
        fitted to all rows, ``imports`` and ``code`` are the lines that make it.

    Examples
    --------
    >>> from ldl import compare
    >>> from ldl.datasets import make_distributions
    >>> X, D = make_distributions(60, 5, 3, random_state=0)
    >>> found = compare(X, D, methods=["SABFGS", "AAKNN"], time=10, settings=3)
    >>> found.winner
    'SABFGS'
    """
    arena = Arena(**options)
    try:
        with warnings.catch_warnings():  # joblib replaces a worker whose memory has grown
            warnings.filterwarnings("ignore", "A worker stopped while some jobs")
            return arena.compare(X, D, groups)
    finally:
        if arena.workers > 1:  # idle ones would wait for five minutes
            from joblib.externals.loky import get_reusable_executor

            get_reusable_executor().shutdown()


@dataclass(frozen=True, kw_only=True)
class Arena:
    """Compares methods by nested validation, within a given time.

    Every method runs with its defaults on every outer fold. The six that do best on rows held out
    of the training rows are tuned on such rows. Tested rows decide nothing but the final order.
    Where time is short, methods that do badly with few rows are left out first, and those that
    would take too long; if tuning leaves time, they still run with their defaults. What is left out
    is named. Methods whose folds ``store`` has always take part.

    Parameters
    ----------
    methods : dict, list of str or None, default=None
        Names of methods, or a dict of estimators of your own by name; its value is None for a
        method that is known by its name. None for all that are known.
    time : float, default=600.0
        Seconds that may be spent.
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
    """

    methods: Mapping[str, Any] | Sequence[str] | None = None
    time: float = 600.0
    folds: int = 5
    settings: int = 25
    measure: str = "kl"
    n_jobs: int = 1
    random_state: int = 0
    store: str | Path | None = None
    verbose: bool = False
    started: float = field(default_factory=lambda: clock.monotonic(), init=False, repr=False)

    def compare(self, X: Any, D: Any, groups: Any = None) -> Comparison:
        """Compare methods on features and label distributions."""
        X = check_features(X, accepts_sparse=False)
        D, _ = check_distributions(D, len(X))
        of = None if groups is None else np.asarray(groups)
        demand_enough(len(X), of, self.folds)
        outer = outer_folds(len(X), of, self.folds, self.random_state)
        shared = (of, self.measure, max(2, self.settings), 0.0, self.random_state)
        tasks = [Task(X, D, train, test, *shared) for train, test in outer]
        kept = self._kept(tasks)
        contenders, left_out = self._in_order(tasks, kept)
        found, pace = self._with_defaults(contenders, tasks, kept)
        leaders = self._leaders(contenders, found, kept)
        costs = {one.name: self.settings * _cost(found[one.name]) for one in leaders}
        seconds = _shares(costs, FOR_TUNING * pace * self._left() / (self.folds + 1))
        self._say(f"tuning of {', '.join(one.name for one in leaders)}")
        found |= self._searched(leaders, tasks, kept, seconds=seconds)
        found |= self._late([one for one in contenders if one.name not in found], tasks, kept)
        late = [one.name for one in contenders if one.name not in found]
        left_out |= dict.fromkeys(late, "too little time")
        entries = [
            Entry(one, found[one.name], one in leaders) for one in contenders if one.name in found
        ]
        result = Comparison(X, D, outer, self.measure, entries, left_out)
        winner = next(entry for entry in entries if entry.name == result.winner)
        budget = seconds[winner.name] if winner.tuned else 0.0
        settings = self._on_all_rows(winner.contender, replace(tasks[0], seconds=budget), kept)
        return replace(result, settings=settings, random_state=self.random_state)

    def _with_defaults(
        self, contenders: Sequence[Contender], tasks: Sequence[Task], kept: Path | None
    ) -> tuple[dict[str, list[Searched]], float]:
        """Return what each method finds with its defaults, and the pace of this machine.

        The pace is how many CPU seconds a second of a worker has, which may be busy.
        """
        self._say(f"defaults of {len(contenders)} methods in {self.folds} folds")
        begun = clock.monotonic()
        limit = FOR_ONE * self._for_defaults / self.folds
        found = self._searched(contenders, tasks, kept, FOR_TRIALS + FOR_DEFAULTS, limit)
        wall = (clock.monotonic() - begun) * self.workers
        cpu = sum(_cost(each) * self.folds for each in found.values())
        return found, min(1.0, cpu / wall)

    def _late(
        self, contenders: Sequence[Contender], tasks: Sequence[Task], kept: Path | None
    ) -> dict[str, list[Searched]]:
        """Return what methods find for whose defaults there was no time before the tuning."""
        if contenders:
            self._say(f"defaults of {len(contenders)} slower methods, as far as time allows")
        limit = self._left(LATEST) / (2 * self.folds)
        return self._searched(contenders, tasks, kept, LATEST, limit)

    def _left(self, share: float = 1.0) -> float:
        """Return the seconds that all workers have until this share of the time is over."""
        return max(0.0, share * self.time - (clock.monotonic() - self.started)) * self.workers

    def _on_all_rows(self, winner: Contender, task: Task, kept: Path | None) -> dict[str, Any]:
        """Return the settings that are chosen for the winner with all rows of a task."""
        every = np.arange(len(task.X))
        self._say(f"{winner.name} on all rows")
        whole = replace(task, train=every, test=every[:1])
        job: Job = (f"{winner.name}.all", winner, whole, kept, math.inf)
        ((_, final),) = self._run([job], 1)
        return final.found["tuned"].settings[0][1]

    def _leaders(
        self,
        contenders: Sequence[Contender],
        found: Mapping[str, list[Searched]],
        kept: Path | None,
    ) -> list[Contender]:
        """Return the methods to tune: the best with their defaults, and those already tuned."""
        ready = [one for one in contenders if one.name in found]
        order = sorted(ready, key=lambda one: _mean_loss(found[one.name]))
        tunable = [one for one in order if one.space and one.name != MEAN]
        others = tunable[LEADERS:]
        done = [one for one in others if not _missing(one, "tuned", self.folds, kept)]
        return tunable[:LEADERS] + done

    @property
    def workers(self) -> int:
        return self.n_jobs if self.n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + self.n_jobs)

    def _in_order(
        self, tasks: Sequence[Task], kept: Path | None
    ) -> tuple[list[Contender], dict[str, str]]:
        """Return methods, the most promising first, and why others are left out.

        The cost and the loss of each are foreseen by a fit to few training rows, scored on others
        of them. Finished folds cost nothing. Methods that seem to need more than an equal share of
        the time come last.
        """
        contenders, task = chosen(self.methods), tasks[0]
        missing = {one.name: _missing(one, "default", self.folds, kept) for one in contenders}
        free = {one.name for one in contenders if self._is_free(one, kept)}
        others = [one for one in contenders if one.name not in free]
        inside, held = task.splits()[0]
        few = np.random.default_rng(self.random_state).permutation(inside)[:TRIAL_ROWS]
        outcomes = self._tried(others, replace(task, train=few, test=held, settings=1))
        grown = max(1.0, len(task.train) / len(few)) ** GROWTH
        fits = grown * (len(task.splits()) + 1)  # as many fits of this size take as long as a fold
        equal = self._for_defaults / len(contenders)
        order, left_out = dict.fromkeys(free, (False, -math.inf)), dict[str, str]()
        for one in others:
            outcome = outcomes.get(one.name)
            if outcome and outcome.found:
                fit = outcome.found["default"]
                cost = (fit.fit_s + fit.predict_s) * fits * missing[one.name]
                order[one.name] = (cost > equal, task.loss(task.D[held], fit.P))
            else:
                left_out[one.name] = outcome.error if outcome else "too little time to try it"
        going = [one for one in contenders if one.name in order]
        return sorted(going, key=lambda one: order[one.name]), left_out

    @property
    def _for_defaults(self) -> float:
        """CPU seconds that all runs with defaults may take."""
        return FOR_DEFAULTS * self.time * self.workers

    def _tried(self, contenders: Sequence[Contender], trial: Task) -> dict[str, Searched]:
        """Return what a fit to few rows gives, method by method, or why there is none.

        Slow methods are last, and none of them is begun after half of the time for this.
        """
        self._say(f"a fit of {len(trial.train)} rows for each of {len(contenders)} methods")
        limit = FOR_TRIALS * self.time * self.workers / max(1, len(contenders))
        jobs: list[Job] = [(one.name, one, trial, None, limit) for one in contenders]
        quick = self._in_time([job for job in jobs if not job[1].slow], FOR_TRIALS)
        slow = self._in_time([job for job in jobs if job[1].slow], FOR_TRIALS / 2)
        return dict(self._run(itertools.chain(quick, slow), len(jobs), _loaded_one))

    # ------------------------------------------------------------------ running and keeping

    def _searched(
        self,
        contenders: Sequence[Contender],
        tasks: Sequence[Task],
        kept: Path | None,
        share: float = math.inf,
        limit: float = math.inf,
        seconds: Mapping[str, float] | None = None,
    ) -> dict[str, list[Searched]]:
        """Return what each method finds, fold by fold; only those that end in a share of the time.

        The mean, and methods whose folds are kept, always do. ``seconds`` are for the search of
        each; without them the defaults run.
        """
        sure = {one.name for one in contenders if self._is_free(one, kept)}
        jobs: list[Job] = []
        for one in contenders:
            own = [replace(task, seconds=seconds[one.name]) for task in tasks] if seconds else tasks
            most = math.inf if one.name in sure else limit
            jobs += [(f"{one.name}.{fold}", one, task, kept, most) for fold, task in enumerate(own)]
        found, slow = dict[str, Searched](), set[str]()
        for name, searched in self._run(self._in_time(jobs, share, sure, slow), len(jobs)):
            if searched.error == TOO_SLOW:
                slow.add(name.rpartition(".")[0])
            else:
                found[name] = searched
        whole = {
            one.name: [found.get(f"{one.name}.{fold}") for fold in range(len(tasks))]
            for one in contenders
        }
        return {name: [one for one in each if one] for name, each in whole.items() if all(each)}

    def _is_free(self, contender: Contender, kept: Path | None) -> bool:
        """Tell whether the defaults of a method cost next to nothing: the mean's, or kept ones."""
        return contender.name == MEAN or not _missing(contender, "default", self.folds, kept)

    def _in_time(
        self,
        jobs: Sequence[Job],
        share: float,
        sure: Container[str] = (),
        slow: Container[str] = (),
    ) -> Iterator[Job]:
        """Yield jobs until a share of the time is over, and those of methods that are sure.

        No job of a method that has become too slow is begun.
        """
        for job in jobs:
            over = clock.monotonic() - self.started > share * self.time
            if job[1].name in sure or not (over or job[1].name in slow):
                yield job

    def _run(
        self, jobs: Iterable[Job], count: int, do: Callable[..., Done] | None = None
    ) -> Iterator[tuple[str, Searched]]:
        """Yield outcomes by name, in the order in which they come."""
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=self.workers, return_as="generator_unordered")
        done = parallel(delayed(do or _one)(*job) for job in jobs)
        said = -math.inf
        for place, (name, searched, message) in enumerate(done, start=1):
            if clock.monotonic() - said >= PAUSE or place == count:
                said = clock.monotonic()
                self._say(f"{place} of {count}: {name.partition('.')[0]}{message}")
            yield name, searched

    def _say(self, line: str) -> None:
        if self.verbose:
            spent = clock.monotonic() - self.started
            print(f"{spent:5.0f} of {self.time:.0f} s  {line}", file=sys.stderr, flush=True)

    def _kept(self, tasks: Sequence[Task]) -> Path | None:
        """Return the folder of this very comparison: same rows, folds, measure and settings."""
        if self.store is None:
            return None
        digest = hashlib.sha256()
        for array in (tasks[0].X, tasks[0].D, *(task.test for task in tasks)):
            digest.update(np.ascontiguousarray(array).tobytes())
        version = pkgutil.resolve_name("ldl.__version__")
        whose = None if tasks[0].groups is None else tasks[0].groups.tolist()
        told = (self.measure, self.settings, self.random_state, version, whose)
        digest.update(repr(told).encode())
        return Path(self.store) / digest.hexdigest()[:12]


def demand_enough(rows: int, groups: np.ndarray | None, folds: int) -> None:
    """Refuse rows or groups that are too few to compare methods."""
    if rows < LEAST_ROWS:
        raise UserError(f"{rows} rows are too few to compare methods; {LEAST_ROWS} are needed")
    if groups is None:
        return
    if groups.shape != (rows,):
        raise UserError(f"groups must have shape ({rows},), one for each row, got {groups.shape}")
    if (count := len(np.unique(groups))) < folds:
        raise UserError(f"{folds} folds need {folds} groups at least; number of groups: {count}")


def _mean_loss(found: Sequence[Searched]) -> float:
    """Return the mean loss over folds, on held-out rows."""
    return float(np.mean([one.loss for one in found]))


def _cost(found: Sequence[Searched]) -> float:
    """Return the mean CPU seconds that a fold took."""
    fits = [fit.fit_s + fit.predict_s for one in found for fit in one.found.values()]
    return float(np.mean([one.search_s for one in found]) + np.mean(fits or [0.0]))


def _shares(costs: Mapping[str, float], room: float) -> dict[str, float]:
    """Divide seconds equally, but give none what it cannot use: twice its foreseen cost."""
    shares = {}
    for place, name in enumerate(sorted(costs, key=lambda name: costs[name])):
        shares[name] = max(LEAST, min(2 * costs[name], room / (len(costs) - place)))
        room -= shares[name]
    return shares


def _one(name: str, contender: Contender, task: Task, kept: Path | None, limit: float) -> Done:
    """Do a task, or find it done, within a limit of CPU seconds."""
    begun = clock.process_time()
    try:
        with _at_most(limit):
            searched, told = _kept_or_searched(name, contender, task, kept)
    except _Over:
        return name, Searched([], {}, limit, TOO_SLOW), ""
    if clock.process_time() - begun > limit:  # some code turns an end into an error of its own
        return name, Searched([], {}, limit, TOO_SLOW), ""
    return name, searched, told


def _loaded_one(name: str, contender: Contender, task: Task, *others: Any) -> Done:
    """Do a task after one of few drawn rows, for a first fit loads and compiles."""
    X, D = make_distributions(40, 5, 3, random_state=0)
    drawn = Task(X, D, np.arange(30), np.arange(30, 40), settings=1)
    _one(name, contender, drawn, None, COMPILING)
    return _one(name, contender, task, *others)


def _kept_or_searched(
    name: str, contender: Contender, task: Task, kept: Path | None
) -> tuple[Searched, str]:
    """Find a task done, or do it; a longer search goes on from one with the defaults alone.

    A search that the clock ended, with much less time than there is now, is done again.
    """
    if kept is None:
        return search(contender, task), ""
    code = _code(contender)
    stage = "default" if task.seconds == 0.0 else "tuned"
    path, before = (kept / f"{name}.{part}.npz" for part in (stage, "default"))
    there = files.load(path)
    if there and there[1]["code"] == code:
        whole = len(contender.settings(task.settings, task.random_state)) <= len(there[0].tried)
        if whole or MUCH_LESS * (task.seconds or 0) <= there[1]["seconds"]:
            return there[0], ", done before"
    begun = files.load(before)
    tried = begun[0].tried[:1] if begun and begun[1]["code"] == code else ()
    searched = search(contender, task, tried)
    files.save(path, searched, {"code": code, "seconds": task.seconds})
    return searched, ""


class _Over(BaseException):
    """The time of a job is over. It is no failure of a method, so that none takes it for one."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise ``_Over`` after so many CPU seconds, where this thread can be interrupted."""
    able = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not able or seconds == math.inf:
        yield
        return

    def end(_: int, frame: FrameType | None) -> None:
        if _can_end(frame):
            raise _Over

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, max(seconds, 0.001), 0.02)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _can_end(frame: FrameType | None) -> bool:
    """Tell whether work may end at a frame: no import and no compiler is under way.

    Nor does compiled code make its answer, a named tuple: numba would crash.
    """
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(NEVER_ENDED):
            return False
        frame = frame.f_back
    return True


def _missing(contender: Contender, stage: str, folds: int, kept: Path | None) -> int:
    """Return how many folds of a method are not finished."""
    if kept is None:
        return folds
    code = _code(contender)
    found = [files.load(kept / f"{contender.name}.{fold}.{stage}.npz") for fold in range(folds)]
    return sum(one is None or one[1]["code"] != code for one in found)


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
