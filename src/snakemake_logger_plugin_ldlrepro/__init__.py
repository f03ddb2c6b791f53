"""A Snakemake logger that tells a person how far the work is: units done of units to do, and ETA.

Snakemake finds it by its name; profiles/default asks for it. Errors and dry runs look as usual, the
chatter of single jobs goes to Snakemake's own log file only.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from logging import LogRecord
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from ldlrepro.core.errors import nearest
from ldlrepro.core.progress import StatusLine, time_left

UNIT_RULE = "train"
PAUSE_S = 5.0
"""How often the line is renewed while no step ends."""
NO_RULE = re.compile(r"No rule to produce ([^\s/]+) ")
CHATTER = {
    LogEvent.JOB_INFO,
    LogEvent.JOB_STARTED,
    LogEvent.JOB_FINISHED,
    LogEvent.SHELLCMD,
    LogEvent.PROGRESS,
    LogEvent.RESOURCES_INFO,
    LogEvent.GROUP_INFO,
}


class LogHandler(LogHandlerBase):
    """One line that is rewritten on a terminal; a line now and then in a file."""

    line: StatusLine

    def __post_init__(self) -> None:
        self.line = StatusLine(sys.stdout if self.common_settings.stdout else sys.stderr)
        self.rule_of: dict[int, str] = {}
        self.label_of: dict[int, str] = {}
        self.units_to_do = self.units_done = 0
        self.jobs = self.last_job = ""
        self.first_start = 0.0
        self.started: dict[int, float] = {}
        """Jobs that run -> when each began, oldest first."""
        self.pulse = threading.Thread(target=self._go_on, daemon=True)

    @property
    def writes_to_stream(self) -> bool:
        return True

    @property
    def writes_to_file(self) -> bool:
        return False

    @property
    def has_filter(self) -> bool:
        return False

    @property
    def has_formatter(self) -> bool:
        return False

    @property
    def needs_rulegraph(self) -> bool:
        return False

    def emit(self, record: LogRecord) -> None:
        event = getattr(record, "event", None)
        if self.common_settings.dryrun or event not in CHATTER:
            if event == LogEvent.RUN_INFO:
                self.units_to_do = int(record.stats.get(UNIT_RULE, 0))
            text = self._text(record, event)
            if text and not self._is_small_talk(text, event):
                self.line.say(text)
                self._suggest(text)
            return
        if event == LogEvent.JOB_INFO:
            self.rule_of[record.jobid] = record.rule_name
            self.label_of[record.jobid] = _label(record)
            self.started[record.jobid] = time.monotonic()
            if not self.first_start:
                self.first_start = self.started[record.jobid]
                self.pulse.start()
        elif event == LogEvent.PROGRESS:
            # Follows the JOB_FINISHED that it counts.
            self.jobs = f"{record.done} of {record.total} steps"
            self._progress()
        elif event == LogEvent.JOB_FINISHED:
            job = getattr(record, "job_id", None)
            self.started.pop(job, None)
            if self.rule_of.get(job) == UNIT_RULE:
                self.units_done += 1
            self.last_job = self.label_of.get(job, "")

    def _text(self, record: LogRecord, event: Any) -> str:
        """Lines of Snakemake, with one in the place of its banner and its table of jobs."""
        if not self._tells_all and event == LogEvent.WORKFLOW_STARTED:
            return ""
        if not self._tells_all and event == LogEvent.RUN_INFO:
            return f"{record.stats['total']} steps to do, {self.units_to_do} of them units."
        return self.format(record)

    def _suggest(self, text: str) -> None:
        """Where Snakemake knows no rule for a word, say the target that was meant."""
        if not (found := NO_RULE.search(text)):
            return
        from ldlrepro.catalogue import from_environment

        project = from_environment()
        word, papers = found[1], project.paper_ids
        hint = f"{nearest(word, [*papers, 'all', 'notebooks'])} Papers: {', '.join(papers)}"
        for kind, names in (("dataset", project.data_set_ids), ("method", project.method_ids)):
            if word in names:
                hint = f" It is a {kind}; add to a paper: --config 'only={{{kind}s: [{word}]}}'"
        self.line.say(f"ldlrepro: no target '{word}'.{hint}")

    @property
    def _tells_all(self) -> bool:
        return bool(self.common_settings.dryrun or self.common_settings.verbose)

    def _is_small_talk(self, text: str, event: Any) -> bool:
        """Greetings that say nothing about the work."""
        if self._tells_all or event is not None:
            return False
        starts = (
            "Using ",
            "Conda environments: ignored",
            "host:",
            "Assuming ",
            "Provided ",
            "Rules claiming",
            "Select jobs",
            "Execute ",
            "Building DAG",
            "Config file",
            "Using shell",
            "Workflow defines",
            "Waiting at most",
            "Touching output",
            "group jobs:",
            "Auto-selected partition",
            "Cleaning up SLURM log files",
        )
        return text.startswith(starts)

    def _go_on(self) -> None:
        """Name the step that runs for longest, where none has ended for a while."""
        while True:
            time.sleep(PAUSE_S)
            now = time.monotonic()
            for job, since in list(self.started.items())[:1]:
                if now - since > PAUSE_S:
                    self._progress(f"{self.label_of[job]}, {now - since:.0f} s so far")

    def _progress(self, running: str = "") -> None:
        left = self.units_to_do - self.units_done
        seconds = time.monotonic() - self.first_start
        parts = [f"{self.units_done} of {self.units_to_do} units"] * bool(self.units_to_do)
        parts += [self.jobs, time_left(seconds, self.units_done, left)]
        line = f"[{', '.join(part for part in parts if part)}] {running or self.last_job}"
        self.line.show(line, at_once=not running and (self.line.on_terminal or left == 0))


def _label(record: LogRecord) -> str:
    """What a job is about: its wildcards, as ids."""
    wildcards = getattr(record, "wildcards", None) or {}
    return f"{record.rule_name} {'/'.join(str(v) for v in dict(wildcards).values())}"
