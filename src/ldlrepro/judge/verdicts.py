"""Verdicts: what a measured number says about a printed one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

EXACT, REPRODUCED, NEAR, BETTER, WORSE = "exact", "reproduced", "near", "better", "worse"
NOT_RUN, QUOTED, MISPRINT = "not run", "quoted", "misprint"
MET, MISSED = (EXACT, REPRODUCED), (BETTER, WORSE)
"""Verdicts of printed numbers that ours meets, and of those that it does not even come near."""
JUDGED = (*MET, NEAR, *MISSED)
INSIDE, OUTSIDE = "inside the band", "outside every band"
"""Words for a printed number beside the band that other seeds give."""
VERDICTS = (*JUDGED, NOT_RUN, QUOTED, MISPRINT)
BLIND, PREDICTED, FITTED = "blind", "predicted", "fitted"
"""Evidence: no printed number had a say; those of other data sets had; this data set's had."""
EVIDENCE = (BLIND, PREDICTED, FITTED)
FOLDS, REPEATS, NEITHER = "folds", "repeats", "neither"
"""Kinds of printed standard deviations; the last one was made with other folds or settings."""
OVER = {
    REPEATS: "The printed deviation fits the means of repeated folds, not single folds.",
    NEITHER: (
        "The printed deviation fits neither folds nor repeats here, so the paper probably used "
        "other folds or settings."
    ),
}
OTHER_SETTINGS = "measured with other settings than the configuration has today; to be run again"
MEAN = "the training mean"
"""Name of the simpler answer that predicts the mean of the training labels for every row."""
PERFECT = {"cosine": 1.0, "intersection": 1.0, "fidelity": 1.0}
"""The best value of measures whose best value is not zero."""
SAME = 0.01
"""Relative difference up to which a number is reproduced."""
SEED_DEVIATIONS = 2.0
"""Standard deviations over seeds up to which it is, too."""


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
    reason_kind: str = ""
    """What the reason for a miss is: a run that meets it, an argument, a conjecture, unknown."""
    measured: float | None = None
    measured_std: float | None = None
    repeats_std: float | None = None
    """Deviation of the mean over repeats of the folds, measured or estimated from other units."""
    std_over: str = ""
    """Kind of the printed deviation: folds, repeats or neither; '' where nobody can tell."""
    n_folds: int = 0
    expected_folds: int = 0
    difference: float | None = None
    """(measured - printed) / |printed|."""
    band: float | None = None
    """Distance from the printed mean up to which a number is near: one deviation over folds."""
    noise: float = 0.0
    """Standard deviation of the measured mean over seeds, of folds and of the method."""
    seeds: int = 0
    """Seeds that the measured number is the mean of; 0 for that of a single run."""
    seeds_met: float | None = None
    """Share of single seeds that meet the printed number."""
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
    evidence: str = ""
    """Where a met number's settings come from: blind, predicted or fitted."""
    rests_on: str = ""
    """What the print had a say in, where the evidence is 'fitted'."""
    choice: str = ""
    """How the other data sets chose the reading, where the paper leaves something open."""
    hinges: bool = False
    """Whether another reading, which may fit the other data sets as well, would not meet it."""
    holds_by_text: bool = False
    """Whether it would hold by the first reading of text and released code alone."""
    stated: VerdictRow | None = None
    """The cell as the paper states it, where another reading judges it."""
    yardsticks: dict[str, str] = field(default_factory=dict)
    """Name of a yardstick -> the verdict that it gets in this cell; '' without a record."""
    not_asked: dict[str, str] = field(default_factory=dict)
    """The same of yardsticks that are not asked of this method, where they have a record."""
    ahead: list[str] = field(default_factory=list)
    """Yardsticks whose mean is better than the measured one."""
    other_settings: bool = False
    """Whether the record was made with other settings than the configuration has today."""

    @property
    def loss_difference(self) -> float | None:
        """The relative difference of both distances from a perfect value."""
        if self.metric not in PERFECT or self.measured is None or not self.printed:
            return self.difference
        printed = loss(self.metric, float(self.printed))
        return loss(self.metric, self.measured) / printed - 1 if printed else None

    @property
    def as_stated(self) -> VerdictRow:
        """The cell as the paper states it."""
        return self.stated or self

    @property
    def apart(self) -> bool | None:
        """Tell whether every yardstick misses this number; None where that is not known."""
        verdicts = list(self.yardsticks.values())
        if any(verdict in MET for verdict in verdicts):
            return False
        return None if "" in verdicts or not verdicts else True

    @property
    def holds(self) -> bool:
        """Tell whether the number is met, by no setting that it chose, and by no yardstick."""
        return self.evidence in (BLIND, PREDICTED) and self.apart is True

    @property
    def whether_it_holds(self) -> str:
        """Say whether a judged number holds, and what keeps it from that; '' for others."""
        if self.verdict not in JUDGED:
            return ""
        too = [name for name, verdict in self.yardsticks.items() if verdict in MET]
        if self.holds:
            missing = f"{listed(list(self.yardsticks))} miss it"
            why = (
                f"it is met, {missing}, and no printed number and no test row of its data set "
                "chose its settings"
            )
            if self.ahead:
                why += f", but {listed(self.ahead)} {'do' if self.ahead[1:] else 'does'} better"
        elif self.verdict not in MET:
            why = "it is not met"
        elif too:
            why = f"{too[0]} meets it too"
        elif self.evidence == FITTED:
            why = "printed numbers of its own data set helped to choose the settings"
        elif unknown := [name for name, verdict in self.yardsticks.items() if not verdict]:
            why = f"{unknown[0]} was not measured here"
        else:
            why = "no constant answer can be compared with it"
        return f"The number {'holds' if self.holds else 'does not hold'}: {why}."

    @property
    def outside_seeds(self) -> bool:
        return self.fold_seeds.startswith(OUTSIDE)

    @property
    def notes(self) -> list[str]:
        """Return the texts that belong to the cell."""
        rests_on = self.rests_on and f"rests on what the print chose: {self.rests_on}"
        changed = OTHER_SETTINGS if self.other_settings else ""
        texts = (self.reason, self.note, OVER.get(self.std_over, ""), rests_on, changed)
        return [text for text in dict.fromkeys(texts) if text]

    @property
    def marks(self) -> list[str]:
        """Return what a reader must know beside the verdict, in a word or two each."""
        found = [f"{name} too" for name, verdict in self.yardsticks.items() if verdict in MET]
        found = found if self.verdict in MET else []
        if self.evidence == FITTED:
            found.append(FITTED)
        if self.verdict in MET and not (self.holds or found):
            found.append("no baseline")
        if self.other_settings:
            found.append("other settings")
        return found

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


def loss(metric: str, value: float) -> float:
    """Return how far a number is from a perfect value."""
    return abs(PERFECT.get(metric, 0.0) - value)


def listed(parts: Sequence[str]) -> str:
    """Return parts of a sentence with an ``and`` before the last one."""
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def places(printed: str) -> int:
    """Count the decimals of a printed number: '0.0544' -> 4.

    A bare 0 is a difference that rounds to it, in a table whose other numbers have four decimals.
    """
    return 4 if printed == "0" else len(printed.partition(".")[2])


def half_unit(printed: str) -> float:
    """Return half a unit of the last printed digit: '0.0544' -> 0.00005."""
    return 0.5 * 10.0 ** -places(printed)


def band(printed: str, printed_std: str, measured_std: float | None) -> float:
    """Return the distance from the printed mean up to which a measured mean is near it."""
    return max(half_unit(printed), float(printed_std or 0.0), measured_std or 0.0)


def reach(printed: str, noise: float) -> float:
    """Return the distance from the printed mean up to which a measured mean reproduces it."""
    return max(SAME * abs(float(printed)), SEED_DEVIATIONS * noise)


def is_exact(measured: float, printed: str) -> bool:
    """Tell whether a number rounds to the printed one, or to a neighbour in its last digit."""
    if not math.isfinite(measured):
        return False
    # Rounding in the last bit must not decide here either.
    room = 2 * half_unit(printed) * (1 + 1e-6)
    return abs(round(measured, places(printed)) - float(printed)) <= room


def judge(measured: float, printed: str, noise: float, width: float, better: str) -> str:
    """Judge a number: exact, reproduced or near, else better or worse by the measure's direction.

    Parameters
    ----------
    measured : float
        The mean that was measured.
    printed : str
        The printed mean, with all its decimals.
    noise : float
        The standard deviation of the measured mean over seeds.
    width : float
        The band: one deviation over folds.
    better : str
        'lower', 'higher' or 'none'.
    """
    if is_exact(measured, printed):
        return EXACT
    gap = measured - float(printed)
    # An edge belongs to what it bounds; rounding in the last bit must not decide.
    size = abs(gap) / (1 + 1e-9)
    if size <= reach(printed, noise):
        return REPRODUCED
    if size <= width:
        return NEAR
    if better == "none":
        return WORSE  # no direction: any number outside the band is a miss
    return BETTER if (gap < 0) == (better == "lower") else WORSE


def difference(measured: float, printed: str) -> float | None:
    """Return the signed relative difference; None where the printed value is zero."""
    value = float(printed)
    return (measured - value) / abs(value) if value else None


def percent(share: float | None) -> str:
    """Return a relative difference with its sign, such as +3.2%; '' where it is undefined."""
    if share is None or not math.isfinite(share):
        return ""
    text = f"{share:+.{1 if abs(share) < 0.9995 else 0}%}"
    return text if float(text[:-1]) else "0.0%"
