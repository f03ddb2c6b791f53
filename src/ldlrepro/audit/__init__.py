"""Asks of finished results whether they are what they say, and writes the answers down.

The files, those of the reference too, are compared with their checksums, the records with data,
folds, settings and code of today, the tables and MLflow with the records; runs drawn by lot are
computed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Remark:
    """What is wrong with a subject, or why nobody looked at it, and what to type next."""

    subject: str
    text: str
    command: str = ""


@dataclass
class Check:
    """One question, asked of many subjects: files, units, folds."""

    id: str
    question: str
    compared: list[str] = field(default_factory=list)
    """What with what, where the question alone does not say it."""
    passed: list[str] = field(default_factory=list)
    failed: list[Remark] = field(default_factory=list)
    skipped: list[Remark] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        if self.failed:
            return "fail"
        return "pass" if self.passed else "skipped"

    def judge(self, subject: str, problem: str, command: str = "") -> None:
        """``problem`` is empty where there is none."""
        if problem:
            self.failed.append(Remark(subject, problem, command))
        else:
            self.passed.append(subject)

    def skip(self, subject: str, reason: str, command: str = "") -> None:
        self.skipped.append(Remark(subject, reason, command))

    @contextmanager
    def of(self, subject: str, command: str = "") -> Iterator[None]:
        """Damage shows as errors of all kinds; each is an answer, and the next subject follows."""
        try:
            yield
        except Exception as error:
            first = str(error).strip().partition("\n")[0] or type(error).__name__
            self.failed.append(Remark(subject, f"cannot be read: {first}", command))
