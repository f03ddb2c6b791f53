"""Lines of progress: units of units and time left, quiet in files, out of the way of errors."""

from __future__ import annotations

import io
import logging
from types import SimpleNamespace

import pytest
from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent

import snakemake_logger_plugin_ldlrepro as plugin
from ldlrepro import cli
from ldlrepro.core import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Run:
    """A handler, a clock, and the records that Snakemake would send."""

    def __init__(self, monkeypatch, stream: io.StringIO, **settings: bool) -> None:
        self.now = 100.0
        monkeypatch.setattr(plugin.time, "monotonic", lambda: self.now)
        common = {"dryrun": False, "verbose": False, "stdout": False, **settings}
        self.handler = plugin.LogHandler(SimpleNamespace(**common), None)
        self.handler.setFormatter(DefaultFormatter())
        self.handler.line.stream = self.stream = stream

    def send(self, event: LogEvent | None, text: str | None = None, **fields) -> None:
        record = logging.LogRecord("snakemake", logging.INFO, "", 0, text, (), None)
        vars(record).update(fields)
        if event is not None:
            record.event = event
        self.handler.handle(record)

    def plan(self, units: int, others: int = 2) -> None:
        stats = {"train": units, "report": others, "total": units + others}
        self.total, self.done = units + others, 0
        self.send(LogEvent.RUN_INFO, "Job stats:\ntrain 10", stats=stats)

    def start(self, job: int, rule: str = "train", dataset: str = "sjaffe") -> None:
        facts = {"jobid": job, "rule_name": rule, "wildcards": {"dataset": dataset, "chunk": "0-9"}}
        self.send(LogEvent.JOB_INFO, f"Rule: {rule}", **facts)

    def finish(self, job: int) -> None:
        self.done += 1
        self.send(LogEvent.JOB_FINISHED, f"Finished jobid: {job}", job_id=job)
        self.send(LogEvent.PROGRESS, None, done=self.done, total=self.total)

    @property
    def text(self) -> str:
        return self.stream.getvalue()


@pytest.fixture
def terminal(monkeypatch) -> Run:
    return Run(monkeypatch, Terminal())


@pytest.fixture
def file(monkeypatch) -> Run:
    return Run(monkeypatch, io.StringIO())


def test_a_run_begins_with_its_size_and_without_a_banner(file):
    file.send(LogEvent.WORKFLOW_STARTED, "SNAKEMAKE\n=========\n  Host: vm")
    file.send(None, "Conda environments: ignored")
    file.plan(units=10)
    assert file.text == "12 steps to do, 10 of them units.\n"


def test_a_terminal_shows_units_steps_time_left_and_the_last_job(terminal):
    terminal.plan(10)
    for job in range(3):
        terminal.start(job)
        terminal.now += 20
        terminal.finish(job)
    last = terminal.text.split("\r\x1b[K")[-1]
    assert last == "[3 of 10 units, 3 of 12 steps, about 2 min left] train sjaffe/0-9"
    assert "Rule:" not in terminal.text


def test_a_file_gets_a_line_now_and_then_and_the_last_one(file):
    file.plan(100)
    for job in range(100):
        file.start(job)
        file.now += 1
        file.finish(job)
    lines = [line for line in file.text.splitlines() if line.startswith("[")]
    assert "\r" not in file.text
    assert len(lines) == 8  # the first, one per 15 s, the last
    assert lines[0].startswith("[1 of 100 units, 1 of 102 steps, about 2 min left]")
    assert lines[-1].startswith("[100 of 100 units, 100 of 102 steps]")


# ---------------------------------------------------------------------- verbs


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def waits(clock: list[float], stream: io.StringIO, seconds: float) -> str:
    """What silent work of so many seconds shows in the end."""
    line = progress.Waiting("judging papers")
    line.stream = stream
    line.update(2, 9)
    for _ in range(int(seconds)):
        clock[0] += 1
        line.tick()
    line.clear()
    return stream.getvalue()


def test_silent_work_speaks_after_three_seconds_and_leaves_a_terminal_clean(clock):
    assert waits(clock, Terminal(), 2) == ""
    told = waits(clock, Terminal(), 4)
    assert "judging papers: 2 of 9, 4 s so far" in told
    assert told.endswith("\r\x1b[K")


def test_quiet_verbs_say_nothing_but_answers_and_errors(checkout, capsys):
    assert cli.main(["fetch", "toy", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert cli.main(["fetch", "toy"]) == 0
    assert capsys.readouterr().err.startswith("toy: here")
    assert cli.main(["fetch", "toyy", "--quiet"]) == 2
    assert "Did you mean 'toy" in capsys.readouterr().err
