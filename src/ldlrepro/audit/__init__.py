"""Checks that finished results are what they claim to be, and writes the answers down.

All files, including the reference, are compared with their checksums. Records are compared with
today's data, folds, settings and code; tables and MLflow are compared with the records. Some runs,
drawn at random, are computed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Remark:
    """The problem with a subject, or why it was not checked, and what to type next."""

    subject: str
    text: str
    command: str = ""


@dataclass
class Check:
    """One question, asked of many subjects: files, units, folds."""

    id: str
    question: str
    compared: list[str] = field(default_factory=list)
    """Pairs that are compared, where the question alone does not name them."""
    passed: list[str] = field(default_factory=list)
    noted: list[Remark] = field(default_factory=list)
    """Subjects among those that passed, each with something to know about it."""
    failed: list[Remark] = field(default_factory=list)
    skipped: list[Remark] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        if self.failed:
            return "fail"
        return "pass" if self.passed else "skipped"

    def judge(self, subject: str, problem: str, command: str = "") -> None:
        """Record an answer; ``problem`` is empty where there is none."""
        if problem:
            self.failed.append(Remark(subject, problem, command))
        else:
            self.passed.append(subject)

    def note(self, subject: str, text: str, command: str = "") -> None:
        """Record a subject that passes, and something to know about it."""
        self.passed.append(subject)
        self.noted.append(Remark(subject, text, command))

    def skip(self, subject: str, reason: str, command: str = "") -> None:
        self.skipped.append(Remark(subject, reason, command))

    @contextmanager
    def of(self, subject: str, command: str = "") -> Iterator[None]:
        """Turn any error into an answer, because damage causes errors of all kinds."""
        try:
            yield
        except Exception as error:
            first = str(error).strip().partition("\n")[0] or type(error).__name__
            self.failed.append(Remark(subject, f"cannot be read: {first}", command))
