"""Verdicts: what a measured number says about a printed one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

EXACT, REPRODUCED, BETTER, WORSE = "exact", "reproduced", "better", "worse"
NOT_RUN, QUOTED, MISPRINT = "not run", "quoted", "misprint"
MET, MISSED = (EXACT, REPRODUCED), (BETTER, WORSE)
"""Verdicts of printed numbers that ours meets, and of those that it does not."""
JUDGED = (*MET, *MISSED)
INSIDE, OUTSIDE = "inside the band", "outside every band"
"""Words for a printed number beside the band that other fold seeds give."""
VERDICTS = (*JUDGED, NOT_RUN, QUOTED, MISPRINT)
BY_PRINT = "chosen because it fits the print"
OTHER_SETTINGS = "measured with other settings than the configuration has today; to be run again"
CLOSE = 2.0
"""Factor by which two standard deviations over the same folds may differ."""


@dataclass(frozen=True)
class VerdictRow:
    """One cell: a number printed in a paper, what we measured, and what follows."""

    paper: str
    table: str
    dataset: str
    setting: str
    method: str
    """As printed."""
    metric: str
    printed: str
    """As printed, with all its decimals."""
    printed_std: str
    better: str
    """'lower', 'higher' or 'none'."""
    verdict: str
    reason: str = ""
    """Reason for not running it or for missing it, proof of a misprint, or source of a quote."""
    measured: float | None = None
    measured_std: float | None = None
    n_folds: int = 0
    expected_folds: int = 0
    difference: float | None = None
    """(measured - printed) / |printed|."""
    band: float | None = None
    """Distance from the printed mean that still counts as reproduced."""
    source: str = ""
    """'local', 'reference', or '' when nothing was measured."""
    same_bits: str = ""
    """'yes' or 'no': whether local predictions have the digests of the reference."""
    protocol: str = ""
    method_id: str = ""
    unit_dataset: str = ""
    note: str = ""
    fold_seeds: str = ""
    """Says whether another fold seed explains the printed number, where that was measured."""
    train_mean: str = ""
    """The verdict that the training mean gets in this cell; '' where it cannot get one."""
    forest: str = ""
    """The same of an ordinary regression forest, beside forests only."""
    discriminates: bool | None = None
    """Whether a met number tells the method apart from these.

    None where nothing was met, or where one of them has no number."""
    std_off: float | None = None
    """Measured over printed standard deviation, where that tells of other folds."""
    by_print: str = ""
    """What of the setting was chosen because it fits the print; '' if nothing."""
    other_settings: bool = False
    """Whether the record was made with other settings than the configuration has today."""

    @property
    def outside_seeds(self) -> bool:
        return self.fold_seeds.startswith(OUTSIDE)

    @property
    def notes(self) -> list[str]:
        """Return the texts that belong to the cell."""
        by_print = self.by_print and f"{BY_PRINT}: {self.by_print}"
        changed = OTHER_SETTINGS if self.other_settings else ""
        return [text for text in dict.fromkeys((self.reason, self.note, by_print, changed)) if text]

    @property
    def marks(self) -> list[str]:
        """Return what a reader must know beside the verdict, in a word or two each."""
        yardsticks = {"mean too": self.train_mean, "forest too": self.forest}
        found = [
            words
            for words, yardstick in yardsticks.items()
            if tells_apart(self.verdict, [yardstick]) is False
        ]
        if self.by_print:
            found.append("by print")
        if self.other_settings:
            found.append("other settings")
        if self.std_off is not None:
            found.append(f"std ×{self.std_off:.2g}")
        return found

    @property
    def has_stds(self) -> bool:
        """Tell whether a printed and a measured standard deviation can be compared."""
        whole = self.n_folds == self.expected_folds
        return bool(self.printed_std) and self.measured_std is not None and whole

    @property
    def unit_key(self) -> str:
        """The key of the unit that stands for it; '' where none does."""
        return self.key_under(self.protocol) if self.method_id else ""

    def key_under(self, protocol: str) -> str:
        """Return the key of the same method on the same data set under a protocol."""
        return f"{protocol}/{self.unit_dataset}/{self.method_id}"

    @property
    def cell(self) -> str:
        """The name that `ldlrepro explain` takes."""
        parts = [self.paper, self.table, self.dataset, self.method, self.metric]
        if self.setting:
            parts.insert(3, self.setting)
        return "/".join(parts)


def places(printed: str) -> int:
    """Count the decimals of a printed number: '0.0544' -> 4.

    A bare 0 is a difference that rounds to it, in a table whose other numbers have four decimals.
    """
    return 4 if printed == "0" else len(printed.partition(".")[2])


def half_unit(printed: str) -> float:
    """Return half a unit of the last printed digit: '0.0544' -> 0.00005."""
    return 0.5 * 10.0 ** -places(printed)


def band(printed: str, printed_std: str, measured_std: float | None) -> float:
    """Return the half-width around the printed mean within which a measured mean reproduces it."""
    return max(half_unit(printed), float(printed_std or 0.0), measured_std or 0.0)


def is_exact(measured: float, printed: str) -> bool:
    """Tell whether a number rounds to the printed one, or to a neighbour in its last digit."""
    if not math.isfinite(measured):
        return False
    # Rounding in the last bit must not decide here either.
    room = 2 * half_unit(printed) * (1 + 1e-6)
    return abs(round(measured, places(printed)) - float(printed)) <= room


def judge(measured: float, printed: str, width: float, better: str) -> str:
    """Judge a number: exact, or reproduced within the band, else better or worse."""
    if is_exact(measured, printed):
        return EXACT
    gap = measured - float(printed)
    # The band's edge belongs to it; rounding in the last bit must not decide.
    if abs(gap) <= width * (1 + 1e-9):
        return REPRODUCED
    if better == "none":
        return WORSE  # no direction: any number outside the band is a miss
    return BETTER if (gap < 0) == (better == "lower") else WORSE


def tells_apart(verdict: str, yardsticks: Iterable[str]) -> bool | None:
    """Tell whether every yardstick gets a weaker verdict than this one.

    None where nothing was met, or where it hangs on a yardstick without a verdict.
    """
    yardsticks = list(yardsticks)
    if verdict not in MET:
        return None
    as_strong = MET[: MET.index(verdict) + 1]
    if any(yardstick in as_strong for yardstick in yardsticks):
        return False
    return None if "" in yardsticks else True


def difference(measured: float, printed: str) -> float | None:
    """Return the signed relative difference; None where the printed value is zero."""
    value = float(printed)
    return (measured - value) / abs(value) if value else None


def std_off(measured_std: float | None, printed_std: str) -> float | None:
    """Return measured over printed standard deviation where no rounding explains a factor of two.

    A printed zero counts as the largest number that prints so.
    """
    if measured_std is None or not printed_std:
        return None
    room, value = half_unit(printed_std), float(printed_std)
    largest, smallest = value + room, value - room
    if smallest / CLOSE <= measured_std <= largest * CLOSE:
        return None
    return measured_std / (value or room)
