"""``python dying.py N VERB ...``: an ``ldlrepro`` command that kills its whole process group with
signal 9 at its N-th step of writing; with N = 0 it lives and prints how many steps there were.

A step is opening a file of the project for writing, flushing one (killed there, half of it has
reached the disk), giving one its final name, removing one, or a statement that changes a database.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR
CHANGES = ("INSERT", "UPDATE", "DELETE", "CREATE", "ALTER")


class Steps:
    """Counts the steps of writing and dies at the chosen one."""

    def __init__(self, last: int) -> None:
        self.last, self.count = last, 0
        self.here = str(Path.cwd())

    def take(self) -> bool:
        self.count += 1
        return self.count == self.last

    def audit(self, event: str, args: tuple[Any, ...]) -> None:
        opened = event == "open" and isinstance(args[2], int) and args[2] & WRITING
        if not opened and event not in ("os.rename", "os.remove", "os.mkdir"):
            return
        touched = args[0]
        if isinstance(touched, int):
            return
        if os.path.abspath(os.fsdecode(touched)).startswith(self.here) and self.take():
            die()

    def fsync(self, handle: int) -> None:
        if self.take():
            os.ftruncate(handle, os.fstat(handle).st_size // 2)
            die()
        real_fsync(handle)

    def statement(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.lstrip().upper().startswith(CHANGES) and self.take():
            die()


def die() -> None:
    os.killpg(0, signal.SIGKILL)


real_fsync = os.fsync


def main(last: int, arguments: list[str]) -> int:
    from ldlrepro import cli

    steps = Steps(last)
    os.fsync = steps.fsync
    sys.addaudithook(steps.audit)
    if arguments[0] == "sync":
        from sqlalchemy import Engine, event

        event.listen(Engine, "after_cursor_execute", steps.statement)
    status = cli.main(arguments)
    if not last:
        print(f"steps {steps.count}")
    return status


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
