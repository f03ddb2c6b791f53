# mypy: disable-error-code="no-untyped-def,assignment"
"""Support vector machines for pairs of labels that share rows and a kernel.

A row that counts w under one label and v under the other has two multipliers, but only their
difference b matters, from -C v to C w. Of all multipliers with the same differences the largest are
best, which leaves the problem

    minimise  1/2 b'K b + sum_i |b_i - k_i|    where  sum(b) = 0,  k = C (w - v),

with a corner at k, where most rows of a solution are: their margins lie between -1 and 1. K b is
kept as ``f``. Raising b_i costs its ``rise``, f_i + 1 from the corner on and f_i - 1 below it;
lowering it gains its ``fall``, f_i + 1 above the corner and f_i - 1 from the corner down. At the
optimum no row's fall exceeds any row's rise.

The kernel must be 1 on its diagonal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldl._compiled import cached, compiled

TOLERANCE = 1e-3
"""Most by which a fall may exceed a rise in the end, as in libsvm."""
_NARROW = 0.1
"""Where margins span less than this the tolerance shrinks with it: sigmoids stretch them again."""
_TIGHTEST = 1e-9
"""Least tolerance."""
_FLAT = 1e-12
"""Least curvature between two rows, as in libsvm."""
_NO_SUM = 1e-10
"""Sum of multipliers that counts as zero."""
_NEW_ROWS = 100
"""Most rows that join those between corner and limits at a time, or half as many as these."""
_SHARE = 0.1
"""Share of the disagreement that is left before other rows are looked at."""
_MOST_STEPS = 500
"""Most steps per row; a machine that needs more ends there. One or two are usual."""
_NEWTON_STEPS = 100
_NEWTON_TOLERANCE = 1e-9
_SMALLEST_STEP = 1e-10
_RIDGE = 1e-12


class Limits(NamedTuple):
    """Limits of the multipliers, pair by row; ``corner`` is the k above."""

    lower: np.ndarray
    corner: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, weights: np.ndarray, against: np.ndarray, C: float) -> Limits:
        """Make limits of how much rows count under the first and the second label of each pair."""
        return cls(-C * against, C * weights - C * against, C * weights)


class Machines(NamedTuple):
    """Machines, one a line: multipliers, K times these, the intercept, and the steps taken."""

    beta: np.ndarray
    f: np.ndarray
    intercept: np.ndarray
    steps: np.ndarray

    @property
    def unfinished(self) -> int:
        """Number of machines that ended because of their steps."""
        return int((self.steps >= _MOST_STEPS * self.f.shape[1]).sum())

    @property
    def margins(self) -> np.ndarray:
        """Margins of all rows of the kernel, also of those that do not count."""
        return self.f + self.intercept[:, None]


class Room(NamedTuple):
    """Working memory for machines of so many rows."""

    rise: np.ndarray
    fall: np.ndarray
    """Slopes of all rows, upwards and downwards."""
    slack: np.ndarray
    """How far a row is from disagreeing most; -inf between corner and limits."""
    others: np.ndarray
    """The slack of rows that may join those."""
    changes: np.ndarray
    """Changes of the multipliers of rows that moved."""
    rows: np.ndarray
    """Rows to move."""
    kernel: np.ndarray
    """The kernel between them."""
    moving: np.ndarray
    """Lines of the rows to move: rise, fall, beta, lower, corner and upper; then their losses, and
    room to compare these."""

    @classmethod
    def of(cls, n: int) -> Room:
        """Allocate it; of the kernel only what is written to takes memory."""
        return cls(
            rise=np.empty(n),
            fall=np.empty(n),
            slack=np.empty(n),
            others=np.empty(n),
            changes=np.empty(n),
            rows=np.empty(n, np.int64),
            kernel=np.empty(n * n),
            moving=np.empty((8, n)),
        )


def solve(
    gram: np.ndarray, limits: Limits, start: np.ndarray, tolerance: float = TOLERANCE
) -> Machines:
    """Find the machines of these limits; ``start`` need not sum to zero.

    Where one side of a pair has no weight all multipliers are 0 and the margin is +1 or -1.
    """
    beta = start.copy()
    f = beta @ gram
    machines = Machines(beta, f, np.empty(len(f)), np.empty(len(f), np.int64))
    _solve_each(gram, machines, limits, tolerance, Room.of(f.shape[1]))
    return machines


def carry(beta: np.ndarray, old: Limits, new: Limits) -> np.ndarray:
    """Return a start within new limits, at the same share of the way from corner to limit."""
    above = beta > old.corner
    room = np.where(above, old.upper, old.lower) - old.corner
    share = np.divide(beta - old.corner, room, out=np.zeros_like(beta), where=room != 0)
    moved = new.corner + share * (np.where(above, new.upper, new.lower) - new.corner)
    return np.clip(moved, new.lower, new.upper)


@cached
def _solve_each(gram, machines, limits, tolerance, room):
    """Solve machine after machine in place."""
    for p in range(len(machines.f)):
        lower, corner, upper = limits.lower[p], limits.corner[p], limits.upper[p]
        machines.intercept[p], machines.steps[p] = _solve(
            gram, machines.f[p], machines.beta[p], lower, corner, upper, tolerance, room
        )


@compiled
def _solve(gram, f, beta, lower, corner, upper, tolerance, room):
    """Find the optimum of more and more rows until no other disagrees.

    Return the intercept and how many steps it took.
    """
    steps, most_steps = 0, _MOST_STEPS * len(f)
    _balance(gram, f, beta, lower, corner, upper)
    rise, fall, changes = room.rise, room.fall, room.changes
    while True:
        for i in range(len(f)):
            up, down = _slopes(beta[i], lower[i], corner[i], upper[i])
            rise[i], fall[i] = f[i] + up, f[i] + down
        least, most = _least(rise), _greatest(fall)
        span = _greatest(f) - _least(f)
        enough = max(tolerance * min(1.0, span / _NARROW), _TIGHTEST)
        if not most - least > enough or steps >= most_steps:
            return _intercept(least, most), steps
        m = _rows_to_move(beta, lower, corner, upper, room)
        rows, moving, Q = room.rows[:m], room.moving, room.kernel[: m * m].reshape(m, m)
        for a in range(m):
            row = rows[a]
            for b in range(m):
                Q[a, b] = gram[row, rows[b]]
            moving[0, a], moving[1, a], moving[2, a] = rise[row], fall[row], beta[row]
            moving[3, a], moving[4, a], moving[5, a] = lower[row], corner[row], upper[row]
        enough = max(enough, _SHARE * (most - least))
        steps += _descend(Q, moving, enough, most_steps - steps)
        changed, moved = 0, moving[2]
        for a in range(m):
            row, change = rows[a], moved[a] - beta[rows[a]]
            beta[row] = moved[a]
            if change != 0.0:
                rows[changed], changes[changed] = row, change
                changed += 1
        if changed == 0:  # nothing but rounding is left
            return _intercept(least, most), steps
        _add_lines(f, gram, rows[:changed], changes[:changed])


@compiled
def _least(values):
    """Return the least value."""
    least = values[0]
    for value in values:
        least = min(least, value)
    return least


@compiled
def _greatest(values):
    """Return the greatest value."""
    greatest = values[0]
    for value in values:
        greatest = max(greatest, value)
    return greatest


@compiled
def _intercept(least, most):
    """Return the middle of the range left; where one side has no weight, a margin of one."""
    if least == np.inf:
        return -most if most > -np.inf else 0.0
    return -least if most == -np.inf else -(least + most) / 2


@compiled
def _slopes(beta, lower, corner, upper):
    """Return the slopes of |b - k| upwards and downwards; infinite where a limit is reached."""
    up = np.inf if beta >= upper else (1.0 if beta >= corner else -1.0)
    down = -np.inf if beta <= lower else (-1.0 if beta <= corner else 1.0)
    return up, down


@compiled
def _balance(gram, f, beta, lower, corner, upper):
    """Bring the sum of multipliers to zero, each time by the row that gains most."""
    n = len(f)
    rest = beta.sum()
    while abs(rest) > _NO_SUM:
        chosen, best = -1, -np.inf
        for i in range(n):
            up, down = _slopes(beta[i], lower[i], corner[i], upper[i])
            gain = f[i] + down if rest > 0 else -f[i] - up
            if gain > best:
                chosen, best = i, gain
        if chosen < 0:  # nothing but rounding is left
            return
        now = beta[chosen]
        if rest > 0:
            end = corner[chosen] if now > corner[chosen] else lower[chosen]
            beta[chosen] = max(end, now - rest)
        else:
            end = corner[chosen] if now < corner[chosen] else upper[chosen]
            beta[chosen] = min(end, now - rest)
        change = beta[chosen] - now
        rest += change
        for i in range(n):
            f[i] += change * gram[chosen, i]


@compiled
def _rows_to_move(beta, lower, corner, upper, room):
    """Choose the rows between corner and limits, and of the others those that disagree most.

    Return how many these are.
    """
    n, rise, fall, slack, others = len(beta), room.rise, room.fall, room.slack, room.others
    least, most = _least(rise), _greatest(fall)
    middle, limit = (least + most) / 2, (most - least) / 2
    inside = count = 0
    for i in range(n):
        slack[i] = -np.inf
        if beta[i] != corner[i] and beta[i] != lower[i] and beta[i] != upper[i]:
            inside += 1
        else:
            slack[i] = min(rise[i] - middle, middle - fall[i])
            if slack[i] < limit:
                others[count] = slack[i]
                count += 1
    most_new = max(_NEW_ROWS, inside // 2)
    if count > most_new:
        limit = _value_at(others[:count], most_new)
    count = 0
    for i in range(n):
        if slack[i] <= limit:
            room.rows[count] = i
            count += 1
    return count


@compiled
def _value_at(values, place):
    """Return what would stand at this place if the values were sorted; they are moved about.

    NumPy's partition would take a third of all the time that these machines take to compile.
    """
    first, last = 0, len(values) - 1
    while first < last:
        pivot, low, high = values[place], first, last
        while low <= high:
            while values[low] < pivot:
                low += 1
            while values[high] > pivot:
                high -= 1
            if low <= high:
                values[low], values[high] = values[high], values[low]
                low += 1
                high -= 1
        if high < place:
            first = low
        if low > place:
            last = high
    return values[place]


@compiled
def _add_lines(f, gram, rows, changes):
    """Add ``changes`` times the rows of K to f, four rows at a time."""
    last = len(rows) - len(rows) % 4
    for k in range(0, last, 4):
        a, b, c, d = gram[rows[k]], gram[rows[k + 1]], gram[rows[k + 2]], gram[rows[k + 3]]
        s, t, u, v = changes[k], changes[k + 1], changes[k + 2], changes[k + 3]
        for i in range(len(f)):
            f[i] += (s * a[i] + t * b[i]) + (u * c[i] + v * d[i])
    for k in range(last, len(rows)):
        line, change = gram[rows[k]], changes[k]
        for i in range(len(f)):
            f[i] += change * line[i]


# ---------------------------------------------------------------------- two rows at a time


@compiled
def _descend(Q, moving, enough, most):
    """Move weight between two rows at a time: that of least rise, and the one that gains most.

    Return the number of steps.
    """
    m = len(Q)
    rise, fall, beta = moving[0, :m], moving[1, :m], moving[2, :m]
    lower, corner, upper = moving[3, :m], moving[4, :m], moving[5, :m]
    losses, spare = moving[6, :m], moving[7, :m]
    for step_number in range(most):
        i = _place_of_least(rise, spare)
        _losses(Q[i], fall, rise[i], losses)
        j = _place_of_least(losses, spare)
        if not fall[j] - rise[i] > enough and not _greatest(fall) - rise[i] > enough:
            return step_number
        step = _move(Q[i, j], i, j, rise, fall, beta, lower, corner, upper)
        if step == 0.0:  # nothing but rounding is left
            return step_number
        _shift(rise, fall, step, Q[i], Q[j])
    return most


@compiled
def _losses(line, fall, least, losses):
    """Compute minus the gain, without limits, of lowering each row and raising that of ``line``."""
    for k in range(len(fall)):
        gap = fall[k] - least
        gap = gap if gap > 0.0 else 0.0
        curve = 2.0 - 2.0 * line[k]
        curve = curve if curve > _FLAT else _FLAT
        losses[k] = -gap * gap / curve


@compiled
def _shift(rise, fall, step, raised, lowered):
    """Add to all slopes what a step between two rows changes."""
    for k in range(len(rise)):
        change = step * (raised[k] - lowered[k])
        rise[k] += change
        fall[k] += change


@compiled
def _place_of_least(values, spare):
    """Find the least value by halves, which the compiler turns into vector instructions."""
    left = (len(values) + 1) // 2
    spare[left - 1] = values[left - 1]
    for k in range(len(values) - left):
        a, b = values[k], values[k + left]
        spare[k] = a if a < b else b
    while left > 1:
        half = (left + 1) // 2
        for k in range(left - half):
            a, b = spare[k], spare[k + half]
            spare[k] = a if a < b else b
        left = half
    place = 0
    while values[place] != spare[0]:
        place += 1
    return place


@compiled
def _move(together, i, j, rise, fall, beta, lower, corner, upper):
    """Raise i and lower j by as much, over corners, to the best point; return how far.

    ``rise`` and ``fall`` of the two get their new slopes, but keep f as it was.
    """
    curve = max(2.0 - 2.0 * together, _FLAT)
    up, _ = _slopes(beta[i], lower[i], corner[i], upper[i])
    _, down = _slopes(beta[j], lower[j], corner[j], upper[j])
    f_i, f_j = rise[i] - up, fall[j] - down
    far = 0.0
    while True:
        gain = (f_j + down) - (f_i + up) - far * curve
        if not gain > 0.0:
            break
        end_i = corner[i] if beta[i] < corner[i] else upper[i]
        end_j = corner[j] if beta[j] > corner[j] else lower[j]
        room_i, room_j = end_i - beta[i], beta[j] - end_j
        step = min(gain / curve, room_i, room_j)
        far += step
        # Exactly onto the end: a row is known to be there by equality.
        beta[i] = end_i if step == room_i else beta[i] + step
        beta[j] = end_j if step == room_j else beta[j] - step
        if step < room_i and step < room_j:
            break
        up, _ = _slopes(beta[i], lower[i], corner[i], upper[i])
        _, down = _slopes(beta[j], lower[j], corner[j], upper[j])
    for k, f in ((i, f_i), (j, f_j)):
        up, down = _slopes(beta[k], lower[k], corner[k], upper[k])
        rise[k], fall[k] = f + up, f + down
    return far


# ---------------------------------------------------------------------- sigmoids


def platt(values: np.ndarray, ups: np.ndarray, downs: np.ndarray) -> tuple[float, float]:
    """Return slope and offset of the likeliest sigmoid, by Platt's targets a little inside (0, 1).

    A value counts ``ups`` times as positive and ``downs`` times as negative.
    """
    found: tuple[float, float] = _platt(values, ups, downs, ups + downs, np.empty(len(values)))
    return found


@cached
def _platt(values, ups, downs, weight, wanted):
    """Solve the problem, which is convex, by Newton's method with halved steps."""
    up, down = ups.sum(), downs.sum()
    high, low = (up + 1) / (up + 2), 1 / (down + 2)
    for i in range(len(values)):
        wanted[i] = high * ups[i] + low * downs[i]
    slope, offset = 0.0, np.log((up + 1) / (down + 1))
    current = _platt_loss(values, weight, wanted, slope, offset)
    for _ in range(_NEWTON_STEPS):
        g, g1, h, h1, h2 = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(len(values)):
            p = 1.0 / (1.0 + np.exp(-slope * values[i] - offset))
            miss, spread = weight[i] * p - wanted[i], weight[i] * p * (1.0 - p)
            g += miss
            g1 += miss * values[i]
            h += spread
            h1 += spread * values[i]
            h2 += spread * values[i] * values[i]
        if max(abs(g), abs(g1)) < _NEWTON_TOLERANCE * (up + down):
            break
        ridge = _RIDGE * (h + h2)
        h, h2 = h + ridge, h2 + ridge
        scale = h * h2 - h1 * h1
        d_slope, d_offset = (h * g1 - h1 * g) / scale, (h2 * g - h1 * g1) / scale
        size = 1.0
        while True:
            tried = slope - size * d_slope, offset - size * d_offset
            loss = _platt_loss(values, weight, wanted, tried[0], tried[1])
            if loss <= current or size <= _SMALLEST_STEP:
                break
            size /= 2
        if size <= _SMALLEST_STEP:
            break
        slope, offset = tried
        current = loss
    return slope, offset


@compiled
def _platt_loss(values, weight, wanted, slope, offset):
    """Return minus the logarithm of the likelihood."""
    total = 0.0
    for i in range(len(values)):
        z = slope * values[i] + offset
        total += weight[i] * (max(z, 0.0) + np.log1p(np.exp(-abs(z)))) - wanted[i] * z
    return total
