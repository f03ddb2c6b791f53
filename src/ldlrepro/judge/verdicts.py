"""Verdicts: what a measured number says about a printed one."""

from __future__ import annotations

from dataclasses import dataclass

REPRODUCED, BETTER, WORSE = "reproduced", "better", "worse"
NOT_RUN, QUOTED, MISPRINT = "not run", "quoted", "misprint"
INSIDE, OUTSIDE = "inside the band", "outside every band"
"""Words for a printed number beside the band that other fold seeds give."""
VERDICTS = (REPRODUCED, BETTER, WORSE, NOT_RUN, QUOTED, MISPRINT)


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
    """Reason for not running it, proof of a misprint, or source that the paper quotes."""
    measured: float | None = None
    measured_std: float | None = None
    n_folds: int = 0
    expected_folds: int = 0
    deviation: float | None = None
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

    @property
    def outside_seeds(self) -> bool:
        return self.fold_seeds.startswith(OUTSIDE)

    @property
    def cell(self) -> str:
        """The name that `ldlrepro explain` takes."""
        parts = [self.paper, self.table, self.dataset, self.method, self.metric]
        if self.setting:
            parts.insert(3, self.setting)
        return "/".join(parts)


def half_unit(printed: str) -> float:
    """Return half a unit of the last printed digit: '0.0544' -> 0.00005."""
    decimals = len(printed.partition(".")[2])
    return 0.5 * 10.0**-decimals


def band(printed: str, printed_std: str, measured_std: float | None) -> float:
    """Return the half-width around the printed mean within which a measured mean reproduces it."""
    return max(half_unit(printed), float(printed_std or 0.0), measured_std or 0.0)


def judge(measured: float, printed: str, width: float, better: str) -> str:
    """Judge a number: reproduced within the band, else better or worse by its direction."""
    gap = measured - float(printed)
    # The band's edge belongs to it; rounding in the last bit must not decide.
    if abs(gap) <= width * (1 + 1e-9):
        return REPRODUCED
    if better == "none":
        return WORSE  # no direction: any number outside the band is a miss
    return BETTER if (gap < 0) == (better == "lower") else WORSE


def deviation(measured: float, printed: str) -> float | None:
    """Return the signed relative deviation; None where the printed value is zero."""
    value = float(printed)
    return (measured - value) / abs(value) if value else None
